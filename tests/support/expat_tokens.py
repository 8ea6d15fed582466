"""The same tokens from the standard library's parser: an order of magnitude slower, and the whole document in memory.

It is there to check `XmlSource` against, and in case that ever fails on a document that is well-formed.
"""

from __future__ import annotations

import re
from typing import Any, Literal
from xml.parsers import expat

import numpy as np

from ostinato.documents.byte_source import ByteSource, open_source
from ostinato.documents.encoding import to_utf8
from ostinato.documents.names import NameTable
from ostinato.documents.tokens import ATTR, CLOSE, OPEN, TEXT, Tokens
from ostinato.errors import DataError, Message, Option

_TAG = re.compile(rb"""<[^\s/>]+(?:\s+[^\s=]+\s*=\s*(?:"[^"]*"|'[^']*'))*\s*(/?)>""")


class ExpatSource:
    """A TokenSource of an XML document: one `Tokens`, whose values all stand behind `used`."""

    def __init__(
        self,
        source: ByteSource,
        *,
        doctype: Literal["refuse", "skip"] = "refuse",
        encoding: str | None = None,
        name: str | None = None,
    ) -> None:
        raw, self._name = open_source(source, name)
        reader = to_utf8(raw, encoding, self._name)
        pieces, room = [], np.empty(1 << 20, np.uint8)
        while count := reader.into(room):
            pieces.append(room[:count].tobytes())
        reader.close()
        self._document = b"".join(pieces)
        self._refuses = doctype == "refuse"
        self.names = NameTable()
        self._tokens: list[tuple[int, int, int, int]] = []
        self._behind = bytearray()
        self._text: list[str] = []
        self._empty: list[bool] = []  # of each open element: whether it is written as <a/>
        self._done = False

    def read(self, keep_from: int) -> Tokens | None:
        """All tokens, then None."""
        if self._done:
            return None
        self._done = True
        self._parse()
        buffer = np.frombuffer(self._document + self._behind, np.uint8)
        kind, name, start, end = np.array(self._tokens, np.int32).reshape(-1, 4).T.copy()
        return Tokens(buffer, kind.astype(np.uint8), name, start, end, len(self._document))

    def _parse(self) -> None:
        parser = self._parser = expat.ParserCreate("utf-8")
        parser.ordered_attributes = parser.specified_attributes = True
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._text.append
        parser.CommentHandler = lambda _: self._flush()
        parser.ProcessingInstructionHandler = lambda *_: self._flush()
        parser.StartDoctypeDeclHandler = self._doctype
        parser.EntityDeclHandler = self._entity
        try:
            parser.Parse(self._document, True)
        except expat.ExpatError as error:
            raise DataError(
                f"line {error.lineno}, column {error.offset + 1}: {expat.ErrorString(error.code)}", source=self._name
            ) from error

    def _doctype(self, *_: Any) -> None:
        if self._refuses:
            raise DataError(
                "the document has a DOCTYPE",
                source=self._name,
                fix=Message(Option("doctype", "skip"), " passes over it"),
            )

    def _entity(self, *_: Any) -> None:
        raise DataError("the DOCTYPE declares entities, which are never expanded", source=self._name)

    def _start(self, name: str, attributes: list[str]) -> None:
        self._flush()
        at = self._parser.CurrentByteIndex
        tag = _TAG.match(self._document, at)
        self._empty.append(tag is not None and tag[1] == b"/")
        text = name.encode()
        self._tokens.append((OPEN, self.names.id_of(text), at, at + 1 + len(text)))
        for key, value in zip(attributes[::2], attributes[1::2], strict=True):
            self._put(ATTR, self.names.id_of(key.encode()), value)

    def _end(self, name: str) -> None:
        self._flush()
        at = self._parser.CurrentByteIndex
        start, end = (at - 2, at) if self._empty.pop() else (at, self._document.index(b">", at) + 1)
        self._tokens.append((CLOSE, self.names.id_of(name.encode()), start, end))

    def _flush(self) -> None:
        """The text since the last tag, comment or instruction."""
        if self._text:
            self._put(TEXT, -1, "".join(self._text))
            self._text.clear()

    def _put(self, kind: int, name: int, value: str) -> None:
        start = len(self._document) + len(self._behind)
        self._behind += value.encode()
        self._tokens.append((kind, name, start, len(self._document) + len(self._behind)))
