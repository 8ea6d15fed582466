"""XML documents as tokens, chunk by chunk, in memory bounded by the size of a chunk and of the largest token."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Literal

import numpy as np

from ostinato.documents.kernels.utf8 import PAD
from ostinato.documents.names import NameTable
from ostinato.documents.read import DECLARATION, ByteSource, open_source, to_utf8
from ostinato.documents.tokens import Tokens
from ostinato.documents.xml.kernels.lines import count_lines
from ostinato.documents.xml.kernels.scan import scan
from ostinato.documents.xml.kernels.state import (
    AT,
    COUNT,
    DEPTH,
    DOCTYPE,
    FAULT,
    FULL,
    LONG_NAME,
    MANY_ATTRIBUTES,
    MOST,
    NEEDS_BYTES,
    NEEDS_NAMES,
    NEEDS_STACK,
    NO_ROOT,
    OUT,
    REFUSED,
    ROOT,
    SKIPPED,
    STATE_SIZE,
    TEXTS,
    WHERE,
    WRONG,
)  # fmt: skip
from ostinato.documents.xml.messages import Place, explain, truncated
from ostinato.documents.xml.namespaces import Namespaces
from ostinato.errors import DataError, Limit, LimitError, Message, OstinatoError

_LARGEST = (1 << 31) - (1 << 20)  # bytes of a buffer: offsets have 32 bits


@dataclass(frozen=True)
class XmlLimits:
    """What a document may ask for at most."""

    depth: int = 10_000  # elements in one another
    token: int = 64 << 20  # bytes of a tag, a text, a comment
    attributes: int = 10_000  # of one element
    names: int = 1_000_000  # different ones
    name: int = 64 << 10  # bytes of one


class XmlSource:
    """A TokenSource of an XML document.

    `doctype="skip"` passes over a DOCTYPE, of which nothing is ever read or expanded. `text=False` leaves text out, and
    `attributes` names the only ones to hand on; what is left out is still checked. `names` get the
    first numbers. With `namespaces`, prefixes and what they stand for, names have those prefixes (see `Namespaces`).
    `name` is what errors call the document.

    The arrays of a `Tokens` are used again by the next `read`. After `read(keep_from)`, what stood at offset x of the
    buffer before, for keep_from <= x < used, stands at x - `moved`.
    """

    def __init__(
        self,
        source: ByteSource,
        *,
        doctype: Literal["refuse", "skip"] = "refuse",
        encoding: str | None = None,
        text: bool = True,
        chunk_size: int = 4 << 20,
        limits: XmlLimits | None = None,
        attributes: Iterable[bytes] | None = None,
        names: Iterable[bytes] = (),
        namespaces: Mapping[str, str] | None = None,
        name: str | None = None,
    ) -> None:
        self.limits = limits or XmlLimits()
        self.moved = 0
        self._raw, self._name = open_source(source, name)
        self._encoding = encoding
        self._chunk = max(1, min(chunk_size, _LARGEST // 8, (self._raw.size or chunk_size) + 1))
        most, longest = self.limits.names, self.limits.name
        self.names = self._written = NameTable(names, wanted=attributes, most=most, longest=longest)
        self._namespaces: Namespaces | None = None
        if namespaces is not None:
            self._written = NameTable(most=most, longest=longest)
            self._namespaces = Namespaces(namespaces, self._written, self.names)
        self._state = np.zeros(STATE_SIZE, np.int64)
        self._state[DOCTYPE] = SKIPPED if doctype == "skip" else REFUSED
        self._state[TEXTS], self._state[MOST] = text, self.limits.attributes
        self._stack = np.zeros(min(64, self.limits.depth), np.int32)
        self._buffer = np.zeros(2 * self._chunk + 8 * PAD, np.uint8)
        self._filled = 0
        self._begun = self._ended = False
        self._place = Place(1, 1)  # of the buffer's first byte
        self._failure: OstinatoError | None = None
        self._sized(max(1 << 10, min(self._chunk // 4, 1 << 20)))

    def _sized(self, tokens: int) -> None:
        self._kind = np.zeros(tokens, np.uint8)
        self._named, self._from, self._to = (np.zeros(tokens, np.int32) for _ in range(3))

    def __enter__(self) -> XmlSource:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, if it was opened here. Reading to the end does so too."""
        self._raw.close()

    def read(self, keep_from: int) -> Tokens | None:
        """The next tokens, or None at the end of the document. What is wrong is told after the tokens before it."""
        if self._failure is not None:
            self.close()
            raise self._failure
        try:
            self._drop(min(keep_from, int(self._state[AT])))
            if not self._begun:
                self._begin()
            found = self._scan()
        except OstinatoError as error:
            self.close()
            self._failure = error
            raise
        if found is None:
            self.close()
        return found

    def _drop(self, count: int) -> None:
        """Forget bytes at the front."""
        self.moved = count
        if not count:
            return
        self._place = self._place.after(*count_lines(self._buffer, 0, count))
        left = self._filled - count
        self._buffer[:left] = self._buffer[count : self._filled]
        self._filled = left
        self._state[AT] -= count

    def _scan(self) -> Tokens | None:
        state = self._state
        self._reset()
        while True:
            status = self._run()
            if status == FULL and not state[COUNT]:
                self._sized(2 * self._kind.size)
            elif status == NEEDS_NAMES:
                if self._written.full:
                    raise self._limit("names", "there are too many different names", int(state[AT]))
                self._written.grow()
            elif status == NEEDS_STACK:
                self._deepen()
            elif status == WRONG:
                self._failure = self._explained()
                if not state[COUNT]:
                    raise self._failure
            if state[COUNT] and status in (FULL, WRONG, NEEDS_BYTES):
                return self._tokens()
            if status == NEEDS_BYTES and not self._more():
                return None

    def _reset(self) -> None:
        """Ready for tokens: where bytes end there are zeros, and behind them room for what is resolved."""
        self._buffer[self._filled : self._filled + PAD] = 0
        self._state[COUNT], self._state[OUT] = 0, self._filled + PAD

    def _run(self) -> int:
        names = self._written
        status: int = scan(
            self._buffer, self._filled, self._state, self._kind, self._named, self._from, self._to, self._stack,
            names.seen, names.table, names.words, names.first, names.sizes, names.wanted, names.seeds, names.state,
        )  # fmt: skip
        return status

    def _tokens(self) -> Tokens:
        count = int(self._state[COUNT])
        if self._namespaces is not None:
            count, fault = self._namespaces.apply(self._buffer, count, self._kind, self._named, self._from, self._to)
            if fault is not None:
                self._failure = self._error(*fault)
                if not count:
                    raise self._failure
        self.names.sync()
        return Tokens(
            self._buffer,
            self._kind[:count],
            self._named[:count],
            self._from[:count],
            self._to[:count],
            int(self._state[AT]),
        )

    def _more(self) -> bool:
        """More bytes, after those that no token was made of; False at the end of a document that is whole.

        A token that goes on is looked at again only when there is twice as much of it.
        """
        carried = self._filled - int(self._state[AT])
        wanted = max(self._chunk, carried)
        if carried > self.limits.token:
            raise self._limit("token", "a tag, text or comment is too large", int(self._state[AT]))
        got = self._fill(wanted)
        if got:
            self._reset()
            return True
        if carried == 0 and self._state[DEPTH] == 0 and self._state[ROOT] != NO_ROOT:
            return False
        at, depth = int(self._state[AT]), int(self._state[DEPTH])
        raise self._error(*truncated(self._buffer[: self._filled], at, depth, self._opened()))

    def _fill(self, wanted: int) -> int:
        """Read at least a part of `wanted` bytes more, and as many as can be had at once."""
        if self._ended:
            return 0
        need = self._filled + wanted
        if 2 * need + 2 * PAD > self._buffer.size:
            self._widen(max(2 * need + 2 * PAD, min(2 * self._buffer.size, _LARGEST)))
        got = 0
        while got < wanted:
            count = self._reader.into(self._buffer[self._filled : self._filled + wanted - got])
            if not count:
                self._ended = True
                break
            got += count
            self._filled += count
            if self._raw.size is None and wanted <= self._chunk:
                break  # of a pipe what there is: more may come much later
        return got

    def _widen(self, size: int) -> None:
        if size > _LARGEST:
            raise LimitError(
                "buffer",
                _LARGEST,
                reason=self.located("more of the document would have to be kept than fits", int(self._state[AT])),
                fix="ask for smaller elements",
            )
        wider = np.zeros(size, np.uint8)
        used = max(self._filled, int(self._state[OUT]))
        wider[:used] = self._buffer[:used]
        self._buffer = wider

    def _deepen(self) -> None:
        if self._stack.size >= self.limits.depth:
            raise self._limit("depth", "elements stand too deep in one another", int(self._state[AT]))
        deeper = np.zeros(min(2 * self._stack.size, self.limits.depth), np.int32)
        deeper[: self._stack.size] = self._stack
        self._stack = deeper

    def _begin(self) -> None:
        """Find out how the document is written, and go behind its XML declaration."""
        self._begun = True
        self._reader = to_utf8(self._raw, self._encoding, self._name)
        while self._fill(self._chunk) and b"?>" not in self._head() and self._filled < 4096:
            pass
        head = self._head()
        if head[:5] == b"<?xml" and head[5:6] in (b" ", b"\t", b"\r", b"\n"):
            declaration = DECLARATION.match(head)
            if not declaration:
                raise self._error(
                    0,
                    "the XML declaration is not correct",
                    "write it as <?xml version='1.0' encoding='utf-8'?>, or leave it out",
                )
            self._state[AT] = declaration.end()

    def _head(self) -> bytes:
        return self._buffer[: min(self._filled, 4096)].tobytes()

    def _opened(self) -> bytes | None:
        """The name of the innermost open element."""
        self._written.sync()
        return self._written.texts[self._stack[self._state[DEPTH] - 1]] if self._state[DEPTH] else None

    def _explained(self) -> OstinatoError:
        where, fault = int(self._state[WHERE]), int(self._state[FAULT])
        if fault == MANY_ATTRIBUTES:
            return self._limit("attributes", "an element has too many attributes", where)
        if fault == LONG_NAME:
            return self._limit("name", "the name of an element or attribute is too long", where)
        return self._error(*explain(fault, self._buffer[: self._filled], where, self._opened()))

    def located(self, what: str, where: int) -> str:
        """What is wrong at an offset of the last buffer, with line and column."""
        place = self._place.after(*count_lines(self._buffer, 0, where))
        return f"line {place.line}, column {place.column}: {what}"

    def _error(self, where: int, what: str, fix: str | None = None) -> DataError:
        return DataError(self.located(what, where), source=self._name, fix=fix)

    def _limit(self, limit: str, what: str, where: int) -> LimitError:
        reason = self.located(what, where)
        return LimitError(
            limit,
            getattr(self.limits, limit),
            reason=f"{self._name}: {reason}" if self._name else reason,
            fix=Message("raise the limit, ", Limit(limit, "XSeqLimits"), ", if the document is meant to be so"),
        )
