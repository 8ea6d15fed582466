"""XML text as a term: elements are terms, text is a value, and attributes come first, as children `@name`.

Text that reads as a JSON number, `true` or `false` has that type; blanks around text are no part of it. Prefixes of
namespaces stay as they are written. A document type is refused, and with it every entity but XML's own five: a text of
a few lines could otherwise ask for gigabytes, or for a file.
"""

from __future__ import annotations

import re
from typing import NoReturn
from xml.parsers import expat

from ostinato.errors import DataError
from ostinato.rules.terms.data import MAX_DEPTH, Child, DataTerm, Scalar

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_BLANK = " \t\r\n"  # what XML calls white space
_LONGEST_NUMBER = 400  # characters; no number has more, and Python refuses to read a few thousand digits


def parse_xml(text: str) -> DataTerm:
    """The term of the root element."""
    reader = _Reader()
    try:
        reader.parser.Parse(text, True)
    except expat.ExpatError as error:
        _refuse(expat.ErrorString(error.code), error.lineno, error.offset)
    except UnicodeEncodeError as error:  # half of a surrogate pair
        raise DataError(f"bad XML: {error.reason}", fix="write the text in UTF-8") from error
    return reader.root


class _Reader:
    """Keeps the elements that are open: the label of each, and the children read so far."""

    def __init__(self) -> None:
        self.root: DataTerm
        self.open: list[tuple[str, list[Child]]] = []
        self.parser = parser = expat.ParserCreate()
        parser.ordered_attributes = True
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._doctype
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text

    def _doctype(self, *_: object) -> None:
        self._fail("a document type (<!DOCTYPE …>) is not allowed in events")

    def _start(self, label: str, attributes: list[str]) -> None:
        if len(self.open) == MAX_DEPTH:
            self._fail(f"elements are nested more than {MAX_DEPTH} deep")
        pairs = zip(attributes[::2], attributes[1::2], strict=True)
        self.open.append((label, [DataTerm(f"@{name}", (parse_scalar(text),)) for name, text in pairs]))

    def _end(self, _: str) -> None:
        label, children = self.open.pop()
        term = DataTerm(label, tuple(children))
        if self.open:
            self.open[-1][1].append(term)
        else:
            self.root = term

    def _text(self, text: str) -> None:
        if text := text.strip(_BLANK):
            self.open[-1][1].append(parse_scalar(text))

    def _fail(self, reason: str) -> NoReturn:
        _refuse(reason, self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber)


def parse_scalar(text: str) -> Scalar:
    """A number or boolean where the text reads as one of JSON, else the text."""
    if text in ("true", "false"):
        return text == "true"
    number = _NUMBER.fullmatch(text) if len(text) <= _LONGEST_NUMBER else None
    if number is None:
        return text
    return float(text) if number[1] or number[2] else int(text)


def _refuse(reason: str, line: int, column: int) -> NoReturn:
    raise DataError(f"bad XML at line {line}, column {column + 1}: {reason}") from None
