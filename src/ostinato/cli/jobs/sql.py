"""One run of a query in SQL over files for the command line: read, answer, write or print, and say how it went."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ostinato.cli.jobs.events import check_kinds, load, open_typed
from ostinato.cli.report import Results, print_bad_rows, print_progress
from ostinato.core.text.counts import format_count
from ostinato.files.reader import EventReader, OnError
from ostinato.sql.limits import SqlLimits
from ostinato.sql.query import SqlQuery


@dataclass(frozen=True)
class SqlJob:
    """A query and the files of each table that it reads; `kinds` and `on_error` are for all of them."""

    query: SqlQuery
    files: Mapping[str, Sequence[Path]]
    kinds: Mapping[str, str] = field(default_factory=dict)
    on_error: OnError = "raise"
    limits: SqlLimits | None = None

    def run(self, output: Path | None) -> None:
        began = time.perf_counter()
        readers = self._open()
        tables = {name: load(reader) for name, reader in readers.items()}
        rows = sum(map(len, tables.values()))
        with Results(output, noun="row") as results:
            results.add(self.query.detect(tables, limits=self.limits))
        seconds = time.perf_counter() - began
        print_progress(f"{format_count(rows, 'row')} read, {format_count(results.total, 'row')}, {seconds:.2f} s")
        self._report_bad(readers)
        results.show()

    def count(self) -> None:
        """Print how many rows the query gives."""
        readers = self._open()
        tables = {name: load(reader) for name, reader in readers.items()}
        print(len(self.query.detect(tables, limits=self.limits)))
        self._report_bad(readers)

    def check(self) -> list[str]:
        """The columns of the answer, once the query is known to fit those of the files. No row is processed."""
        empty = {name: reader.schema.empty_table() for name, reader in self._open().items()}
        return list(self.query.detect(empty).column_names)

    def _open(self) -> dict[str, EventReader]:
        readers = {name: open_typed(files, self.kinds, self.on_error) for name, files in self.files.items()}
        check_kinds(self.kinds, [name for reader in readers.values() for name in reader.schema.names])
        return readers

    def _report_bad(self, readers: Mapping[str, EventReader]) -> None:
        for reader in readers.values():
            print_bad_rows(reader, list_bad=self.on_error == "collect")
