"""One run of event rules over files for the command line: read, derive, write or print, and say how it went."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import typer

from ostinato.cli.report import Results, note, progress, say_how_it_went, watched
from ostinato.core.clock import find_step_back
from ostinato.errors import DataError, did_you_mean
from ostinato.files import EventReader, open_events
from ostinato.files.reader import OnError
from ostinato.rules.incremental.engine import RuleEngine
from ostinato.rules.program import RuleProgram
from ostinato.rules.runtime.ingest import IncomingColumns
from ostinato.rules.runtime.unknown_labels import read_labels, unknown_label_warnings

_NEVER = np.iinfo(np.int64).min


def told(events: int) -> str:
    return f"{events:,} derived event" if events == 1 else f"{events:,} derived events"


@dataclass(frozen=True)
class RulesJob:
    """A program, the files it runs over and how to read them.

    `columns` are the options of `ostinato.rules(…).detect` that name columns; `kinds` says what columns of text files
    hold where their values do not tell.
    """

    program: RuleProgram
    files: Sequence[Path]
    columns: Mapping[str, Any] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    on_error: OnError = "raise"

    def checked_schema(self) -> pa.Schema:
        """The columns of the files, once the program is known to fit them. No event is processed."""
        reader = self._reader()
        if reader.schema.names:
            self._answer_without_events(reader)
        return reader.schema

    def run(self, output: Path | None, *, sort: bool, lateness: str | None = None, longest: str | None = None) -> None:
        began = time.perf_counter()
        reader = self._reader()
        opened = time.perf_counter()
        with Results(output, told=told) as results:
            results.add(self._answer_without_events(reader))
            # To find the types of text files is part of the work; to load the engine, which checking did, is not.
            ran = _Ran(time.perf_counter() - (opened - began))
            if not reader.schema.names:  # a file of nothing at all: only timers of fixed times can go off
                results.add(ran.add(self.program.detect([], **self.columns)))
            elif sort:
                self._sorted(reader, results, ran)
            else:
                self._streamed(reader, results, ran, lateness, longest)
        self._report(reader, ran)
        results.show()

    def _streamed(
        self, reader: EventReader, results: Results, ran: _Ran, lateness: str | None, longest: str | None
    ) -> None:
        """Push the files through an engine piece by piece; memory is bounded where the plan says so."""
        columns = self._resolved(reader)
        engine = self._engine(reader, lateness=lateness or 0, longest=longest)
        last = _NEVER
        for rows in watched(reader):
            with self._placed():
                if lateness is None:
                    last = self._check_order(columns, rows, reader.rows_read - len(rows), last)
                results.add(ran.add(engine.push(rows)))
            ran.seen |= read_labels(rows, columns) or set()
        results.add(ran.add(engine.flush()))
        ran.late = engine.stats().late
        if reader.rows_read and columns.document is None:  # a document says its label itself
            ran.notes += unknown_label_warnings(self.program.incoming, ran.seen)

    def _sorted(self, reader: EventReader, results: Results, ran: _Ran) -> None:
        """Load everything and derive at once; events may come in any order."""
        table = pa.concat_tables([reader.schema.empty_table(), *watched(reader)])
        with self._placed(), warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            results.add(ran.add(self.program.detect(table, **self.columns)))
        ran.notes += [str(warning.message) for warning in warned]

    def _answer_without_events(self, reader: EventReader) -> pa.Table:
        """The columns of the answer, once the program is known to fit those of the files."""
        if not reader.schema.names:
            return self.program.detect([], **self.columns).slice(0, 0)
        with self._placed():
            return self._engine(reader).push(reader.schema.empty_table())

    def _engine(self, reader: EventReader, **options: Any) -> RuleEngine:
        """The reader has found what all rows hold."""
        return self.program.engine(**self.columns, schema=reader.schema, **options)

    def _reader(self) -> EventReader:
        with progress("finding types") as advance:
            reader = open_events(self.files, on_error=self.on_error, kinds=self.kinds, scanned=advance)
        for name in self.kinds if reader.schema.names else ():
            if name not in reader.schema.names:
                raise typer.BadParameter(
                    f"--kind names `{name}`, but there is no such column; {did_you_mean(name, reader.schema.names)}"
                )
        return reader

    def _resolved(self, reader: EventReader) -> IncomingColumns:
        return IncomingColumns.resolve(reader.schema, labels=self.program.incoming, **self.columns)

    def _check_order(self, columns: IncomingColumns, rows: pa.Table, first_row: int, last: int) -> int:
        """Files are read in pieces of any size, so what may be out of order must not depend on it: nothing may."""
        _, ends = columns.times.ticks(rows, first_row=first_row)
        place = find_step_back(ends, last)
        if place is not None:
            raise DataError(
                f"the events are not in order of their end (`{columns.times.end}`)",
                row=first_row + place,
                fix="--lateness '5 minutes' if none comes later than that, or --sort to read all into memory",
            )
        return int(ends[-1]) if len(ends) else last

    @property
    def _source(self) -> str:
        return ", ".join(map(str, self.files))

    @contextmanager
    def _placed(self) -> Iterator[None]:
        """Errors of the events name their files."""
        try:
            yield
        except DataError as error:
            if error.source is not None:
                raise
            raise error.replace(source=self._source) from error

    def _report(self, reader: EventReader, ran: _Ran) -> None:
        say_how_it_went(
            reader,
            time.perf_counter() - ran.began,
            events=reader.rows_read,
            found=[f"{ran.found[label]:,} {label}" for label in self.program.derived],
            late=ran.late,
            list_bad=self.on_error == "collect",
        )
        for text in ran.notes:
            note(text)


@dataclass
class _Ran:
    """What is to be told of a run."""

    began: float
    found: Counter[str] = field(default_factory=Counter)
    seen: set[str] = field(default_factory=set)
    late: int = 0
    notes: list[str] = field(default_factory=list)

    def add(self, derived: pa.Table) -> pa.Table:
        if len(derived):
            self.found.update({each["values"]: each["counts"] for each in pc.value_counts(derived["type"]).to_pylist()})
        return derived
