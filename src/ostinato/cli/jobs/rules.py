"""One run of event rules over files for the command line: read, derive, write or print, and say how it went."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ostinato.cli.jobs.events import LATENESS, NEVER, check_kinds, check_order, load, name_files, open_live, open_typed
from ostinato.cli.report import Results, note, print_summary, read_with_progress
from ostinato.files import EventReader
from ostinato.files.live import LiveEvents
from ostinato.files.reader import OnError
from ostinato.rules.incremental.engine import RuleEngine
from ostinato.rules.program import RuleProgram
from ostinato.rules.runtime.ingest import IncomingColumns
from ostinato.rules.runtime.unknown_labels import read_labels, unknown_label_warnings
from ostinato.rules.runtime.unusable_rows import split_unusable

NOUN = "derived event"


@dataclass(frozen=True)
class RulesJob:
    """A program, the files it runs over and how to read them.

    `columns` are the options of `ostinato.rules(…).detect` that name columns; `kinds` says what columns of text files
    hold where their values do not tell. `tables` are rows that hold before all events, by the labels of their tables.
    """

    program: RuleProgram
    files: Sequence[Path]
    columns: Mapping[str, Any] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    on_error: OnError = "raise"
    tables: Mapping[str, pa.Table] = field(default_factory=dict)

    def check_schema(self) -> pa.Schema:
        """The columns of the files, once the program is known to fit them. No event is processed."""
        reader = self._reader()
        if reader.schema.names:
            self._answer_without_events(reader)
        return reader.schema

    def run(
        self,
        output: Path | None,
        form: str | None = None,
        *,
        sort: bool,
        lateness: str | None = None,
        longest: str | None = None,
    ) -> None:
        began = time.perf_counter()
        reader = self._reader()
        opened = time.perf_counter()
        with Results(output, noun=NOUN, form=form) as results:
            results.add(self._answer_without_events(reader))
            # To find the types of text files is part of the work; to load the engine, which checking did, is not.
            ran = _RunSummary(time.perf_counter() - (opened - began))
            if not reader.schema.names:  # a file of nothing at all: only timers of fixed times can go off
                results.add(ran.add(self.program.detect([], **self._options)))
            elif sort:
                self._sort(reader, results, ran)
            else:
                engine = self._engine(reader, lateness=lateness or 0, longest=longest)
                self._stream(
                    read_with_progress(reader), engine, results, ran, in_order=lateness is None, tell=ran.notes.append
                )
        self._report(reader, ran)
        results.show()

    def live(self, output: Path, form: str | None, *, lateness: str | None = None, longest: str | None = None) -> None:
        """Read standard input as it comes, and write derived events at once."""
        ran, reader = _RunSummary(time.perf_counter()), open_live(self.kinds, self.on_error, form)
        engine = self.program.engine(**self._options, lateness=lateness or 0, longest=longest)
        with Results(output, noun=NOUN, form=form) as results:
            self._stream(reader, engine, results, ran, in_order=lateness is None, tell=note)
        self._report(reader, ran)

    def _stream(
        self,
        batches: Iterable[pa.Table],
        engine: RuleEngine,
        results: Results,
        ran: _RunSummary,
        *,
        in_order: bool,
        tell: Callable[[str], None],
    ) -> None:
        """Push events through an engine piece by piece; memory is bounded where the plan says so. `tell` gets its
        warnings as they come."""
        last, first_row, columns = NEVER, 0, None
        for batch in batches:
            with name_files(self.files), _warnings(tell):
                engine.push(batch.slice(0, 0))  # binds it to the columns
                columns = engine.bound_program.columns
                rows = self._usable(columns, batch, first_row, ran)
                if in_order:
                    _, ends = columns.times.ticks(rows, first_row=first_row)
                    reason = f"the events are not in order of their end (`{columns.times.end}`)"
                    fix = f"{LATENESS}, or --sort to read all into memory"
                    last = check_order(ends, last, first_row, fix=fix, reason=reason)
                results.add(ran.add(engine.push(rows)))
            first_row += len(batch)
            ran.seen |= read_labels(rows, columns) or set()
        results.add(ran.add(engine.flush()))
        ran.late = engine.stats().late
        if columns is not None and columns.document is None:  # a document says its label itself
            ran.notes += unknown_label_warnings(set(self.program.incoming) - self.tables.keys(), ran.seen)

    def _sort(self, reader: EventReader, results: Results, ran: _RunSummary) -> None:
        """Load everything and derive at once; events may come in any order."""
        table = load(reader)
        if self.on_error != "raise":
            table = self._usable(self._engine(reader).bound_program.columns, table, 0, ran)
        with name_files(self.files), _warnings(ran.notes.append):
            results.add(ran.add(self.program.detect(table, **self._options)))

    def _usable(self, columns: IncomingColumns, rows: pa.Table, first_row: int, ran: _RunSummary) -> pa.Table:
        """The rows that are events; what is wrong with the others is reported at the end."""
        if self.on_error == "raise":
            return rows
        good, faults = split_unusable(columns, rows)
        ran.unusable += [f"row {first_row + row} (from 0): {reason}" for row, reason in faults]
        return good

    def _answer_without_events(self, reader: EventReader) -> pa.Table:
        """The columns of the answer, once the program is known to fit those of the files."""
        if not reader.schema.names:
            return self.program.detect([], **self._options).slice(0, 0)
        with name_files(self.files):
            return self._engine(reader).push(reader.schema.empty_table())

    @property
    def _options(self) -> dict[str, Any]:
        return {**self.columns, "tables": self.tables}

    def _engine(self, reader: EventReader, **options: Any) -> RuleEngine:
        """The reader has found what all rows hold."""
        return self.program.engine(**self._options, schema=reader.schema, **options)

    def _reader(self) -> EventReader:
        reader = open_typed(self.files, self.kinds, self.on_error)
        check_kinds(self.kinds, reader.schema.names)
        return reader

    def _report(self, reader: EventReader | LiveEvents, ran: _RunSummary) -> None:
        print_summary(
            reader,
            time.perf_counter() - ran.began,
            events=reader.rows_read,
            found=[f"{ran.found[label]:,} {label}" for label in self.program.derived],
            late=ran.late,
            list_bad=self.on_error == "collect",
        )
        if ran.unusable:
            count = len(ran.unusable)
            was = "1 row was no event and was" if count == 1 else f"{count:,} rows were no events and were"
            shown = ran.unusable if self.on_error == "collect" else ran.unusable[:1]
            ran.notes.append("\n  ".join([f"{was} left out:", *shown]))
        for text in ran.notes:
            note(text)


@contextmanager
def _warnings(tell: Callable[[str], None]) -> Iterator[None]:
    """Warnings about the events, as notes of the command line."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", UserWarning)
        yield
    for warning in warned:
        tell(str(warning.message))


@dataclass
class _RunSummary:
    """What is reported at the end of a run."""

    began: float
    found: Counter[str] = field(default_factory=Counter)
    seen: set[str] = field(default_factory=set)
    late: int = 0
    notes: list[str] = field(default_factory=list)
    unusable: list[str] = field(default_factory=list)

    def add(self, derived: pa.Table) -> pa.Table:
        if len(derived):
            self.found.update({each["values"]: each["counts"] for each in pc.value_counts(derived["type"]).to_pylist()})
        return derived
