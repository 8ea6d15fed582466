"""The bytes of a document as UTF-8, piece by piece, wherever they come from and however they are written."""

from __future__ import annotations

import codecs
import io
import os
import re
from typing import Any, BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from ostinato.documents.compressed import LONGEST_MARK, Unpacked, packing
from ostinato.errors import DataError, Message, Option

ByteSource = Any  # bytes, bytearray, memoryview, an array of uint8, a path, or a file that is open for reading bytes

_HEAD = 1 << 10  # bytes in which a declaration must end, for its encoding to be seen
_PROBES = (b"\\u0041 +AGE-\r\n", bytes(range(0x20, 0x7F)))  # which some codecs take for something else
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_UNMARKED = ((b"<\0\0\0", "utf-32-le"), (b"\0\0\0<", "utf-32-be"), (b"<\0", "utf-16-le"), (b"\0<", "utf-16-be"))
_S = rb"[ \t\r\n]"
_NAMED = re.compile(
    rb"<\?xml" + _S + rb"+version" + _S + rb"*=" + _S + rb"*(?:'[^']*'|\"[^\"]*\")" + _S + rb"+encoding" + _S + rb"*="
    + _S + rb"*(?:'([^']*)'|\"([^\"]*)\")"
)  # fmt: skip
DECLARATION = re.compile(
    rb"<\?xml" + _S + rb"+version" + _S + rb"*=" + _S + rb"*(?:'1\.[0-9]+'|\"1\.[0-9]+\")"
    rb"(?:" + _S + rb"+encoding" + _S + rb"*=" + _S + rb"*(?:'[A-Za-z][A-Za-z0-9._-]*'|\"[A-Za-z][A-Za-z0-9._-]*\"))?"
    rb"(?:" + _S + rb"+standalone" + _S + rb"*=" + _S + rb"*(?:'(?:yes|no)'|\"(?:yes|no)\"))?" + _S + rb"*\?>"
)  # fmt: skip


class ByteReader(Protocol):
    """Bytes in their order; `size` is how many there are, if that is known."""

    size: int | None

    def into(self, room: NDArray[np.uint8]) -> int:
        """Fill `room`, or a part of it; how much: 0 is the end."""

    def close(self) -> None: ...


class _Held:
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


class _File:
    """A file; it is closed in the end only if it was opened here."""

    def __init__(self, file: BinaryIO, source: str | None, *, owned: bool) -> None:
        self._file, self._source, self._owned = file, source, owned
        self._fills = isinstance(file, io.RawIOBase | io.BufferedIOBase)
        self.size = os.fstat(file.fileno()).st_size or None if owned else None  # 0 also of what is no plain file
        self._over = b""  # what the file gave beyond what it was asked for

    def into(self, room: NDArray[np.uint8]) -> int:
        data = self._over or self._next(room)
        if isinstance(data, int):
            return data
        count = min(len(data), room.size)
        room[:count] = np.frombuffer(data[:count], np.uint8)
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


class _Ahead:
    """A reader whose first bytes were read already."""

    def __init__(self, head: bytes, rest: ByteReader) -> None:
        self._head, self._rest, self.size = head, rest, rest.size

    def into(self, room: NDArray[np.uint8]) -> int:
        if not self._head:
            return self._rest.into(room)
        count = min(len(self._head), room.size)
        room[:count] = np.frombuffer(self._head[:count], np.uint8)
        self._head = self._head[count:]
        return count

    def close(self) -> None:
        self._rest.close()


class _Recoded:
    """Another encoding, as UTF-8."""

    def __init__(self, rest: ByteReader, encoding: str, source: str | None) -> None:
        self._rest, self._encoding, self._source = rest, encoding, source
        self.size: int | None = None
        self._decoder = codecs.getincrementaldecoder(encoding)("strict")
        self._ready, self._ended, self._done = b"", False, 0

    def into(self, room: NDArray[np.uint8]) -> int:
        while not self._ready and not self._ended:
            piece = np.empty(min(max(room.size, 64), 1 << 20), np.uint8)
            count = self._rest.into(piece)
            self._ended = count == 0
            try:
                self._ready = self._decoder.decode(piece[:count].tobytes(), self._ended).encode("utf-8")
            except UnicodeError as error:
                reason = error.reason if isinstance(error, UnicodeDecodeError | UnicodeEncodeError) else str(error)
                raise DataError(
                    f"not {self._encoding}, near byte {self._done + getattr(error, 'start', 0)}: {reason}",
                    source=self._source,
                    fix=Message("say how it is really written: ", Option("encoding")),
                ) from error
            self._done += count
        count = min(len(self._ready), room.size)
        room[:count] = np.frombuffer(self._ready[:count], np.uint8)
        self._ready = self._ready[count:]
        return count

    def close(self) -> None:
        self._rest.close()


