"""XML documents as tokens, chunk by chunk, in memory bounded by the size of a chunk and of the largest token."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ostinato.core.jit import prefetch
from ostinato.documents.byte_source import ByteSource
from ostinato.documents.chunked_source import ChunkedSource, SourceLimits
from ostinato.documents.encoding import DECLARATION
from ostinato.documents.names import NameTable
from ostinato.documents.tokens import Tokens
from ostinato.documents.xml.kernels.doctype import skip_doctype
from ostinato.documents.xml.kernels.lines import count_lines
from ostinato.documents.xml.kernels.scan import scan_tokens
from ostinato.documents.xml.kernels.state import (
    AT,
    AT_DOCTYPE,
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
    PASSED,
    REFUSED,
    ROOT,
    SKIPPED,
    STATE_SIZE,
    TEXTS,
    WHERE,
    WRONG,
    XmlScan,
)  # fmt: skip
from ostinato.documents.xml.messages import explain_fault, explain_truncation
from ostinato.documents.xml.namespaces import Namespaces
from ostinato.errors import OstinatoError

_HEAD = 4096  # bytes that are searched for the end of the declaration


@dataclass(frozen=True, kw_only=True)
class XmlLimits(SourceLimits):
    """What an XML document may ask for at most."""

    token: int = 64 << 20  # bytes of a tag, a text, a comment
    attributes: int = 10_000  # of one element


class XmlSource(ChunkedSource[XmlLimits]):
    """A TokenSource of an XML document.

    `doctype="skip"` passes over a DOCTYPE; nothing in it is ever read or expanded. `text=False` leaves text out, and
    `attributes` names the only ones to hand on; what is left out is still checked. `names` get the
    first numbers. With `namespaces`, prefixes and what they stand for, names have those prefixes (see `Namespaces`).
    `name` is what errors call the document.
    """

    _AT = AT

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
        prefetch(scan_tokens)
        super().__init__(
            source, count_lines, limits or XmlLimits(), name=name, encoding=encoding, chunk_size=chunk_size,
            names=names, attributes=attributes,
        )  # fmt: skip
        self._written = self.names  # names as they are written; with namespaces, `names` has others
        self._namespaces: Namespaces | None = None
        if namespaces is not None:
            self._written = NameTable(most=self.limits.names, longest=self.limits.name)
        self._state = np.zeros(STATE_SIZE, np.int64)
        self._state[DOCTYPE] = SKIPPED if doctype == "skip" else REFUSED
        self._state[TEXTS], self._state[MOST] = text, self.limits.attributes
        tokens = max(1 << 10, min(self._chunk // 4, 1 << 20))
        self._scan = XmlScan(
            buffer=self._buffer.data,
            filled=0,
            state=self._state,
            stack=np.zeros(min(64, self.limits.depth), np.int32),
            names=self._written.arrays,
            kind=np.zeros(tokens, np.uint8),
            spans=np.zeros((3, tokens), np.int32),
        )
        if namespaces is not None:
            self._namespaces = Namespaces(namespaces, self._written, self.names, self._scan)

    def _next(self) -> Tokens | None:
        state = self._state
        self._reset()
        while True:
            status = self._run()
            if status == FULL and not state[COUNT]:
                more = 2 * self._scan.kind.size
                self._scan.update(kind=np.zeros(more, np.uint8), spans=np.zeros((3, more), np.int32))
            elif status == NEEDS_NAMES:
                self._grow_names(self._written, "there are too many different names")
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
        """Ready for tokens: what is resolved goes behind the bytes of the document."""
        self._state[COUNT], self._state[OUT] = 0, self._buffer.room

    def _run(self) -> int:
        self._scan.update(buffer=self._buffer.data, filled=self._buffer.filled)
        status: int = scan_tokens(self._scan)
        while status == AT_DOCTYPE:
            status = skip_doctype(self._scan)
            if status == PASSED:
                status = scan_tokens(self._scan)
        return status

    def _tokens(self) -> Tokens:
        count, found = int(self._state[COUNT]), self._scan
        if self._namespaces is not None:
            count, fault = self._namespaces.apply(count)
            if fault is not None:
                self._failure = self._error(*fault)
                if not count:
                    raise self._failure
        self.names.sync()
        name, start, stop = found.spans[:, :count]
        return Tokens(self._buffer.data, found.kind[:count], name, start, stop, self._at)

    def _more(self) -> bool:
        """More bytes, after those that no token was made of; False at the end of a document that is whole.

        A token that goes on is looked at again only when there is twice as much of it.
        """
        carried = self._buffer.filled - self._at
        if carried > self.limits.token:
            raise self._limit("token", "a tag, text or comment is too large", self._at)
        if self._fill(max(self._chunk, carried)):
            self._reset()
            return True
        depth = int(self._state[DEPTH])
        if carried == 0 and depth == 0 and self._state[ROOT] != NO_ROOT:
            return False
        raise self._error(*explain_truncation(self._text, self._at, depth, self._opened()))

    def _deepen(self) -> None:
        stack = self._scan.stack
        if stack.size >= self.limits.depth:
            raise self._limit("depth", "elements stand too deep in one another", self._at)
        deeper = np.zeros(min(2 * stack.size, self.limits.depth), np.int32)
        deeper[: stack.size] = stack
        self._scan.stack = deeper

    def _begin(self) -> None:
        """Go behind the XML declaration."""
        while self._fill(self._chunk) and b"?>" not in self._head() and self._buffer.filled < _HEAD:
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
        return self._text[:_HEAD].tobytes()

    @property
    def _text(self) -> NDArray[np.uint8]:
        return self._buffer.data[: self._buffer.filled]

    def _opened(self) -> bytes | None:
        """The name of the innermost open element."""
        self._written.sync()
        return self._written.texts[self._scan.stack[self._state[DEPTH] - 1]] if self._state[DEPTH] else None

    def _explained(self) -> OstinatoError:
        where, fault = int(self._state[WHERE]), int(self._state[FAULT])
        if fault == MANY_ATTRIBUTES:
            return self._limit("attributes", "an element has too many attributes", where)
        if fault == LONG_NAME:
            return self._limit("name", "the name of an element or attribute is too long", where)
        return self._error(*explain_fault(fault, self._text, where, self._opened()))
