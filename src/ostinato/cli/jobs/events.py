"""Files of events as every verb reads them: types are found first, kinds and order are checked, errors name files."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import typer

from ostinato.cli.report import progress, read_with_progress
from ostinato.core.arrays import Int64
from ostinato.core.clock import find_step_back
from ostinato.errors import DataError, did_you_mean
from ostinato.files import EventReader, open_events
from ostinato.files.live import STANDARD_INPUT, LiveEvents
from ostinato.files.reader import OnError
from ostinato.files.stdio import STANDARD

NEVER = int(np.iinfo(np.int64).min)  # before every tick
LATENESS = "--lateness '5 minutes' if none comes later than that"


def open_typed(files: Sequence[Path], kinds: Mapping[str, str], on_error: OnError = "raise") -> EventReader:
    """The files with the types that all their rows have; `kinds` says those that values do not tell."""
    with progress("finding types") as advance:
        return open_events(files, kinds=kinds, on_error=on_error, scanned=advance)


def open_live(kinds: Mapping[str, str], on_error: OnError, form: str | None) -> LiveEvents:
    """Standard input as it comes; without a format, how it begins tells which it is."""
    return LiveEvents(sys.stdin.buffer, kinds, on_error, form)


def check_kinds(kinds: Mapping[str, str], columns: Sequence[str]) -> None:
    """Raise a usage error if --kind names a column that the files do not have. Files without columns pass."""
    for name in kinds if columns else ():
        if name not in columns:
            raise typer.BadParameter(
                f"--kind names `{name}`, but there is no such column; {did_you_mean(name, columns)}"
            )


def columns_to_read(schema: pa.Schema, wanted: Iterable[str]) -> list[str] | None:
    """The wanted columns that exist; None, for all columns, if none does: events without columns still count."""
    names = set(wanted)
    return [name for name in schema.names if name in names] or None


def load(reader: EventReader) -> pa.Table:
    """All that is read, as one table."""
    return pa.concat_tables([reader.schema.empty_table(), *read_with_progress(reader)])


def check_order(
    ticks: Int64, last: int, first_row: int, *, fix: str, reason: str = "the events go back in time"
) -> int:
    """The last tick, for the next piece. Files are read in pieces of any size, so no event at all may go back."""
    place = find_step_back(ticks, last)
    if place is not None:
        raise DataError(reason, row=first_row + place, fix=fix)
    return int(ticks[-1]) if len(ticks) else last


@contextmanager
def name_files(files: Sequence[Path]) -> Iterator[None]:
    """Errors of the events name the files that they are in."""
    try:
        yield
    except DataError as error:
        if error.source is not None:
            raise
        names = (STANDARD_INPUT if file == STANDARD else str(file) for file in files)
        raise error.replace(source=", ".join(names)) from error
