"""The first pass of learning: each task counts what follows what in its keys, and tasks add up what all have counted.

Each task numbers its symbols by itself, so on the way a gram is written as what its symbols mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ostinato.core.arrays import Bools, Int32, Int64
from ostinato.forecast.learn.counts import sum_grams
from ostinato.forecast.learn.gaps import Gaps
from ostinato.forecast.learn.statistics import HistoryStatistics, StatisticsCollector
from ostinato.forecast.settings import Settings
from ostinato.forecast.symbols.encoder import Symbols
from ostinato.forecast.symbols.reader import SymbolReader
from ostinato.spark.forecast.columns import EventFrame
from ostinato.spark.forecast.task import sorted_tables, split_at
from ostinato.spark.frames import map_in_arrow, shuffle_partitions
from ostinato.spark.packing import BUCKET, ROWS, pack, unpack
from ostinato.spark.sorting import BUDGET

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# What is counted, as rows that can be added up. Keys: whether the events are held out; a gram, or the symbols before
# and after gaps of a bin; the bin (_GRAM: the row counts a gram). Then the sums.
KEYS, SUMS = ("later", "gram", "bin"), ("weight", "seconds", "squares")
COUNT_ROWS = pa.schema(
    [("later", pa.bool_()), ("gram", pa.string()), ("bin", pa.int32()), *((name, pa.float64()) for name in SUMS)]
)
_GRAM = -1
_NONE, _BETWEEN = "-", " "
_SPREAD = 0x9E3779B97F4A7C15  # an odd number whose powers spread the symbols of a gram over 64 bits

_OUTPUT = 100_000  # grams in a row of bytes
_PACKED = f"{BUCKET} int, {ROWS} binary"
_UNKNOWN = np.zeros(0, np.bool_)  # what completes is found in the second pass, with the symbols of all tasks


def count_events(
    events: EventFrame, symbols: Symbols, order: int, cut: float
) -> tuple[HistoryStatistics, HistoryStatistics]:
    """The statistics of the events up to `cut`, in seconds, and of the later ones, read by the grid of `symbols`."""
    buckets = shuffle_partitions(events.frame)
    task = CountTask(symbols, events.settings, order, cut, buckets)
    found: DataFrame = map_in_arrow(events.by_key(), task, _PACKED)
    sums = found.repartition(buckets, BUCKET).mapInArrow(add_up, _PACKED).select(ROWS).toArrow()
    tables = [pa.Table.from_batches([unpack(data.as_buffer(), COUNT_ROWS)]) for data in sums[ROWS]]
    return from_rows(pa.concat_tables([COUNT_ROWS.empty_table(), *tables]), symbols, order)


@dataclass(frozen=True)
class CountTask:
    """Events up to `cut`, in seconds, are the earlier ones. `symbols` has none yet, but has the grid to read by."""

    symbols: Symbols
    settings: Settings
    order: int
    cut: float
    buckets: int
    budget: int = BUDGET

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reader = SymbolReader(self.symbols.pattern, self.settings.binding, self.symbols, learning=True)
        collector = StatisticsCollector(reader.symbols, self.order)
        statistics: dict[bool, HistoryStatistics] = {}
        for table in sorted_tables(batches, self.settings, self.budget):
            read = reader.read(table)
            collector.symbols = reader.symbols
            for later, part in enumerate(split_at(read, [self.cut])):
                more = collector.collect(part, _UNKNOWN)
                statistics[bool(later)] = statistics[bool(later)].merge(more) if later in statistics else more
        for later, found in statistics.items():
            yield from self._pack(to_rows(found, later=later), row_buckets(found, self.buckets))

    def _pack(self, rows: pa.Table, places: Int64) -> Iterator[pa.RecordBatch]:
        """The rows of each bucket as one row of bytes: Spark moves few long rows faster than many short ones."""
        order = np.argsort(places, kind="stable")
        rows = rows.take(pa.array(order))
        ends = np.searchsorted(places[order], np.arange(self.buckets + 1)).tolist()
        for bucket, (begin, end) in enumerate(pairwise(ends)):
            if begin < end:
                yield _packed_row(bucket, rows.slice(begin, end - begin))


def add_up(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """All rows of the buckets of a task, each gram once."""
    packed: dict[int, list[pa.Table]] = {}
    for batch in batches:
        for bucket, data in zip(batch.column(0).to_pylist(), batch.column(1), strict=True):
            rows = pa.Table.from_batches([unpack(data.as_buffer(), COUNT_ROWS)])
            packed.setdefault(bucket, []).append(rows)
    for bucket in sorted(packed):
        sums = _sum_rows(packed.pop(bucket))
        for begin in range(0, len(sums), _OUTPUT):
            yield _packed_row(bucket, sums.slice(begin, _OUTPUT))


def _packed_row(bucket: int, rows: pa.Table) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([bucket], pa.int32()), pa.array([pack(rows)])], [BUCKET, ROWS])


def _sum_rows(tables: Iterable[pa.Table]) -> pa.Table:
    """COUNT_ROWS, each gram once."""
    sums = pa.concat_tables(tables).group_by(KEYS).aggregate([(name, "sum") for name in SUMS])
    return sums.rename_columns([*KEYS, *SUMS]).cast(COUNT_ROWS)


def to_rows(statistics: HistoryStatistics, *, later: bool) -> pa.Table:
    """Statistics as COUNT_ROWS."""
    counts, gaps = statistics.counts, statistics.gaps.to_table()
    words = pa.array([_NONE, *_spell_symbols(statistics.symbols)])
    width = counts.order + 1
    offsets = np.arange(0, (len(counts.grams) + 1) * width, width, dtype=np.int32)
    spelt = pa.ListArray.from_arrays(offsets, words.take(pa.array(counts.grams.ravel() + 1)))
    none = np.zeros(len(counts.grams))
    grams = [pc.binary_join(spelt, _BETWEEN), np.full(len(none), _GRAM, np.int32), counts.weights, none, none]
    sums = [gaps[name].combine_chunks() for name in SUMS]
    sides = [words.take(pc.add(gaps[name], 1)).combine_chunks() for name in ("last", "symbol")]
    among = [pc.binary_join_element_wise(*sides, _BETWEEN), gaps["bin"].combine_chunks(), *sums]
    tables = []
    for columns in (grams, among):
        flag = pa.array(np.full(len(columns[1]), later))
        tables.append(pa.table([flag, *columns], schema=COUNT_ROWS))
    return pa.concat_tables(tables)


def row_buckets(statistics: HistoryStatistics, count: int) -> Int64:
    """The bucket of each row of `to_rows`: a gram goes to the same one, whichever task has counted it."""
    own = np.array([0, *(crc32(word.encode()) for word in _spell_symbols(statistics.symbols))], np.uint64)
    factors = np.array([pow(_SPREAD, place, 1 << 64) for place in range(statistics.counts.order + 1)], np.uint64)
    grams = own[statistics.counts.grams + 1] @ factors
    gaps = own[statistics.gaps.last + 1] + own[statistics.gaps.symbol + 1] * np.uint64(_SPREAD)
    return (np.concatenate([grams, gaps]) % np.uint64(count)).astype(np.int64)


def from_rows(table: pa.Table, none: Symbols, order: int) -> tuple[HistoryStatistics, HistoryStatistics]:
    """The statistics of the earlier and of the later events, in the same symbols: those that tasks found are added to
    `none`. Completions are not known yet."""
    table = table.combine_chunks()
    are_grams = pc.equal(table["bin"], _GRAM)
    spelt = pc.split_pattern(table["gram"], _BETWEEN).combine_chunks().flatten()
    words = sorted({*pc.unique(spelt).to_pylist()} - {_NONE}, key=_parse_symbol)
    symbols = _number_symbols(none, words)
    numbers = pc.index_in(spelt, pa.array(words, pa.string())).fill_null(-1).to_numpy().astype(np.int32)
    lengths = np.where(are_grams.to_numpy(), order + 1, 2)
    first = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)
    later = table["later"].to_numpy()
    found = [
        _part(table, symbols, order, numbers, first, later == part, are_grams.to_numpy()) for part in (False, True)
    ]
    return found[0], found[1]


def _part(
    table: pa.Table,
    symbols: Symbols,
    order: int,
    numbers: Int32,
    first: Int64,
    wanted: Bools,
    are_grams: Bools,
) -> HistoryStatistics:
    grams, gaps = np.flatnonzero(wanted & are_grams), np.flatnonzero(wanted & ~are_grams)
    spelt = numbers[first[grams][:, None] + np.arange(order + 1)]
    counts = sum_grams(spelt, table["weight"].to_numpy()[grams], len(symbols))
    sides = {"last": numbers[first[gaps]], "symbol": numbers[first[gaps] + 1]}
    places = pa.table(sides | {name: table[name].take(gaps) for name in ("bin", *SUMS)})
    return HistoryStatistics(symbols, counts, Gaps.from_table(places, len(symbols)), counts.total, 0.0)


def _spell_symbols(symbols: Symbols) -> Iterator[str]:
    """A symbol as a word: its minterm, and its effect or, where events are compared, its outcome."""
    for minterm, effect in symbols.pairs:
        outcome = symbols.outcomes[effect] if symbols.pattern.correlated else (effect,)
        yield f"{minterm:x}:{','.join(map(str, outcome))}"


def _parse_symbol(word: str) -> tuple[int, tuple[int, ...]]:
    minterm, _, outcome = word.partition(":")
    return int(minterm, 16), tuple(map(int, outcome.split(",")))


def _number_symbols(none: Symbols, words: list[str]) -> Symbols:
    """In an order that does not depend on which task saw what first."""
    pairs = [_parse_symbol(word) for word in words]
    if not none.pattern.correlated:
        return none.with_more((minterm, outcome[0]) for minterm, outcome in pairs)
    outcomes = tuple(sorted({outcome for _, outcome in pairs}))
    number = {outcome: place for place, outcome in enumerate(outcomes)}
    return replace(none, outcomes=outcomes).with_more((minterm, number[outcome]) for minterm, outcome in pairs)
