"""A Spark task: rows of a partition in, matches out, through the same engine as without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from ostinato.core.clock import Clock
from ostinato.core.events import StreamColumns, time_order
from ostinato.spark.patterns.shared_engine import SharedEngine
from ostinato.spark.patterns.shipped_query import ShippedQuery
from ostinato.spark.sorting import BUDGET, Sorter

_OUTPUT = 10_000  # matches handed to Spark at once: it holds them outside its heap


UNIT = "#unit"


@dataclass(frozen=True)
class Unit:
    """Rows that are one stream to some queries. In a range of time, matches before tick `begin` belong to the range
    before and are left out. `order_by` puts rows of one time in order where there are several queries."""

    queries: tuple[ShippedQuery, ...]
    begin: int | None = None
    order_by: tuple[str, ...] = ()

    def matches(self, tables: Iterable[pa.Table]) -> Iterator[tuple[ShippedQuery, pa.Table]]:
        """The tables are in order of time."""
        totals = dict.fromkeys((query.name for query in self.queries), 0)
        for query, found in self._matches(tables):
            totals[query.name] += len(found)
            query.limits.check_matches(totals[query.name])
            yield query, found

    def _matches(self, tables: Iterable[pa.Table]) -> Iterator[tuple[ShippedQuery, pa.Table]]:
        queries: Sequence[ShippedQuery] = self.queries
        if len(queries) > 1:  # rows are put in order once for all
            queries, tables = [query.without_order() for query in queries], map(self._in_order, tables)
        shared = SharedEngine.of(queries)
        engines = [(query, query.engine()) for query in queries] if shared is None else []
        for table in tables:
            before, table = self._split(table)
            if shared is not None:
                yield from shared.read(before, table)
            for query, engine in engines:
                for _ in engine.push_each(query.select_columns(before)) if len(before) else ():
                    pass  # these belong to the range before
                for found in engine.push_each(query.select_columns(table)):
                    yield query, found
        if shared is not None:
            yield from shared.flush()
        for query, engine in engines:
            if engine.bound:
                yield query, engine.flush()

    def _in_order(self, table: pa.Table) -> pa.Table:
        order = time_order(table, StreamColumns(self.queries[0].binding["time"], None, self.order_by))
        return table if order is None else table.take(pa.array(order))

    def _split(self, table: pa.Table) -> tuple[pa.Table, pa.Table]:
        if self.begin is None:
            return table.slice(0, 0), table
        time = self.queries[0].binding["time"]
        early = pa.array(Clock.of(table.schema, time).ticks(table[time]) < self.begin)
        return table.filter(early), table.filter(pc.invert(early))


@dataclass(frozen=True)
class PatternTask:
    """What runs over a partition of a DataFrame. Where there are several units, rows name theirs in the column UNIT."""

    units: Mapping[int, Unit]
    output: pa.Schema
    budget: int = BUDGET

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        named = next(iter(self.units.values())).queries[0].binding
        binding = StreamColumns(named["time"], None, named["order_by"])
        sorters: dict[int, Sorter] = {}
        for batch in batches:
            for number, rows in self._by_unit(batch):
                if number not in sorters:
                    sorters[number] = Sorter(binding, self.budget)
                sorters[number].add(rows)
        for number in sorted(sorters):
            for query, matches in self.units[number].matches(sorters.pop(number).tables()):
                if len(matches):
                    yield from query.fit_to_output(matches, self.output).to_batches(max_chunksize=_OUTPUT)

    def _by_unit(self, batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
        if UNIT not in batch.schema.names:
            yield next(iter(self.units)), batch
            return
        units = batch.column(UNIT)
        rows = batch.drop_columns([UNIT])
        for number in pc.unique(units).to_pylist():
            yield number, rows.filter(pc.equal(units, number))
