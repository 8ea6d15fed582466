"""What tasks count, called as plain functions: the parts of a history add up to the whole."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from ostinato.errors import DataError
from ostinato.forecast.learn.statistics import StatisticsCollector
from ostinato.forecast.symbols.encoder import Symbols
from ostinato.forecast.symbols.reader import SymbolReader
from ostinato.spark.forecast.counts import COUNT_ROWS, KEYS, CountTask, add_up, from_rows, to_rows
from ostinato.spark.packing import ROWS, unpack
from support.spark.forecast import PATTERNS, SIZE, by_task, counts_by_meaning, forecaster, history


@pytest.mark.parametrize("text", PATTERNS.values(), ids=PATTERNS)
@pytest.mark.parametrize("budget", [1 << 20, 1000])
def test_counts_of_tasks_add_up(text: str, budget: int) -> None:
    made, rows = forecaster(text), history()
    cut = 150.0
    none = replace(made.fit(rows).statistics.symbols, minterms=(), effects=(), observed=0, outcomes=())
    task = CountTask(none, made.settings, 2, cut, 3, budget)
    packed = [batch for part in by_task(rows) for batch in task(part)]
    found = [unpack(row.as_buffer(), COUNT_ROWS) for batch in add_up(packed) for row in batch[ROWS]]
    table = pa.Table.from_batches(found)
    assert len(table.group_by(KEYS).aggregate([])) == len(table), "a gram is in one bucket only"
    head, tail = from_rows(table, none, 2)
    reader = SymbolReader(made.pattern, made.settings.binding, none, learning=True)
    read = reader.read(rows)
    collector = StatisticsCollector(reader.symbols, 2, read.key_count)
    assert read.seconds is not None
    split = int(np.searchsorted(read.seconds, cut, side="right"))
    unknown = np.zeros(0, np.bool_)
    for ours, begin, end in ((head, 0, split), (tail, split, SIZE)):
        expected = collector.collect(read.part(begin, end), unknown)
        assert counts_by_meaning(ours) == counts_by_meaning(expected)
        assert ours.events == expected.events
        assert ours.gaps.total == expected.gaps.total
        assert ours.gaps.mean == pytest.approx(expected.gaps.mean)


@pytest.mark.parametrize("text", PATTERNS.values(), ids=PATTERNS)
def test_grams_there_and_back(text: str) -> None:
    statistics = forecaster(text).fit(history()).statistics
    head, tail = from_rows(
        to_rows(statistics, later=False), Symbols(statistics.symbols.pattern), statistics.counts.order
    )
    assert counts_by_meaning(head) == counts_by_meaning(statistics)
    assert not tail.events and len(tail.symbols) == len(statistics.symbols)


def test_no_rows_teach_nothing() -> None:
    made = forecaster(PATTERNS["events"])
    assert list(CountTask(Symbols(made.pattern), made.settings, 2, math.inf, 3)([])) == []


def test_a_row_without_a_time_is_an_error() -> None:
    made = forecaster(PATTERNS["events"])
    rows = pa.table({"ts": pa.array([None], pa.timestamp("us", tz="UTC")), "type": ["A"], "k": [1], "v": [1]})
    with pytest.raises(DataError, match="`ts` is NULL"):
        list(CountTask(Symbols(made.pattern), made.settings, 2, math.inf, 3)(rows.to_batches()))
