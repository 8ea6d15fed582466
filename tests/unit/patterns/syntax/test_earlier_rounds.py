"""Conditions inside a loop that look back on its rounds, through the public API and against the semantics."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.errors import QueryError
from support.correlated import agrees, found

RISES = "prev(x.v) IS NULL OR x.v > prev(x.v)"
LOOPS = [
    f"(A AS x FILTER {RISES})+",
    f"(A AS x FILTER {RISES})->+",
    f"(A AS x FILTER {RISES}):+",
    f"B ; (A AS x FILTER {RISES})->+ ; B",
    f"B -> (A AS x FILTER {RISES})+",
    f"(A AS x FILTER {RISES}){{2,3}}",
    f"((A AS x FILTER {RISES})+ ; B)+",
    f"SELECT NXT * WHERE (A AS x FILTER {RISES})+ ; B",
    f"SELECT LAST * WHERE (A AS x FILTER {RISES})+ ; B",
    f"SELECT MAX * WHERE (A AS x FILTER {RISES})+",
    f"SELECT STRICT * WHERE (A AS x FILTER {RISES})+",
    f"(A AS x FILTER {RISES})+ UNTIL B PARTITION BY k WITHIN 6 seconds",
    f"(A AS x FILTER {RISES})+ ; B WITHIN 6 EVENTS CONSUME BY ANY",
    "(A AS x FILTER count(x) < 2)+ ; B",
    "(A AS x FILTER count(x) = 0 OR x.v > avg(x.v))+",
    "(A AS x FILTER count(x.v) < 2 AND coalesce(sum(x.v), 0) + x.v < 4)+",
    "(A AS x FILTER count(x) = 0 OR x.v BETWEEN min(x.v) AND max(x.v) + 1)+",
    "(A AS x FILTER count(x) = 0 OR first(x).v <= last(x).v)+",
    "(A AS x FILTER count(x) = 0 OR x.w >= min(x.w) AND x.w < sum(x.w) AND x.w != max(x.w))+",
    "(A AS x FILTER count(x) = 0 OR x.s > min(x.s) AND x.s <= max(x.s))+",
    "(A AS x FILTER count(x) = 0 OR x.s = prev(x.s))+",
    "(A AS x FILTER count(x) = 0 OR x.t - prev(x.t) < 3 seconds)+",
    "(A AS x FILTER count(x) = 0 OR x.t > min(x.t) + 2 seconds)+",
    "(A AS x FILTER prev(lower(x.s)) IS NULL OR prev(lower(x.s)) != x.s)+",
    "(A AS x FILTER sum(2 * x.v) IS NULL OR sum(2 * x.v) != x.v)+",
    "(A AS x ; (B AS y FILTER prev(x.v) IS NULL OR y.v > prev(x.v)))+",
    "((A AS x ; B AS y) FILTER sum(y.v) IS NULL OR x.v + y.v > sum(y.v))+",
    "((A AS x ; B AS y) FILTER count(x) < 2)+",
    "(A AS x ; (B AS y FILTER prev(x.v) IS NULL OR y.v > prev(x.v))+)+ WITHIN 7 EVENTS",
    "((A AS x AND B AS y) FILTER count(x) = 0 OR x.v + y.v > max(x.v))+ WITHIN 6 EVENTS",
    "((A AS x FILTER prev(x.v) IS NULL) OR (B AS x FILTER x.v > prev(x.v)))+",
    "B AS z ; (A AS x FILTER count(x) = 0 OR x.v > prev(x.v) + z.v)+",
    "(A AS x ; NOT (B AS n FILTER n.v > prev(x.v)) ; A AS y)+ WITHIN 6 EVENTS",
]


def sample(seed: int, size: int = 9) -> pa.Table:
    chance = random.Random(seed)
    times = sorted(chance.randint(0, 2 * size) for _ in range(size))
    return pa.table({
        "type": [chance.choice("AAB") for _ in range(size)],
        "ts": times,
        "t": [chance.choice((datetime(2026, 1, 1) + timedelta(seconds=time), None)) for time in times],
        "k": [chance.choice((1, 2)) for _ in range(size)],
        "v": [chance.choice((0, 1, 2, 3, None)) for _ in range(size)],
        "w": [chance.choice((0.5, 1.0, -2.0, float("nan"), None)) for _ in range(size)],
        "s": [chance.choice(("a", "B", "c", None)) for _ in range(size)],
    })  # fmt: skip


@pytest.mark.parametrize("text", LOOPS)
def test_all_engines_agree_with_the_semantics(text: str) -> None:
    matches = [agrees(text, sample(seed)) for seed in range(4)]
    assert any(matches)


def detect(text: str, values: list[Any]) -> list[tuple[int, ...]]:
    return found(text, [{"type": "A", "v": value} for value in values])


def test_the_loop_so_far_is_without_the_current_event() -> None:
    assert detect("(A AS x FILTER count(x) = 0 OR x.v > sum(x.v)){2}", [1, 1, 3]) == [(0, 2), (1, 2)]
    assert detect("(A AS x FILTER count(x) < 2){3}", [1, 1, 1, 1]) == []


def test_a_next_fitting_event_is_greater_than_the_one_before() -> None:
    text = "SELECT MAX * WHERE (A AS x FILTER prev(x.v) IS NULL OR x.v > prev(x.v))->+"
    assert (0, 2, 5) in detect(text, [3, 1, 4, 1, 2, 9])
    assert not [one for one in detect(text, [3, 1, 4, 1, 2, 9]) if one[:2] == (0, 5)]


def test_sums_go_on_as_floats() -> None:
    big = 2**62
    looks = "(A AS x FILTER count(x) = 0 OR {}){{4}}"
    assert detect(looks.format("x.v != 5 OR sum(x.v) > 1.3e19"), [big, big, big, 5]) == [(0, 1, 2, 3)]
    assert detect(looks.format("x.v != 5 OR sum(x.v) < 1.3e19"), [big, big, big, 5]) == []
    # Exact again, as soon as it fits.
    assert detect(looks.format("x.v != 5 OR sum(x.v) = 1"), [big, big, 1 - 2 * big, 5]) == [(0, 1, 2, 3)]


def test_whole_numbers_of_any_size_are_compared() -> None:
    rows = pa.table({"type": ["A"] * 3, "v": pa.array([2**64 - 1, 2**63, 5], pa.uint64())})
    assert found("(A AS x FILTER count(x) = 0 OR x.v < min(x.v)){3}", rows) == [(0, 1, 2)]


def test_labels_and_items() -> None:
    query = ost.cel("SELECT count(x) AS n, last(x).v AS v WHERE (A AS x FILTER prev(x.v) IS NULL OR x.v > prev(x.v))+")
    rows = query.detect([{"type": "A", "v": value} for value in (1, 3, 2)]).to_pylist()
    assert sorted((row["n"], row["v"]) for row in rows) == [(1, 1), (1, 2), (1, 3), (2, 2), (2, 3)]


def test_a_loop_that_never_begins_is_warned_of() -> None:
    (warning,) = ost.cel("SELECT NXT * WHERE (A AS x FILTER x.v > prev(x.v))+").warnings
    assert "write prev(x.v) IS NULL OR x.v > prev(x.v)" in warning
    (warning,) = ost.cel("SELECT NXT * WHERE (A AS x FILTER count(x) > 1)+").warnings
    assert "write count(x) = 0 OR count(x) > 1" in warning
    begins = "((A AS x FILTER x.v > prev(x.v)) OR B AS x)+"
    assert not ost.cel(f"SELECT NXT * WHERE {begins}").warnings


def test_explain_says_what_runs_hold() -> None:
    text = ost.cel("(A AS x FILTER count(x) = 0 OR x.v > avg(x.v))+").explain()
    assert "hold count(x) of earlier rounds, sum(x.v) of earlier rounds" in text


def test_functions_of_text_go_inside() -> None:
    with pytest.raises(QueryError, match="lower cannot be applied") as caught:
        ost.cel("(A AS x FILTER count(x) = 0 OR lower(prev(x.s)) = 'a')+")
    assert caught.value.fix is not None
    assert "prev(lower(x.a))" in caught.value.fix
