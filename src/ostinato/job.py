"""One run over files for the command line: read, detect, write or print, and say how it went."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from ostinato.errors import DataError, LimitError
from ostinato.files import Reader, Writer, open_events
from ostinato.runtime.limits import Limits
from ostinato.viz.table import terminal_table

if TYPE_CHECKING:
    from ostinato.query import CelQuery

SHOWN = 20  # matches printed when they are not written to a file
_BAD_SHOWN = 5  # bad rows listed by --on-error collect


@dataclass(frozen=True)
class Job:
    """A query, the files it runs over and how to read them. `binding` names the time and type columns, if given."""

    query: CelQuery
    files: Sequence[Path]
    binding: Mapping[str, str]
    order_by: tuple[str, ...] = ()
    events: bool = False
    on_error: Literal["raise", "skip", "collect"] = "raise"
    limit_matches: int | None = None

    def checked_schema(self) -> pa.Schema:
        """The columns of the files, once the query is known to fit them. No event is read."""
        schema = open_events(self.files).schema
        self.query.detect(schema.empty_table(), **self.binding)
        return schema

    def streamed(self, output: Path | None, lateness: str | None) -> None:
        """Push the files through an engine piece by piece; memory is bounded by the query's window."""
        began = time.perf_counter()
        schema = self.checked_schema()
        engine = self.query.engine(**self.binding, lateness=lateness or 0, events=self.events, limits=self._limits())
        with self._reading(schema) as reader, _Results(output, self.limit_matches) as results:
            results.add(engine.push(reader.schema.empty_table()))
            for batch in reader:
                results.add(engine.push(batch))
                if lateness is None and engine.stats().late:
                    raise DataError(
                        "the events are not in time order",
                        source=", ".join(map(str, self.files)),
                        fix="--lateness '5 minutes' when events come at most that late, or --sort to sort them in memory",
                    )
            results.add(engine.flush())
        stats = engine.stats()
        self._report(results, reader, events=stats.events, late=stats.late, seconds=time.perf_counter() - began)

    def sorted(self, output: Path | None) -> None:
        """Load what the query needs, sort it by time and detect at once."""
        began = time.perf_counter()
        reader, table = self._loaded()
        with _Results(output, self.limit_matches) as results:
            ordering = {"order_by": self.order_by, "events": self.events, "limits": self._limits()}
            results.add(self.query.detect(table, **self.binding, **ordering))
        self._report(results, reader, events=len(table), late=0, seconds=time.perf_counter() - began)

    def count(self) -> None:
        """Print the number of matches; they are never listed, so there may be any number of them."""
        began = time.perf_counter()
        reader, table = self._loaded()
        print(f"{self.query.count(table, **self.binding, order_by=self.order_by):,}")
        _say(reader, f"{len(table):,} events", time.perf_counter() - began, len(table))

    def _loaded(self) -> tuple[Reader, pa.Table]:
        schema = self.checked_schema()
        with self._reading(schema) as reader:
            batches = list(reader)
        return reader, pa.concat_tables([reader.schema.empty_table(), *batches])

    @contextmanager
    def _reading(self, schema: pa.Schema) -> Iterator[Reader]:
        """The files, only with the columns that are needed, and a progress bar when someone is watching."""
        with open_events(self.files, columns=self._needed(schema), on_error=self.on_error) as reader:
            yield reader

    def _needed(self, schema: pa.Schema) -> list[str] | None:
        columns = None if self.events else self.query.columns()
        if columns is None:
            return None
        named = {self.binding.get("time", "ts"), self.binding.get("type", "type"), *self.order_by, *columns}
        return [name for name in schema.names if name in named]

    def _limits(self) -> Limits:
        return Limits() if self.limit_matches is None else Limits(matches=self.limit_matches)
