"""What a Spark task does: rows of a partition in, matches out, through the same engine as everywhere."""

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
from ostinato.patterns.limits import Limits
from ostinato.patterns.many import fit_to_schema
from ostinato.patterns.runtime.engine import Engine
from ostinato.patterns.runtime.state import EngineOptions
from ostinato.patterns.syntax.nodes import Language
from ostinato.spark.sorting import Sorter

compiled = lru_cache(maxsize=256)(compile_text)

# Rows that a task holds to sort them, in bytes of Arrow data. Reading them takes about twice as much again.
BUDGET = 128 << 20
_OUTPUT = 10_000  # matches handed to Spark at once: it holds them outside its heap


@dataclass(frozen=True)
class Reading:
    """One query over a stream, as plain data that travels to the workers.

    `binding` is what the user said about columns, with tie-breakers; `columns` are those the query is given, and
    `answer` those of the matches.
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
        found: CompiledPattern = compiled(self.text, self.language)
        return found

    def engine(self, lateness: int | None = 0, on_late: OnLate = "count") -> Engine:
        return Engine(self.compiled, EngineOptions(dict(self.binding), lateness, on_late, self.events, self.limits))

    def read(self, rows: pa.Table) -> pa.Table:
        """The columns of the query: what others read must not matter to it, nor to its state."""
        return rows.select(self.columns)

    def given(self, matches: pa.Table, output: pa.Schema) -> pa.Table:
        """Matches with the columns of the output."""
        return fit_to_schema(self.name, matches.select(self.answer.names), output)


UNIT = "#unit"


@dataclass(frozen=True)
class Unit:
    """Rows that are one stream to some queries. Of a range of time, what comes before tick `begin` is only run up."""

    readings: tuple[Reading, ...]
    begin: int | None = None

    def matches(self, tables: Iterable[pa.Table]) -> Iterator[tuple[Reading, pa.Table]]:
        """The tables are in order of time."""
        engines = [(reading, reading.engine()) for reading in self.readings]
        given = dict.fromkeys((reading.name for reading in self.readings), 0)
        for table in tables:
            before, table = self._split(table)
            for reading, engine in engines:
                for _ in engine.push_each(reading.read(before)) if len(before) else ():
                    pass  # these belong to the range before
                for found in engine.push_each(reading.read(table)):
                    given[reading.name] += len(found)
                    reading.limits.check_matches(given[reading.name])
                    yield reading, found
        for reading, engine in engines:
            if engine.bound:
                yield reading, engine.flush()

    def _split(self, table: pa.Table) -> tuple[pa.Table, pa.Table]:
        if self.begin is None:
            return table.slice(0, 0), table
        time = self.readings[0].binding["time"]
        early = pa.array(Clock.of(table.schema, time).ticks(table[time]) < self.begin)
        return table.filter(early), table.filter(pc.invert(early))


@dataclass(frozen=True)
class Task:
    """What is run over a partition. Rows say in the column UNIT what they belong to, where there are several units."""

    units: Mapping[int, Unit]
    output: pa.Schema
    budget: int = BUDGET

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        told = next(iter(self.units.values())).readings[0].binding
        binding = StreamColumns(told["time"], None, told["order_by"])
        sorters: dict[int, Sorter] = {}
        for batch in batches:
            for number, rows in self._by_unit(batch):
                if number not in sorters:
                    sorters[number] = Sorter(binding, self.budget)
                sorters[number].add(rows)
        for number in sorted(sorters):
            for reading, matches in self.units[number].matches(sorters.pop(number).tables()):
                if len(matches):
                    yield from reading.given(matches, self.output).to_batches(max_chunksize=_OUTPUT)

    def _by_unit(self, batch: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
        if UNIT not in batch.schema.names:
            yield next(iter(self.units)), batch
            return
        units = batch.column(UNIT)
        rows = batch.drop_columns([UNIT])
        for number in pc.unique(units).to_pylist():
            yield number, rows.filter(pc.equal(units, number))
