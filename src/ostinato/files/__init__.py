"""Event files in, match files out: Parquet, CSV, JSON lines and Arrow IPC, by extension, in bounded memory."""

from ostinato.files.reader import EventReader, open_events
from ostinato.files.source import BadRow
from ostinato.files.writer import Writer

__all__ = ["BadRow", "EventReader", "Writer", "open_events"]
