"""A scorer may get events one at a time, as dicts, or in batches of any size: the rows are the same."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import ostinato as ost
from support.forecast import cycle

WAYS = ("table", "list", "dicts", "restart")
mixes = st.lists(st.tuples(st.sampled_from(WAYS), st.integers(0, 6)), max_size=6)
QUERIES = [
    "A AS a ; B AS b WITHIN 4 EVENTS",
    "A AS a ; B AS b FILTER b.v > 1 PARTITION BY k",
    "A AS a ; B AS b FILTER a.s = 'x' AND b.v IS NOT NULL WITHIN 5 EVENTS PARTITION BY s CONSUME BY PARTITION",
    "A AS a ; B AS b WITHIN 4 seconds",
    "A AS a ; D AS b FILTER a.v < b.v WITHIN 6 EVENTS",
]


def stream(count: int, seed: int) -> pa.Table:
    random = np.random.default_rng(seed)
    table = cycle(count, noise=0.3)
    table = table.append_column("v", pa.array(random.integers(0, 5, count), mask=random.random(count) < 0.1))
    table = table.append_column("s", pa.array(random.choice(["x", "y", "z"], count)))
    return table.append_column("k", pa.array(random.integers(0, 3, count)))


@cache
def model(query: str) -> ost.ForecastModel:
    return ost.Forecaster(query, order=2, horizon=10, features=["v > 2"]).fit(stream(600, 1))


@pytest.mark.parametrize("query", QUERIES)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10), mix=mixes, bound=st.booleans())
def test_any_mix_of_sizes(query: str, seed: int, mix: list[tuple[str, int]], bound: bool) -> None:
    events = stream(30, seed)
    assume(bound or events["v"][0].is_valid)  # NULL has no type
    whole = model(query).scorer()
    expected = whole.push(events)
    scorer, found, at = model(query).scorer(), [], 0
    if bound:  # else the first event says what the columns are
        found.append(scorer.push(events.slice(0, 0)))
    for way, size in [*mix, ("dicts", len(events))]:
        piece, at = events.slice(at, size), min(len(events), at + size)
        if way == "restart":
            resumed = model(query).scorer()
            resumed.restore(scorer.snapshot())
            scorer = resumed
        elif way == "table":
            found.append(scorer.push(piece))
            continue
        rows: list[dict[str, Any]] = piece.to_pylist()
        if way == "list" and rows and bound:
            found.append(scorer.push(rows))
        else:
            found += [scorer.push(row) for row in rows]
    assert pa.concat_tables(found).to_pylist() == expected.to_pylist()
    assert scorer.unseen == whole.unseen
    assert scorer.time == whole.time


def test_an_absent_attribute_is_null() -> None:
    scorer, other = model(QUERIES[1]).scorer(), model(QUERIES[1]).scorer()
    events = stream(3, 2).to_pylist()
    for event in events:
        del event["v"]
        event["more"] = 1
    found = [scorer.push(event) for event in events]
    schema = stream(0, 0).schema
    expected = [other.push(pa.Table.from_pylist([event], schema)) for event in events]
    assert pa.concat_tables(found).equals(pa.concat_tables(expected))
