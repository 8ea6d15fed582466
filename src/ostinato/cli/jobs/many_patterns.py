"""One run of many queries over files: each event is read once, for all of them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

import ostinato
from ostinato.cli.jobs.events import open_live
from ostinato.cli.jobs.patterns import EventJob, Matches
from ostinato.cli.report import note, read_with_progress
from ostinato.core.text.counts import format_count
from ostinato.errors import QueryError
from ostinato.files.live import LiveEvents
from ostinato.files.reader import EventReader
from ostinato.files.stdio import STANDARD, spool_standard_input
from ostinato.patterns.live.engine import LiveEngine
from ostinato.patterns.query import PatternQuery

Reader = EventReader | LiveEvents
LANGUAGES = {".cel": ostinato.cel, ".srem": ostinato.srem}
_ELSEWHERE = {
    ".sql": "ostinato detect FILE.sql --input FILE",
    ".rules": "ostinato rules FILE.rules --input FILE",
    ".xseq": "ostinato xseq FILE.xseq --input FILE",
}  # languages whose queries run one by one, and how


def compile_folder(folder: Path) -> dict[str, PatternQuery]:
    """The queries of a folder, by the names of their files."""
    there = sorted(folder.iterdir())
    files = [file for file in there if file.suffix.lower() in LANGUAGES]
    others = [file for file in there if file.suffix.lower() in _ELSEWHERE]
    ways = ", ".join(dict.fromkeys(_ELSEWHERE[file.suffix.lower()] for file in others))
    if not files and others:
        reason = f"there is no query in CEL or SREM in `{folder}`, only {_listed(others)}"
        raise QueryError(reason, fix=f"run such queries one by one: {ways}")
    if not files:
        raise QueryError(f"there is no query in `{folder}`", fix="put queries there, as files named *.cel or *.srem")
    if others:
        note(f"{_listed(others)} left out: a folder runs queries in CEL and SREM; run the others by: {ways}")
    found: dict[str, PatternQuery] = {}
    for file in files:
        try:
            query = LANGUAGES[file.suffix.lower()](file.read_text(encoding="utf-8-sig"))
        except QueryError as error:
            raise error.replace(reason=f"{file.name}: {error.reason}") from None
        except UnicodeDecodeError:
            raise QueryError(f"`{file}` is not a text file", fix="write queries as text in UTF-8") from None
        if file.stem in found:
            raise QueryError(f"two queries in `{folder}` are named `{file.stem}`", fix="rename one of the files")
        found[file.stem] = query
    return found


def _listed(files: list[Path]) -> str:
    shown = ", ".join(file.name for file in files[:5])
    return f"{shown} and {len(files) - 5:,} more" if len(files) > 5 else shown


@dataclass(frozen=True, kw_only=True)
class ManyPatternsJob(EventJob):
    """Queries by name, over files."""

    queries: Mapping[str, PatternQuery]

    def required_columns(self) -> set[str] | None:
        columns = [query.columns() for query in self.queries.values()]
        return None if None in columns else set().union(*(names for names in columns if names is not None))

    def check(self, schema: pa.Schema) -> None:
        self._open(None).push(schema.empty_table())

    def _open(self, lateness: str | None) -> LiveEngine:
        options = {"time": self.time, "type": self.type, "lateness": lateness or 0, "events": self.events}
        options["identity"] = self.identity
        return ostinato.engine(self.queries, limits=self.limits, **options)  # type: ignore[arg-type]

    def run(self, output: Path | None, lateness: str | None, form: str | None, *, count: bool) -> None:
        """Find matches, or only count them."""
        if STANDARD in self.files and not count:
            self.live(output or STANDARD, lateness, form)
            return
        with spool_standard_input(self.files, form) as read:
            job = replace(self, files=read)
            if count:
                job.count()
            else:
                job.stream(output, lateness, form)

    def stream(self, output: Path | None, lateness: str | None, form: str | None = None) -> None:
        """Push the files through an engine piece by piece."""
        reader, began = self.open_reader(whole_rows=self.events)
        engine = self._open(lateness)
        with Matches(output, self.limits.matches, form) as results:
            results.add(engine.push(reader.schema.empty_table()).to_arrow())
            for rows in read_with_progress(reader):
                self._push(engine, rows, reader, lateness, results)
            results.add(engine.flush().to_arrow())
        self._end(engine, reader, began, results.total)
        results.show()

    def live(self, output: Path, lateness: str | None, form: str | None) -> None:
        """Read standard input as it comes, and write matches at once."""
        began, reader = time.perf_counter(), open_live(self.kinds, self.on_error, form)
        engine = self._open(lateness)
        with Matches(output, self.limits.matches, form) as results:
            for rows in reader:
                self._push(engine, rows, reader, lateness, results)
            results.add(engine.flush().to_arrow())
        self._end(engine, reader, began, results.total)

    def count(self) -> None:
        """Print how many matches each query has."""
        reader, began = self.open_reader(whole_rows=False)
        engine = self._open(None)
        engine.push(reader.schema.empty_table())
        for rows in read_with_progress(reader):
            self._check_rows(engine, rows, reader)
            engine.push(rows)
        engine.flush()
        found = {name: stats.matches for name, stats in engine.stats().queries.items()}
        self._end(engine, reader, began, sum(found.values()))
        for name, matches in found.items():
            print(f"{name}: {matches}")

    def _push(
        self,
        engine: LiveEngine,
        rows: pa.Table,
        reader: Reader,
        lateness: str | None,
        results: Matches,
    ) -> None:
        if lateness is None:
            self._check_rows(engine, rows, reader)
        results.add(engine.push(rows).to_arrow())

    def _check_rows(self, engine: LiveEngine, rows: pa.Table, reader: Reader) -> None:
        if engine.front is None:
            engine.push(rows.slice(0, 0))
        if engine.front is not None:
            self.check_order(engine.front.clock, rows, engine.front.reorder, reader.rows_read - len(rows))

    def _end(self, engine: LiveEngine, reader: Reader, began: float, matches: int) -> None:
        stats = engine.stats()
        self.report(reader, began, events=stats.events, matches=matches, late=stats.late)
        quiet = [name for name, each in stats.queries.items() if not each.matches and each.stopped is None]
        note(f"{format_count(len(stats.queries), 'query')}, {len(quiet):,} of them without a match")
        for name, each in stats.queries.items():
            if each.stopped is not None:
                note(f"{name} was stopped: {each.stopped}")
