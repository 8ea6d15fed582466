"""Tests of differences, found by order: the same matches for values of every size."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import combinations
from typing import Any

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.core.expression_interpreter import passes
from ostinato.core.expressions import to_text
from ostinato.patterns.automata.differences import Scale, add_orders
from ostinato.patterns.compile import compile_text
from ostinato.patterns.syntax.cel.parse import parse
from ostinato.patterns.syntax.nodes import Filter

TESTS = [
    f"{left} - {right} {op} {limit}"
    for left, right in (("y.v", "x.v"), ("x.v", "y.v"))
    for op in ("<", "<=", ">", ">=")
    for limit in ("2", "0.5", "-1.5", "0")
]
WHOLE = [0, 1, 3, 2**53, 2**53 + 1, 2**62, -(2**62) - 1, 2**63 - 1, -(2**63), -(2**63) + 2, 5, 4, 2]
FLOATS = [0.0, 1.0, 0.1, 0.3, 0.6, 1.1, 1e300, -1e300, 3.0, float("inf"), float("-inf"), float("nan"), 2.1, 5e-324]
START = datetime(2026, 1, 1)


def kind_of(values: list[Any]) -> pa.DataType:
    return pa.float64() if isinstance(values[0], float) else pa.int64()


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("values", [WHOLE, FLOATS], ids=["whole", "float"])
def test_the_same_matches(test: str, values: list[Any]) -> None:
    events = pa.table(
        {
            "type": ["A"] * len(values) + ["B"] * len(values),
            "v": pa.array([*values, *values], kind_of(values)),
        }
    )
    text = f"A AS x ; B AS y FILTER {test} WITHIN 100 EVENTS"
    found = ost.cel(text).detect(events)["positions"].to_pylist()
    condition, size = parse(text).formula, range(len(values))
    assert isinstance(condition, Filter)
    pairs = [(x, y) for x in size for y in size]
    rows = [{"x": {"v": values[x]}, "y": {"v": values[y]}} for x, y in pairs]
    wanted = [[x, len(values) + y] for (x, y), row in zip(pairs, rows, strict=True) if passes(condition.predicate, row)]
    assert sorted(found) == sorted(wanted)


@pytest.mark.parametrize("op", ["<", "<=", ">", ">="])
def test_times(op: str) -> None:
    times = [START + timedelta(seconds=seconds) for seconds in (0, 3, 5, 5, 8, 10)]
    events = pa.table({"ts": pa.array(times, pa.timestamp("us"))})
    found = ost.cel(f"ANY AS x ; ANY AS y FILTER y.ts - x.ts {op} 5 seconds").detect(events)["positions"].to_pylist()
    compare = {"<": lambda d: d < 5, "<=": lambda d: d <= 5, ">": lambda d: d > 5, ">=": lambda d: d >= 5}[op]
    pairs = combinations(range(len(times)), 2)
    assert sorted(found) == [[x, y] for x, y in pairs if compare((times[y] - times[x]).total_seconds())]


@pytest.mark.parametrize(
    ("test", "scale", "ordered"),
    [
        ("y.t - x.t < 5 minutes", "time", "x.t > t - 5 minutes"),
        ("5 minutes >= x.t - y.t", "time", "x.t <= t + 5 minutes"),
        ("y.t - x.t < 5", "time", "t - x.t < 5"),
        ("y.t - x.u < 5", None, "t - x.u < 5"),
        ("y.t - x.t < x.u", "float", "t - x.t < x.u"),
        ("y.t - x.t < 2", "float", "t - x.t < 2 AND x.t >= t - 2.0 - (abs(t) + 2.0) * 8e-15"),
    ],
)
def test_what_is_added(test: str, scale: Scale, ordered: str) -> None:
    transducer = add_orders(compile_text(f"A AS x ; B AS y FILTER {test}").transducer, lambda attribute: scale)
    (found,) = [to_text(t.test) for t in transducer.transitions if t.test is not None]
    assert found == ordered
