"""What Spark tasks do for rules: rows of a partition in, derived events, terms or matches out, as Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from ostinato.errors import DataError
from ostinato.rules.limits import RuleLimits
from ostinato.rules.plan.outputs import RateLimit
from ostinato.rules.relational.kinds import DOCUMENT, TERM, Attributes
from ostinato.rules.relational.match_plan import MatchPlan
from ostinato.rules.relational.sql_names import ColumnNames
from ostinato.rules.runtime.batch import detect_table
from ostinato.rules.runtime.ingest import LABEL, IncomingColumns, TermMatcher
from ostinato.rules.runtime.pattern_stream import PatternStream
from ostinato.rules.runtime.periods import Periods
from ostinato.rules.runtime.rate_limits import RateLimiter
from ostinato.rules.runtime.times import TimeColumns
from ostinato.spark.rules.placement import UnitProgram, conform_answer

UNIT = "#unit"  # the column with the number of the unit that a row goes to
_OUTPUT = 10_000  # events handed to Spark at once: it holds them outside its heap


def without_row(error: DataError) -> DataError:
    """The error without its row: nobody can tell which row of a task that is."""
    return error.replace(row=None)


@dataclass(frozen=True)
class UnitTask:
    """Rows in, derived events out: all rows of a key are here."""

    units: tuple[UnitProgram, ...]
    output: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = [pa.Table.from_batches([batch]) for batch in batches]
        for number, rules in enumerate(self.units):
            mine = [table.filter(pc.equal(table[UNIT], number)).select(rules.schema.names) for table in rows]
            if any(map(len, mine)):
                found = self._detect(rules, pa.concat_tables(table.cast(rules.schema) for table in mine))
                yield from conform_answer(found, self.output).to_batches(max_chunksize=_OUTPUT)

    def _detect(self, rules: UnitProgram, rows: pa.Table) -> pa.Table:
        try:
            return detect_table(rules.bind(), rows, threads=1, ordered=False)  # Spark has a task for each core
        except DataError as error:
            raise without_row(error) from None


@dataclass(frozen=True)
class LimitTask:
    """What output limits let through, in a task that has all events of the labels that it has."""

    limits: Mapping[str, RateLimit]
    times: TimeColumns
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        derived = [pa.Table.from_batches([batch]).cast(self.schema) for batch in batches]
        if derived:
            shown = RateLimiter(self.limits, self.times).let_through(pa.concat_tables(derived))
            yield from shown.to_batches(max_chunksize=_OUTPUT)


DOCUMENT_SCHEMA = pa.schema({LABEL: pa.string(), "begin": pa.int64(), "end": pa.int64(), "c0": pa.string()})


@dataclass(frozen=True)
class DocumentTask:
    """Texts of JSON or XML as events, in a task."""

    columns: IncomingColumns
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            try:
                read = self.columns.read(pa.Table.from_batches([batch]).cast(self.schema))
            except DataError as error:
                raise without_row(error) from None
            yield from read.cast(DOCUMENT_SCHEMA).to_batches()


@dataclass(frozen=True)
class TermTask:
    """Terms that SQL cannot match: rows of a stream in, a row for each match out."""

    found: MatchPlan
    attributes: Attributes
    names: ColumnNames

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        matcher = TermMatcher(self.found, self.attributes, self.names)
        types = {"begin": pa.int64(), "end": pa.int64()}
        for name, kind in self.attributes.types.items():
            types[self.attributes.columns[name]] = pa.string() if kind is TERM or name == DOCUMENT else kind
        schema = pa.schema(types)
        for batch in batches:
            rows = pa.Table.from_batches([batch]).select(schema.names).cast(schema)
            yield from matcher(rows).to_batches()


PERIODS = pa.schema({"begin": pa.int64(), "end": pa.int64()})


@dataclass(frozen=True)
class PeriodTask:
    """The times of a periodic timer, from the ends of the first and the last event."""

    periods: Periods

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            ends = pa.table({"end": pa.concat_arrays([column.cast(pa.int64()) for column in batch.columns])})
            yield from self.periods.of_events(ends, RuleLimits()).to_batches(max_chunksize=_OUTPUT)


@dataclass(frozen=True)
class EmbeddedPatternTask:
    """All matches of a pattern, in a task that is given all events that it reads."""

    pattern: PatternStream

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        attributes = self.pattern.incoming
        columns = {attributes.columns[name]: kind or pa.string() for name, kind in attributes.types.items()}
        schema = pa.schema(self.pattern.roles | columns)
        events = [pa.Table.from_batches([batch]).select(schema.names).cast(schema) for batch in batches]
        yield from self.pattern.match_all(pa.concat_tables([schema.empty_table(), *events])).to_batches()
