"""A Spark task: rows of a partition in, matches out, through the same engine as without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ostinato.core.clock import Clock
from ostinato.core.events import StreamColumns
from ostinato.core.options import OnLate
from ostinato.patterns.compile import CompiledPattern, compile_text
from ostinato.patterns.joint_answers import fit_to_schema
from ostinato.patterns.limits import Limits
from ostinato.patterns.runtime.engine import Engine
from ostinato.patterns.runtime.state import EngineOptions
from ostinato.patterns.syntax.nodes import Language
from ostinato.spark.sorting import BUDGET, Sorter

compile_cached = lru_cache(maxsize=256)(compile_text)

_OUTPUT = 10_000  # matches handed to Spark at once: it holds them outside its heap


@dataclass(frozen=True)
class ShippedQuery:
    """A query as plain data that travels to the workers.

    `binding` holds the columns that the user named, with tie-breakers; `columns` are those that the query is given, and
    `answer` those of its matches.
    """

    name: str
    text: str
    binding: dict[str, Any]
    events: bool
    limits: Limits
    columns: tuple[str, ...]
    answer: pa.Schema
    language: Language = "cel"

    @property
    def compiled(self) -> CompiledPattern:
        found: CompiledPattern = compile_cached(self.text, self.language)
        return found

    def engine(self, lateness: int | None = 0, on_late: OnLate = "count") -> Engine:
        return Engine(self.compiled, EngineOptions(dict(self.binding), lateness, on_late, self.events, self.limits))

    def select_columns(self, rows: pa.Table) -> pa.Table:
        """The columns of this query: those that other queries read must not matter to it, nor to its state."""
        return rows.select(self.columns)

    def fit_to_output(self, matches: pa.Table, output: pa.Schema) -> pa.Table:
        """Matches with the columns of the output."""
        return fit_to_schema(self.name, matches.select(self.answer.names), output)


UNIT = "#unit"


@dataclass(frozen=True)
class Unit:
    """Rows that are one stream to some queries. In a range of time, matches before tick `begin` belong to the range
    before and are left out."""

    queries: tuple[ShippedQuery, ...]
    begin: int | None = None

    def matches(self, tables: Iterable[pa.Table]) -> Iterator[tuple[ShippedQuery, pa.Table]]:
        """The tables are in order of time."""
        engines = [(query, query.engine()) for query in self.queries]
        totals = dict.fromkeys((query.name for query in self.queries), 0)
        for table in tables:
            before, table = self._split(table)
            for query, engine in engines:
                for _ in engine.push_each(query.select_columns(before)) if len(before) else ():
                    pass  # these belong to the range before
                for found in engine.push_each(query.select_columns(table)):
                    totals[query.name] += len(found)
                    query.limits.check_matches(totals[query.name])
                    yield query, found
        for query, engine in engines:
            if engine.bound:
                yield query, engine.flush()

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
