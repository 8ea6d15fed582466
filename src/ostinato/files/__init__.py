"""Event files in, match files out: Parquet, CSV, JSON lines and Arrow IPC, by extension, in bounded memory."""

from ostinato.files.reader import Reader, open_events
from ostinato.files.source import BadRow
from ostinato.files.writer import Writer

__all__ = ["BadRow", "Reader", "Writer", "open_events"]
