"""A document as a tree of nodes in memory (XSeq paper, Definition 5.1), for the declarative evaluator.

Nothing here is shared with the tokenisers: XML is read by expat, JSON by the standard library.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from xml.parsers import expat

from ostinato.errors import DataError


class NodeKind(StrEnum):
    DOCUMENT = "document"  # above the root element
    ELEMENT = "element"
    ATTRIBUTE = "attribute"
    TEXT = "text"


@dataclass(eq=False, repr=False)
class Node:
    """One node. Its position is its place in document order: an element, its attributes, then its children."""

    kind: NodeKind
    name: str = ""  # of an element or attribute, as it is written
    value: str = ""  # of an attribute or text
    parent: Node | None = None
    children: list[Node] = field(default_factory=list)  # elements and texts
    attributes: list[Node] = field(default_factory=list)
    source: str = ""  # an element as it is written
    position: int = 0

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name or self.value!r} at {self.position}>"

    @property
    def elements(self) -> list[Node]:
        return [child for child in self.children if child.kind is NodeKind.ELEMENT]

    @property
    def string(self) -> str:
        """The value of an attribute or text; of an element all the text in it."""
        return self.value + "".join(child.string for child in self.children)

    def attribute(self, name: str) -> str | None:
        return next((node.value for node in self.attributes if node.name == name), None)

    def subtree(self) -> Iterator[Node]:
        """This node and everything below it, in document order."""
        yield self
        yield from self.attributes
        for child in self.children:
            yield from child.subtree()

    def add(self, kind: NodeKind, name: str = "", value: str = "", source: str = "") -> Node:
        node = Node(kind, name, value, self, source=source)
        (self.attributes if kind is NodeKind.ATTRIBUTE else self.children).append(node)
        return node


def _number_nodes(document: Node) -> Node:
    for position, node in enumerate(document.subtree()):
        node.position = position
    return document


# --- XML

_START_TAG = re.compile(rb"""<(?:"[^"]*"|'[^']*'|[^>"'])*>""")
_DECLARED = re.compile(rb"""<\?xml[^>]*?encoding\s*=\s*["']([\w.:-]+)["']""")


def read_xml(data: bytes) -> Node:
    """The document node of an XML text."""
    return _XmlReader(_as_utf8(data)).document()


def _as_utf8(data: bytes) -> bytes:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    else:
        declared = _DECLARED.match(data.removeprefix(codecs.BOM_UTF8))
        encoding = "utf-8-sig" if declared is None else declared.group(1).decode()
    try:
        return data.decode("utf-8-sig" if encoding.lower() == "utf-8" else encoding).encode()
    except (LookupError, UnicodeDecodeError) as error:
        raise DataError(f"the document cannot be read: {error}") from error


class _XmlReader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.top = self.current = Node(NodeKind.DOCUMENT)
        self.text: list[str] = []
        self.ends: list[tuple[int, int | None]] = []  # of each open element: where it starts and, of <a/>, ends

    def document(self) -> Node:
        self.parser = expat.ParserCreate("utf-8")
        self.parser.ordered_attributes = True
        self.parser.StartDoctypeDeclHandler = self._doctype
        self.parser.StartElementHandler = self._open
        self.parser.EndElementHandler = self._close
        self.parser.CharacterDataHandler = self.text.append
        # What stands between two pieces of text makes them two nodes; CDATA does not.
        self.parser.CommentHandler = lambda text: self._end_text()
        self.parser.ProcessingInstructionHandler = lambda target, text: self._end_text()
        try:
            self.parser.Parse(self.data, True)
        except expat.ExpatError as error:
            place = f"line {error.lineno}, column {error.offset + 1}"
            raise DataError(f"not well-formed XML: {expat.ErrorString(error.code)}", source=place) from error
        return _number_nodes(self.top)

    def _doctype(self, *declared: object) -> None:
        raise DataError("a document with a DOCTYPE is not read", source=f"line {self.parser.CurrentLineNumber}")

    def _open(self, name: str, attributes: list[str]) -> None:
        self._end_text()
        start = self.parser.CurrentByteIndex
        tag = _START_TAG.match(self.data, start)
        assert tag is not None
        self.ends.append((start, tag.end() if tag.group().endswith(b"/>") else None))
        self.current = self.current.add(NodeKind.ELEMENT, name)
        for attribute, value in zip(attributes[::2], attributes[1::2], strict=True):
            self.current.add(NodeKind.ATTRIBUTE, attribute, value)

    def _close(self, name: str) -> None:
        self._end_text()
        start, end = self.ends.pop()
        if end is None:
            end = self.data.index(b">", self.parser.CurrentByteIndex) + 1
        self.current.source = self.data[start:end].decode()
        assert self.current.parent is not None
        self.current = self.current.parent

    def _end_text(self) -> None:
        if self.text:
            self.current.add(NodeKind.TEXT, value="".join(self.text))
            self.text.clear()


