"""Funnels: how far each key got."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ostinato as ost
from ostinato.patterns.semantics.funnel import furthest_chain

EVENTS = [
    {"ts": ts, "type": kind, "user": user, "amount": amount}
    for ts, kind, user, amount in [
        (0, "view", "ann", 0),
        (60, "view", "bob", 0),
        (90, "cart", "ann", 20),
        (120, "pay", "bob", 5),
        (150, "view", "ann", 0),
        (400, "pay", "ann", 20),
        (500, "cart", "bob", 9),
        (600, "leave", "cy", 0),
    ]
]


def test_steps_and_keys() -> None:
    result = ost.funnel(["view", "cart", "pay"], within="10 minutes", by="user").detect(EVENTS)
    assert result.steps.to_pydict() == {
        "step": ["view", "cart", "pay"],
        "keys": [2, 2, 1],
        "conversion": [1.0, 1.0, 0.5],
        "from_previous": [None, 1.0, 0.5],
        "dropped": [None, 0, 1],
        "median_seconds": [None, 265.0, 310.0],
        "mean_seconds": [None, 265.0, 310.0],
    }
    assert result.keys.to_pylist() == [
        {"user": "ann", "reached": 3, "step": "pay", "times": [0, 90, 400], "seconds": [90.0, 310.0],
         "positions": [0, 2, 5]},
        {"user": "bob", "reached": 2, "step": "cart", "times": [60, 500], "seconds": [440.0], "positions": [1, 6]},
        {"user": "cy", "reached": 0, "step": None, "times": [], "seconds": [], "positions": []},
    ]  # fmt: skip


def test_the_window_is_from_the_first_step_to_the_last() -> None:
    assert ost.funnel(["view", "cart", "pay"], within=399, by="user").detect(EVENTS).keys["reached"].to_pylist() == [
        2,
        1,
        0,
    ]
    assert ost.funnel(["view", "cart", "pay"], within=400, by="user").detect(EVENTS).keys["reached"].to_pylist() == [
        3,
        1,
        0,
    ]


def test_conditions() -> None:
    rich = ost.funnel(["view", "pay AS p FILTER p.amount > 10"], by="user").detect(EVENTS)
    assert rich.steps["keys"].to_pylist() == [2, 1]
    either = ost.funnel(["view", "cart OR (pay AS p FILTER p.amount < 10 OR p.amount > 100)"], by="user").detect(EVENTS)
    assert either.keys["times"].to_pylist() == [[0, 90], [60, 120], []]
    never = ost.funnel(["view", "pay AS p FILTER 1 = 2"], by="user").detect(EVENTS)
    assert never.steps["keys"].to_pylist() == [2, 0]
    odd = ost.funnel(["log in", "add-to-cart"]).detect([{"type": "log in"}, {"type": "add-to-cart"}])
    assert odd.keys.to_pylist() == [{"reached": 2, "step": "add-to-cart", "positions": [0, 1]}]


def test_a_step_twice_takes_two_events() -> None:
    assert ost.funnel(["pay", "pay", "pay"]).detect(EVENTS).keys["positions"].to_pylist() == [[3, 5]]


def test_nothing() -> None:
    for events in ([], [{"type": "x", "ts": 1, "user": "ann"}]):
        result = ost.funnel(["view", "cart"], within="1 hour", by="user").detect(events)
        assert result.steps["keys"].to_pylist() == [0, 0] and result.steps["conversion"].to_pylist() == [None, None]
        assert "view" in str(result)


def test_printed() -> None:
    lines = str(ost.funnel(["view", "cart", "pay"], by="user").detect(EVENTS)).splitlines()
    assert lines[0].split() == ["step", "keys", "of", "first", "of", "previous", "dropped", "median", "mean"]
    assert lines[3].startswith("pay      1     50.0%        50.0%        1  5.17 min  5.17 min  ████")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"steps": "view"}, "steps"),
        ({"steps": []}, "from 1 to 32 steps"),
        ({"steps": ["view ; (cart)"]}, "a step is a single event"),
        ({"steps": ["cart AS c+"]}, "a step is a single event"),
        ({"steps": ["cart AS c WITHIN 3 EVENTS"]}, "a step is a single event"),
        ({"steps": ["cart AS c FILTER d.v > 3"]}, "`d`"),
        ({"steps": ["view"], "within": "soon"}, "not a duration"),
        ({"steps": ["view"], "by": "reached"}, "a column `reached` of its own"),
    ],
)
def test_what_is_wrong(arguments: dict[str, Any], reason: str) -> None:
    with pytest.raises(ost.OstinatoError, match=reason):
        ost.funnel(**arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"by": "usr"}, "by: there is no column `usr`\nfix: did you mean `user`?"),
        ({"by": ""}, "by: there is no column ``\nfix: known names: `amount`, `to`, `ts`, `type`, `user`"),
        (
            {"by": ["user", "to"]},
            "by: a key is a plain value, and `to` is nested data\n"
            "fix: take another column, or one made from a field of it",
        ),
        (
            {"steps": ["view", "pay AS p FILTER p.amout > 10"]},
            "unknown attribute `amout` of pay\n   1 | pay AS p FILTER p.amout > 10\n"
            f"{' ' * 23}^^^^^^^\nfix: did you mean `amount`?",
        ),
    ],
)
def test_columns_are_checked(arguments: dict[str, Any], message: str) -> None:
    events = [{"ts": 0, "type": "view", "user": "ann", "amount": 3, "to": {"city": "Oslo"}}]
    with pytest.raises(ost.QueryError) as caught:
        ost.funnel(**{"steps": ["view"], **arguments}).detect(events)
    assert str(caught.value) == message


rows = st.lists(
    st.tuples(st.sampled_from("ABCD"), st.sampled_from([0, 1, 2]), st.sampled_from([0, 1, 1, 3])), max_size=9
)


@settings(max_examples=300)
@given(rows, st.lists(st.sampled_from("ABC"), min_size=1, max_size=4), st.sampled_from([None, 0, 2, 4, 6]))
def test_as_the_definition_says(drawn: list[tuple[str, int, int]], steps: list[str], within: int | None) -> None:
    time, events = 0, list[dict[str, Any]]()
    for kind, key, later in drawn:
        time += later
        events.append({"ts": time, "type": kind, "k": key})
    schema = pa.schema({"ts": pa.int64(), "type": pa.string(), "k": pa.int64()})
    found = ost.funnel(steps, within=within, by="k").detect(pa.Table.from_pylist(events, schema=schema)).keys
    want = {}
    for key in dict.fromkeys(event["k"] for event in events):
        own = [place for place, event in enumerate(events) if event["k"] == key]
        tests = [lambda row, step=step: row["type"] == step for step in steps]
        times = [events[place]["ts"] for place in own]
        chain = furthest_chain([events[place] for place in own], tests, times, within)
        want[key] = [own[place] for place in chain]
    assert dict(zip(found["k"].to_pylist(), found["positions"].to_pylist(), strict=True)) == want
