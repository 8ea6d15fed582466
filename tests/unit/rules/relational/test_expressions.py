"""Whole numbers in rules: 64 bits, however narrow the columns are; what needs more is NULL."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import ostinato
from ostinato.rules.plan.normal_form import normalise
from ostinato.rules.plan.strata import stratify
from ostinato.rules.semantics.fixpoint import derived_events
from support.generators.rules import events_of

MOST, LEAST = 2**63 - 1, -(2**63)


def _rule(value: str, condition: str = "") -> str:
    where = f"where {{ {condition} }}" if condition else ""
    return f"DETECT d {{ k {{ var K }}, made {{ {value} }} }} ON event i: a {{{{ k {{{{ var K }}}} }}}} {where} END"


def _made(text: str, kind: pa.DataType, *values: Any) -> dict[Any, Any]:
    """What each value of K makes, which SQL and the definitions must agree on."""
    rows = [{"type": "a", "begin": n, "end": n, "k": value} for n, value in enumerate(values)]
    schema = pa.schema([("type", pa.string()), ("begin", pa.int64()), ("end", pa.int64()), ("k", kind)])
    table = pa.Table.from_pylist(rows, schema=schema)
    program = ostinato.rules(text)
    found = {event["k"]: event.get("made") for event in program.detect(table).to_pylist()}
    engine = program.engine()
    live = pa.concat_tables([engine.push(table), engine.flush()]).to_pylist()
    assert {event["k"]: event.get("made") for event in live} == found
    groups = [group.rules for group in stratify(normalise(program.program)).groups]
    terms: list[Any] = [event.term for event in derived_events(groups, events_of(rows), ticks_per_second=1)]
    meant = {}
    for term in terms:
        children = {child.label: child.children[0] for child in term.children}
        meant[children["k"]] = children.get("made")
    assert meant == found
    return found


@pytest.mark.parametrize(
    ("kind", "value", "expression", "made"),
    [
        (pa.int8(), 100, "var K * 2", 200),
        (pa.int8(), 127, "var K + 1", 128),
        (pa.int8(), 100, "var K + 100", 200),
        (pa.int8(), -128, "-var K", 128),
        (pa.int8(), -128, "abs(var K)", 128),
        (pa.int8(), 127, "round(var K, -1)", 130),
        (pa.int8(), 100, "coalesce(var K, 1) * 2", 200),
        (pa.uint8(), 7, "-var K", -7),
        (pa.uint8(), 7, "var K - 9", -2),
        (pa.uint8(), 7, "abs(var K)", 7),
        (pa.int16(), 30_000, "var K * var K * var K", 30_000**3),
        (pa.int32(), 2**31 - 1, "var K + 1", 2**31),
        (pa.int32(), 1, "2147483647 + 1", 2**31),
        (pa.int8(), -7, "var K % 4", -3),
        (pa.int8(), 7, "var K % 0", None),
        (pa.int64(), MOST, "var K + 1", None),
        (pa.int64(), MOST, "var K + 1 - 1", None),
        (pa.int64(), MOST, "var K * 2 / 2", None),
        (pa.int64(), MOST, "var K * var K", None),
        (pa.int64(), MOST, "coalesce(var K + 1, 5)", 5),
        (pa.int64(), LEAST, "-var K", None),
        (pa.int64(), LEAST, "abs(var K)", None),
        (pa.int64(), LEAST, "var K % -1", 0),
        (pa.int64(), LEAST, "var K - 1", None),
        (pa.float64(), 1e300, "floor(var K)", None),
        (pa.float64(), 2.5, "ceil(var K)", 3),
        (pa.float64(), -2.5, "floor(var K)", -3),
    ],
)
def test_arithmetic_has_64_bits(kind: pa.DataType, value: Any, expression: str, made: Any) -> None:
    assert _made(_rule(expression), kind, value) == {value: made}


def test_conditions_have_64_bits() -> None:
    assert _made(_rule("var K", "var K * 2 > 150"), pa.int8(), 100, 50) == {100: 100}
    assert _made(_rule("var K", "var K + 1 > 0"), pa.int64(), MOST, 1) == {1: 1}
    assert _made(_rule("var K", "var K + 1 is null"), pa.int64(), MOST, 1) == {MOST: MOST}


def test_equal_numbers_are_equal_to_the_last_digit() -> None:
    large = 2**53
    schema = pa.schema([("type", pa.string()), ("ts", pa.int64()), ("n", pa.int64()), ("x", pa.float64())])
    rows = [
        *({"type": "a", "ts": 1, "n": n, "x": None} for n in (large, large + 1, 7, MOST)),
        *({"type": "b", "ts": 2, "n": None, "x": x} for x in (float(large), 7.0, 7.5, float(MOST))),
        {"type": "c", "ts": 3, "n": large + 1, "x": float(large)},
        {"type": "c", "ts": 4, "n": 7, "x": 7.0},
    ]
    table = pa.Table.from_pylist(rows, schema=schema)
    joined = "DETECT d { n { var N } } ON and { event i: a {{ n {{ var N }} }}, event j: b {{ x {{ var N }} }} } END"
    within = "DETECT d { n { var N } } ON event i: c {{ n {{ var N }}, x {{ var N }} }} END"
    assert sorted(ostinato.rules(joined).detect(table)["n"].to_pylist()) == [7, large]
    assert ostinato.rules(within).detect(table)["n"].to_pylist() == [7]


def test_sums_have_64_bits() -> None:
    text = """DETECT d { k { "all" }, made { sum(all var K) } }
    ON and { event z: z {{ }}, event i: timer:from-start-backward [event z, 9 sec],
             while i: collect a {{ k {{ var K }} }} } END"""
    rows = [{"type": "a", "ts": 1, "k": MOST}, {"type": "a", "ts": 2, "k": 1}, {"type": "z", "ts": 3, "k": None}]
    assert ostinato.rules(text).detect(rows)["made"].to_pylist() == [None]
    rows[1]["k"] = -1
    assert ostinato.rules(text).detect(rows)["made"].to_pylist() == [MOST - 1]