# --- JSON


def read_json(data: bytes | str, *, root: str = "json", record: str = "item", lines: bool = False) -> Node:
    """The document node of a JSON text, or of JSON lines."""
    text = data.decode("utf-8-sig") if isinstance(data, bytes) else data
    document = Node(NodeKind.DOCUMENT)
    reader = _JsonReader(text)
    if lines:
        top = document.add(NodeKind.ELEMENT, root, source=text)
        for line in re.finditer(r"[^\n]*\S[^\n]*", text):
            reader.element(top, record, *reader.only_value(line.start(), line.end()))
    else:
        reader.element(document, root, *reader.only_value(0, len(text)), record=record)
    return _number_nodes(document)


_BLANKS = re.compile(r"[ \t\r\n]*")


class _JsonReader:
    """Finds where values begin and end, so that each can be kept as it is written."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.decoder = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=self._no_constant)

    def element(self, parent: Node, name: str, start: int, end: int, *, record: str = "item") -> None:
        """The value at [start, end) as an element."""
        node = parent.add(NodeKind.ELEMENT, name, source=self.text[start:end])
        if self.text[start] == "{":
            members = list(self._members(start))
            names = [key for key, _, _ in members]
            if repeated := [key for key in names if names.count(key) > 1]:
                raise DataError(f"the key {repeated[0]!r} stands twice in one object", source=self._place(start))
            for key, begin, stop in members:
                if self.text[begin] == "[":
                    for item in self._items(begin):
                        self.element(node, key, *item)
                elif self.text[begin] == "{":
                    self.element(node, key, begin, stop)
                elif (scalar := self._scalar(begin, stop)) is not None:
                    node.add(NodeKind.ATTRIBUTE, key, scalar)
        elif self.text[start] == "[":
            for item in self._items(start):
                self.element(node, record, *item)
        elif scalar := self._scalar(start, end):
            node.add(NodeKind.TEXT, value=scalar)

    def only_value(self, start: int, end: int) -> tuple[int, int]:
        """Where the one value between start and end stands."""
        start = self._skip(start)
        stop = self._end(start)
        if stop > end:
            raise DataError("the line ends before its JSON value does", source=self._place(end))
        if self._skip(stop) < end:
            raise DataError("more text after the JSON value", source=self._place(stop))
        return start, stop

    def _scalar(self, start: int, end: int) -> str | None:
        """A string's text, a number or boolean as it is written; None for null."""
        written = self.text[start:end]
        return None if written == "null" else str(json.loads(written)) if written[0] == '"' else written

    def _members(self, start: int) -> Iterator[tuple[str, int, int]]:
        at = self._skip(start + 1)
        while self.text[at] != "}":
            key, at = self.decoder.raw_decode(self.text, at)
            value = self._skip(self._skip(at) + 1)
            end = self._end(value)
            yield key, value, end
            at = self._next(end)

    def _items(self, start: int) -> Iterator[tuple[int, int]]:
        at = self._skip(start + 1)
        while self.text[at] != "]":
            end = self._end(at)
            yield at, end
            at = self._next(end)

    def _next(self, end: int) -> int:
        """Where the next member begins, or the closing bracket stands."""
        at = self._skip(end)
        return self._skip(at + 1) if self.text[at] == "," else at

    def _skip(self, at: int) -> int:
        blanks = _BLANKS.match(self.text, at)
        return at if blanks is None else blanks.end()

    def _end(self, start: int) -> int:
        try:
            return self.decoder.raw_decode(self.text, start)[1]
        except json.JSONDecodeError as error:
            raise DataError(f"not JSON: {error.msg}", source=self._place(error.pos)) from error

    def _no_constant(self, name: str) -> object:
        raise DataError(f"not JSON: {name} is not a JSON number")

    def _place(self, at: int) -> str:
        line = self.text.count("\n", 0, at) + 1
        return f"line {line}, column {at - self.text.rfind(chr(10), 0, at)}"
