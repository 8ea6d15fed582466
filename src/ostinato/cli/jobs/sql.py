"""One run of a query in SQL over files for the command line: read, answer, write or print, and say how it went."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ostinato.cli.jobs.events import load, open_typed
from ostinato.cli.report import Results, print_progress
from ostinato.core.text.counts import format_count
from ostinato.sql.query import SqlQuery


@dataclass(frozen=True)
class SqlJob:
    """A query and the files of each table that it reads."""

    query: SqlQuery
    files: Mapping[str, Sequence[Path]]

    def run(self, output: Path | None) -> None:
        began = time.perf_counter()
        tables = {name: load(open_typed(files, {})) for name, files in self.files.items()}
        rows = sum(map(len, tables.values()))
        with Results(output, noun="row") as results:
            results.add(self.query.detect(tables))
        seconds = time.perf_counter() - began
        print_progress(f"{format_count(rows, 'row')} read, {format_count(results.total, 'row')}, {seconds:.2f} s")
        results.show()

    def check(self) -> list[str]:
        """The columns of the answer, once the query is known to fit those of the files. No row is processed."""
        empty = {name: open_typed(files, {}).schema.empty_table() for name, files in self.files.items()}
        return list(self.query.detect(empty).column_names)
