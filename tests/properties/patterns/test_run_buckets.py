"""Runs that are looked up by the order of what they hold, in buckets: none is missed, and none is found twice."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import ostinato as ost
from ostinato.errors import QueryError
from ostinato.patterns.runtime import correlated
from ostinato.patterns.runtime.engine import Engine
from ostinato.patterns.syntax.cel.parse import parse
from ostinato.patterns.syntax.format import to_text
from ostinato.patterns.syntax.nodes import Query
from support.answers import answer, engine, expected
from support.generators.cel import correlated_queries
from support.generators.cel_streams import Row, streams, table

TESTS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "!=": operator.ne}
floats = st.sampled_from([0.0, -0.0, 1.5, -1.5, float("inf"), float("-inf"), float("nan"), None]) | st.floats()
numbers = st.sampled_from([0, 1, -1, 2**63 - 1, -(2**63), None]) | st.integers(-5, 5)


@pytest.fixture(autouse=True)
def _small_buckets() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(correlated, "_FIRST_RUNS", 2)
        patch.setattr(correlated, "_RUNS_IN_BUCKET", 1)
        yield


@pytest.mark.slow
@settings(max_examples=60)
@given(correlated_queries(), streams(max_size=20), st.integers(0, 20))
def test_any_query(query: Query, rows: list[Row], cut: int) -> None:
    query = parse(to_text(query))
    try:
        first = engine(query)
    except QueryError:
        assume(False)
    found = [first.push(table(rows[:cut]))]
    second = Engine.restore(first.snapshot())
    assert answer(query, [*found, second.push(table(rows[cut:])), second.flush()]) == expected(query, rows)


@settings(max_examples=80)
@given(st.data(), st.sampled_from(sorted(TESTS)), st.sampled_from([None, *TESTS]), st.integers(2, 60), st.booleans())
def test_order(data: Any, first: str, second: str | None, width: int, whole: bool) -> None:
    """Any two events in a window, by one or two comparisons."""
    values = data.draw(st.lists(numbers if whole else floats, max_size=50))
    cut = data.draw(st.integers(0, len(values)))
    check_pairs(pa.array(values, pa.int64() if whole else pa.float64()), [first, second], width, cut)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("tests", [["<"], [">="], ["<", "!="], ["<=", ">="]])
def test_many_runs(seed: int, tests: list[str]) -> None:
    """So that chains of buckets meet."""
    values = np.random.default_rng(seed).integers(0, 60, 300)
    check_pairs(pa.array(values / 2), tests, 200, 150)
    check_pairs(pa.array(values), tests, 200, 150)


def check_pairs(column: pa.Array, tests: Sequence[str | None], width: int, cut: int) -> None:
    """Beside every pair tried."""
    rows, values, tested = pa.table({"f": column}), column.to_pylist(), [op for op in tests if op is not None]
    text = " AND ".join(f"x.f {op} y.f" for op in tested)
    running = ost.cel(f"e AS x ; e AS y FILTER {text} WITHIN {width} EVENTS").engine()
    found = [*running.push(rows[:cut])["positions"].to_pylist(), *running.push(rows[cut:])["positions"].to_pylist()]
    wanted = [
        [one, other]
        for other, y in enumerate(values)
        for one, x in enumerate(values[:other])
        if other - one < width and None not in (x, y) and all(TESTS[op](x, y) for op in tested)
    ]
    assert sorted(found) == sorted(wanted)
