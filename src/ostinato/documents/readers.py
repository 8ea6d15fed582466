"""Bytes of a document, one after the other: in memory, in a file, or behind bytes that were read already."""

from __future__ import annotations

import io
import os
from typing import Any, BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from ostinato.errors import DataError


class ByteReader(Protocol):
    """Bytes in their order; `size` is how many there are, if that is known."""

    size: int | None

    def into(self, room: NDArray[np.uint8]) -> int:
        """Fill `room`, or a part of it; returns how much. 0 is the end."""

    def close(self) -> None: ...


def copy_into(data: bytes, room: NDArray[np.uint8]) -> int:
    """Copy as much of `data` as there is room for; returns how much."""
    count = min(len(data), room.size)
    room[:count] = np.frombuffer(data[:count], np.uint8)
    return count


def read_head(reader: ByteReader, count: int) -> bytes:
    """The first `count` bytes, fewer only at the end."""
    room, filled = np.empty(count, np.uint8), 0
    while filled < count and (more := reader.into(room[filled:])):
        filled += more
    return room[:filled].tobytes()


class MemoryReader:
    """Bytes in memory."""

    def __init__(self, data: NDArray[np.uint8]) -> None:
        self._data, self._at = data, 0
        self.size: int | None = data.size

    def into(self, room: NDArray[np.uint8]) -> int:
        count = min(room.size, self._data.size - self._at)
        room[:count] = self._data[self._at : self._at + count]
        self._at += count
        return count

    def head(self, count: int) -> bytes:
        return self._data[:count].tobytes()

    def close(self) -> None:
        pass


class FileReader:
    """A file. It is closed in the end only if it is `owned`, that is, was opened here."""

    def __init__(self, file: BinaryIO, source: str | None, *, owned: bool) -> None:
        self._file, self._source, self._owned = file, source, owned
        self._fills = isinstance(file, io.RawIOBase | io.BufferedIOBase)
        self.size = os.fstat(file.fileno()).st_size or None if owned else None  # 0 also if it is no plain file
        self._over = b""  # what the file gave beyond what it was asked for

    def into(self, room: NDArray[np.uint8]) -> int:
        data = self._over or self._next(room)
        if isinstance(data, int):
            return data
        count = copy_into(data, room)
        self._over = data[count:]
        return count

    def _next(self, room: NDArray[np.uint8]) -> bytes | int:
        """The next bytes, or how many were put where they belong."""
        try:
            if self._fills:
                return int(self._file.readinto(room.data) or 0)  # type: ignore[attr-defined]
            data: Any = self._file.read(room.size)
        except (OSError, EOFError) as error:
            raise DataError(f"cannot be read: {error}", source=self._source) from error
        if isinstance(data, str):
            raise DataError("the file gives text, not bytes", source=self._source, fix='open it with mode "rb"')
        return bytes(data or b"")

    def close(self) -> None:
        if self._owned:
            self._file.close()


class HeadedReader:
    """A reader whose first bytes were read already."""

    def __init__(self, head: bytes, rest: ByteReader) -> None:
        self._head, self._rest, self.size = head, rest, rest.size

    def into(self, room: NDArray[np.uint8]) -> int:
        if not self._head:
            return self._rest.into(room)
        count = copy_into(self._head, room)
        self._head = self._head[count:]
        return count

    def close(self) -> None:
        self._rest.close()
