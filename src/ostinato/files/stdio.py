"""Standard input and output as files."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

import pyarrow as pa

from ostinato.files.encode import encode_tables
from ostinato.files.live import sniff_format
from ostinato.files.writer import Writer

STANDARD = Path("-")


@contextmanager
def spool_standard_input(files: Sequence[Path], form: str | None = None) -> Iterator[list[Path]]:
    """The paths with a temporary file for `-`, for what needs the end of the events before it starts.

    Without a format, that of the input is told by how it begins.
    """
    if STANDARD not in files:
        yield list(files)
        return
    with tempfile.TemporaryDirectory(prefix="ostinato-") as folder:
        start = sys.stdin.buffer.read(1 << 16)
        read = Path(folder) / f"standard-input.{form or sniff_format(start)}"
        with read.open("wb") as sink:
            sink.write(start)
            shutil.copyfileobj(sys.stdin.buffer, sink)
        yield [read if file == STANDARD else file for file in files]


class StandardOutput:
    """Write tables to standard output as they come, in a format: `jsonl`, `csv` or `parquet`."""

    def __init__(self, form: str) -> None:
        self._form, self._sink = form, _Pipe()
        self._write: Callable[[pa.Table], None] | None = None
        self._close: Callable[[], None] = lambda: None

    def __enter__(self) -> StandardOutput:
        return self

    def write(self, table: pa.Table) -> None:
        if self._write is None:
            self._write, self._close = encode_tables(self._sink, f".{self._form}", table.schema)
        self._write(table)
        self._sink.flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._close()
            self._sink.flush()


def open_output(output: Path, form: str | None = None) -> Writer | StandardOutput:
    """A file, or standard output: JSON lines there, or a format."""
    return StandardOutput(form or "jsonl") if output == STANDARD else Writer(output)


class _Pipe:
    """Standard output for writers that ask where they are. Others own it, so it stays open."""

    closed = False

    def __init__(self) -> None:
        self._position = 0

    def write(self, data: bytes) -> int:
        sys.stdout.buffer.write(data)
        self._position += len(data)
        return len(data)

    def tell(self) -> int:
        return self._position

    def flush(self) -> None:
        sys.stdout.buffer.flush()

    def close(self) -> None:
        """It stays open."""
