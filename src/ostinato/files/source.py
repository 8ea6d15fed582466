"""What the reader needs from a file of any format."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

import pyarrow as pa


@dataclass(frozen=True)
class BadRow:
    """A row of a text file that could not be read."""

    file: str
    line: int
    text: str
    reason: str


class Piece(NamedTuple):
    """Some rows of a file, the bad rows among them, and how many bytes of the file have been read."""

    rows: pa.Table
    bad: list[BadRow]
    bytes_read: int


class EventSource(Protocol):
    path: Path

    def schema(self, columns: list[str] | None) -> pa.Schema:
        """The wanted columns (None: all) that the file has."""
        ...

    def pieces(self, schema: pa.Schema, batch_rows: int) -> Iterator[Piece]:
        """The rows, in order, with those columns of `schema` that the file has."""
        ...
