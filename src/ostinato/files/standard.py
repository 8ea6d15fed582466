"""Standard input and output as files. (Events are read twice, first to find the types of their columns.)"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ostinato.files.live import sniff_format

STANDARD = Path("-")


@contextmanager
def spool_standard_streams(
    files: Sequence[Path], output: Path | None = None, form: str | None = None
) -> Iterator[tuple[list[Path], Path | None]]:
    """The paths with temporary files for `-`. Input is read to its end first; output is copied out if all went well.

    Without a format, that of the input is told by how it begins, and output is JSON lines.
    """
    if STANDARD not in (*files, output):
        yield list(files), output
        return
    with tempfile.TemporaryDirectory(prefix="ostinato-") as folder:
        read, written = Path(folder) / "input", Path(folder) / f"standard-output.{form or 'jsonl'}"
        if STANDARD in files:
            start = sys.stdin.buffer.read(1 << 16)
            read = Path(folder) / f"standard-input.{form or sniff_format(start)}"
            with read.open("wb") as sink:
                sink.write(start)
                shutil.copyfileobj(sys.stdin.buffer, sink)
        yield [read if file == STANDARD else file for file in files], written if output == STANDARD else output
        if written.exists():
            with written.open("rb") as source:
                shutil.copyfileobj(source, sys.stdout.buffer)
            sys.stdout.buffer.flush()
