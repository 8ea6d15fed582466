"""One run of a funnel over files for the command line."""

from __future__ import annotations

import time as clock
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ostinato.cli.jobs.events import check_kinds, columns_to_read, load, name_files, open_typed
from ostinato.cli.report import print_summary
from ostinato.core.events import DEFAULT_TIME, DEFAULT_TYPE
from ostinato.core.text.counts import format_count
from ostinato.files import Writer, open_events
from ostinato.files.reader import OnError
from ostinato.files.stdio import spool_standard_input
from ostinato.patterns.funnel.funnel import Funnel


@dataclass(frozen=True)
class FunnelJob:
    """A funnel, the files it runs over and how to read them."""

    funnel: Funnel
    files: Sequence[Path]
    time: str | None
    type: str | None
    kinds: Mapping[str, str]
    on_error: OnError

    def run(self, output: Path | None) -> None:
        """Read all that is needed, print how many keys took each step, and write how far each got."""
        with spool_standard_input(self.files) as files:
            began = clock.perf_counter()
            schema = open_typed(files, self.kinds).schema
            check_kinds(self.kinds, schema.names)
            self.funnel.follow(schema.empty_table(), time=self.time, type=self.type)
            wanted = {self.time or DEFAULT_TIME, self.type or DEFAULT_TYPE, *self.funnel.columns()}
            columns = columns_to_read(schema, wanted)
            reader = open_events(files, columns=columns, on_error=self.on_error, kinds=self.kinds)
            events = load(reader)
            with name_files(files):
                result = self.funnel.detect(events, time=self.time, type=self.type)
        if output is not None:
            with Writer(output) as writer:
                writer.write(result.keys)
        print_summary(
            reader,
            clock.perf_counter() - began,
            events=len(events),
            found=[format_count(len(result.keys), "key")],
            late=None,
            list_bad=self.on_error == "collect",
        )
        print(result)
