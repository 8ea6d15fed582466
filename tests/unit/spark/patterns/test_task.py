"""What a task makes of the rows of a partition."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings

import ostinato as ost
from ostinato.errors import DataError, LimitError
from ostinato.patterns.limits import Limits
from ostinato.patterns.syntax.format import to_text
from ostinato.patterns.syntax.nodes import Query
from ostinato.spark import sorting
from ostinato.spark.patterns.shipped_query import ShippedQuery
from ostinato.spark.patterns.task import UNIT, PatternTask, Unit
from support.generators.cel import queries
from support.generators.cel_streams import Row, streams, table


def with_places(rows: list[Row]) -> pa.Table:
    return table(rows).append_column("place", pa.array(range(len(rows)), pa.int64()))


def reading(text: str, schema: pa.Schema, name: str = "q") -> ShippedQuery:
    binding = {"time": "ts", "type": None, "order_by": ("place",)}
    one = ShippedQuery(name, text, binding, True, Limits(), tuple(schema.names), pa.schema([]))
    answer = one.engine().push(schema.empty_table()).schema
    if "positions" in answer.names:
        answer = answer.remove(answer.get_field_index("positions"))
    return replace(one, answer=answer)


def run(task: PatternTask, batches: list[pa.RecordBatch]) -> list[str]:
    return told(pa.Table.from_batches(task(iter(batches)), task.output))


def told(answer: pa.Table) -> list[str]:
    return sorted(
        repr({name: value for name, value in row.items() if name != "positions"}) for row in answer.to_pylist()
    )


@pytest.mark.slow
@settings(max_examples=40)
@given(queries(wider_filters=True), streams(max_size=12))
def test_in_files_the_answer_is_the_same(query: Query, rows: list[Row]) -> None:
    text, events = to_text(query), with_places(rows)
    one = reading(text, events.schema)
    mixed = events.take(pa.array(np.random.default_rng(1).permutation(len(events))))
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(tempfile, "tempdir", folder)
        patch.setattr(sorting, "_BATCH", 2)
        found = run(PatternTask({0: Unit((one,))}, one.answer, budget=1), mixed.to_batches(max_chunksize=3))
        assert not list(Path(folder).iterdir())
    assert found == told(ost.cel(text).detect(events, events=True, order_by=["place"]))


def test_units_are_told_apart() -> None:
    """A row says what it belongs to; each unit has queries of its own, over its own columns."""
    events = with_places([{"type": letter, "ts": place, "v": place} for place, letter in enumerate("ABAB")])
    first, second = reading("A AS x ; B AS y", events.schema), reading("B AS y", events.schema, "other")
    second = replace(second, columns=("ts", "type", "place", "v"))
    answers = [one.answer.remove(one.answer.get_field_index("events")) for one in (first, second)]
    first, second = replace(first, answer=answers[0]), replace(second, answer=answers[1])
    units = pa.array([0, 7, 0, 7, 0, 7, 0, 7], pa.int32())
    twice = events.take(pa.array([0, 0, 1, 1, 2, 2, 3, 3])).append_column(UNIT, units)
    task = PatternTask({0: Unit((first,)), 7: Unit((second,))}, answers[0])
    assert len(run(task, twice.to_batches())) == 3 + 2


def test_nothing_in_nothing_out() -> None:
    events = with_places([])
    one = reading("A AS x ; NOT B AS n WITHIN 3 seconds", events.schema)
    assert run(PatternTask({0: Unit((one,))}, one.answer), []) == []
    assert run(PatternTask({0: Unit((one,))}, one.answer), events.to_batches()) == []


@pytest.mark.parametrize("budget", [1, 1 << 20])
def test_a_row_without_a_time(budget: int) -> None:
    events: Any = with_places([{"type": "A", "ts": 1}, {"type": "A", "ts": None}])
    one = reading("A AS x", events.schema)
    with pytest.raises(DataError, match="ts"):
        run(PatternTask({0: Unit((one,))}, one.answer, budget), events.to_batches())


def test_matches_of_earlier_rows_belong_to_the_range_before() -> None:
    events = with_places([{"type": letter, "ts": place} for place, letter in enumerate("ABAB")])
    one = reading("A AS x ; B AS y WITHIN 9 seconds", events.schema)
    ends = [row["end"] for _, found in Unit((one,), begin=2).matches([events]) for row in found.to_pylist()]
    assert ends == [3, 3]


@pytest.mark.parametrize("others", [0, 3])  # alone, and with enough others for one engine
@pytest.mark.parametrize("most", [1, 3])
def test_matches_that_the_end_completes_are_limited_too(others: int, most: int) -> None:
    events = with_places([{"type": "A", "ts": place} for place in range(4)])
    one = reading("A AS x ; NOT B AS n WITHIN 9 seconds", events.schema)
    queries = (replace(one, limits=Limits(matches=most)), *(replace(one, name=f"q{i}") for i in range(others)))
    with pytest.raises(LimitError, match=f"matches={most}"):
        run(PatternTask({0: Unit(queries)}, one.answer), events.to_batches())
