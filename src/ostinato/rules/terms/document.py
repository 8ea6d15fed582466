"""A text that holds an event's data, JSON or XML, as a term."""

from __future__ import annotations

import json

from ostinato.errors import DataError
from ostinato.rules.terms.data import MAX_DEPTH, DataTerm, from_json
from ostinato.rules.terms.xml import parse_xml


def parse_document(text: str, label: str) -> DataTerm:
    """The term of a JSON object, which gets this label, or of an XML document, whose label is that of its root."""
    text = text.removeprefix("\ufeff")
    begin = text.lstrip(" \t\r\n")
    if begin.startswith("{"):
        return from_json(label, _read_json(text))
    if begin.startswith("<"):  # nothing may stand before an XML declaration, and nothing need follow one
        return parse_xml(begin if begin.startswith("<?xml") else text)
    shown = f"it begins with {begin[:20]!r}" if begin else "it is empty"
    raise DataError(f"not a document: {shown}", fix="give a JSON object {…} or an XML element <…>")


def _read_json(text: str) -> object:
    try:
        read: object = json.loads(text)
        if "\\u" in text:
            json.dumps(read, ensure_ascii=False).encode()  # an escape can be half of a surrogate pair, which is no text
    except json.JSONDecodeError as error:
        raise DataError(f"bad JSON at line {error.lineno}, column {error.colno}: {error.msg}") from error
    except RecursionError as error:
        raise DataError(f"a value is nested more than {MAX_DEPTH} deep", fix="flatten it, or leave it out") from error
    except ValueError as error:
        raise DataError(f"bad JSON: {error}") from error
    return read