def open_source(source: ByteSource, name: str | None) -> tuple[ByteReader, str | None]:
    """A reader of bytes as they are, unpacked if they are compressed, and what to call them."""
    reader, name = _opened(source, name)
    whole = reader
    if isinstance(reader, _Held):
        head = reader.head(LONGEST_MARK)
    else:
        head = _first(reader, LONGEST_MARK)
        whole = _Ahead(head, reader)
    try:
        kind = packing(head, name)
    except DataError:
        reader.close()
        raise
    return (whole if kind is None else Unpacked(whole, kind, name)), name


def _first(reader: ByteReader, count: int) -> bytes:
    room, filled = np.empty(count, np.uint8), 0
    while filled < count and (more := reader.into(room[filled:])):
        filled += more
    return room[:filled].tobytes()


def _opened(source: ByteSource, name: str | None) -> tuple[ByteReader, str | None]:
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        try:
            return _File(open(path, "rb", buffering=0), name or path, owned=True), name or path
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            fix = "a document itself is given as bytes" if isinstance(path, str) and "<" in path else None
            raise DataError(f"cannot be read: {reason}", source=name or str(path)[:200], fix=fix) from error
    if isinstance(source, np.ndarray):
        if source.dtype != np.uint8 or source.ndim != 1:
            raise DataError("an array of bytes must be flat and of type uint8", source=name)
        return _Held(source), name
    if isinstance(source, bytes | bytearray | memoryview):
        return _Held(np.frombuffer(source, np.uint8)), name
    if callable(getattr(source, "read", None)):
        return _File(source, name or _name_of(source), owned=False), name or _name_of(source)
    raise DataError(
        f"a document cannot be read from {type(source).__name__}",
        source=name,
        fix="give bytes, a path, or a file that is open for reading bytes; many documents as an Arrow column",
    )


def _name_of(file: Any) -> str | None:
    name = getattr(file, "name", None)
    return name if isinstance(name, str) else None


def to_utf8(reader: ByteReader, encoding: str | None, source: str | None) -> ByteReader:
    """The same document in UTF-8, without a byte order mark."""
    head = _head(reader)
    mark, marked = next(((mark, name) for mark, name in _MARKS if head.startswith(mark)), (b"", None))
    found = _NAMED.match(head, len(mark))
    declared = (found[1] or found[2] or b"").decode("latin-1") if found else None
    if encoding is not None:
        chosen = _known(encoding, source)
        if marked != chosen and not (marked and chosen in ("utf-16", "utf-32")):
            mark = b""
        elif marked:
            chosen = marked
    elif marked is not None:
        chosen = marked
        if declared is not None and _known(declared, source) != chosen:
            raise _disagree(f"the document begins with the mark of {marked}", declared, marked, source)
    else:
        chosen = next((name for start, name in _UNMARKED if head.startswith(start)), "utf-8")
        if declared is not None:
            chosen = _known(declared, source)
            if chosen.startswith(("utf-16", "utf-32")):
                raise _disagree("the document is in another encoding", declared, "utf-8", source)
    rest = _Ahead(head[len(mark) :], reader)
    return rest if chosen == "utf-8" else _Recoded(rest, chosen, source)


def _head(reader: ByteReader) -> bytes:
    """The first bytes, as many as it takes to know how the rest is written."""
    room, count = np.empty(_HEAD, np.uint8), 0
    while count < _HEAD:
        more = reader.into(room[count:])
        count += more
        if not more or (count >= 8 and (not room[:8].tobytes().lstrip(codecs.BOM_UTF8).startswith(b"<?xml"))):
            break
        if b"?>" in room[:count].tobytes():
            break
    return room[:count].tobytes()


def _disagree(fact: str, declared: str, real: str, source: str | None) -> DataError:
    return DataError(
        f"the declaration says encoding={declared!r}, but {fact}",
        source=source,
        fix=Message("say which is right, as in ", Option("encoding", real)),
    )


def _known(encoding: str, source: str | None) -> str:
    """The codec's own name of an encoding that holds text, in which ASCII is ASCII unless it is UTF-16 or UTF-32."""
    try:
        info = codecs.lookup(encoding)
        name = {"utf_8_sig": "utf-8", "utf-8-sig": "utf-8"}.get(info.name, info.name)
        wide = name.startswith(("utf-16", "utf-32"))
        decode = codecs.getincrementaldecoder(name)("strict").decode
        if wide or all(decode(probe, True) == probe.decode("ascii") for probe in _PROBES):
            return name
    except (LookupError, ValueError, TypeError, AttributeError):
        pass
    raise DataError(
        f"the encoding {encoding!r} is not known",
        source=source,
        fix=Message("convert the document to UTF-8, or say how it is really written: ", Option("encoding")),
    )
