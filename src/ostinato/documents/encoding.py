"""How a document is encoded: by its mark, its declaration or the user's word. Whatever it is, it is read as UTF-8."""

from __future__ import annotations

import codecs
import re

import numpy as np
from numpy.typing import NDArray

from ostinato.documents.readers import ByteReader, HeadedReader, copy_into
from ostinato.errors import DataError, Message, Option

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
_TELLING = (b"<?xml", *(start for start, _ in _MARKS + _UNMARKED))  # only then is there more to know
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


def to_utf8(reader: ByteReader, encoding: str | None, source: str | None) -> ByteReader:
    """The same document in UTF-8, without a byte order mark."""
    head = _declaration_head(reader)
    if encoding is None and not head.startswith(_TELLING):
        return HeadedReader(head, reader)
    mark, marked = next(((mark, name) for mark, name in _MARKS if head.startswith(mark)), (b"", None))
    found = _NAMED.match(head, len(mark))
    declared = (found[1] or found[2] or b"").decode("latin-1") if found else None
    if encoding is not None:
        chosen = _codec_name(encoding, source)
        if marked != chosen and not (marked and chosen in ("utf-16", "utf-32")):
            mark = b""
        elif marked:
            chosen = marked
    elif marked is not None:
        chosen = marked
        if declared is not None and _codec_name(declared, source) != chosen:
            raise _disagree(f"the document begins with the mark of {marked}", declared, marked, source)
    else:
        chosen = next((name for start, name in _UNMARKED if head.startswith(start)), "utf-8")
        if declared is not None:
            chosen = _codec_name(declared, source)
            if chosen.startswith(("utf-16", "utf-32")):
                raise _disagree("the document is in another encoding", declared, "utf-8", source)
    rest = HeadedReader(head[len(mark) :], reader)
    return rest if chosen == "utf-8" else _Decoder(rest, chosen, source)


def _declaration_head(reader: ByteReader) -> bytes:
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


def _codec_name(encoding: str, source: str | None) -> str:
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


class _Decoder:
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
        count = copy_into(self._ready, room)
        self._ready = self._ready[count:]
        return count

    def close(self) -> None:
        self._rest.close()
