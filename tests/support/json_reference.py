"""A slow and obvious JSON → token mapping over the standard library, to test the scanner against."""

from __future__ import annotations

import json
from typing import Any

from ostinato.documents.json.tokeniser import JsonSource

Token = tuple[str, str, str]  # kind, name, value


class Number(str):
    """A number as it is written."""


class Pairs(list[tuple[str, Any]]):
    """An object with the order of its members."""


def _pairs(pairs: list[tuple[str, Any]]) -> Pairs:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key stands twice")
    return Pairs(pairs)


def _refuse(name: str) -> Any:
    raise ValueError(name)


def loads(text: bytes) -> Any:
    """Strict: a ValueError for what RFC 8259 or the mapping does not allow."""
    decoded = text.decode("utf-8")
    value = json.loads(decoded, object_pairs_hook=_pairs, parse_int=Number, parse_float=Number, parse_constant=_refuse)
    json.dumps(value, ensure_ascii=False).encode("utf-8")  # fails for half a surrogate pair
    return value


def _scalar(value: Any) -> str:
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)


def element(name: str, value: Any, item: str = "item") -> list[Token]:
    tokens: list[Token] = []
    if isinstance(value, Pairs):
        for key, member in value:
            if isinstance(member, Pairs):
                tokens += element(key, member)
            elif isinstance(member, list):
                for each in member:
                    tokens += element(key, each)
        scalars = [(key, member) for key, member in value if member is not None and not isinstance(member, list)]
        tokens[:0] = [("attr", key, _scalar(member)) for key, member in scalars]
    elif isinstance(value, list):
        for each in value:
            tokens += element(item, each)
    elif value is not None and value != "":
        tokens = [("text", "", _scalar(value))]
    return [("open", name, ""), *tokens, ("close", name, "")]


def document(text: bytes, root: str = "json", record: str = "item") -> list[Token]:
    return element(root, loads(text.removeprefix(b"\xef\xbb\xbf")), record)


def lines(text: bytes, root: str = "json", record: str = "item") -> list[Token]:
    found = [line for line in text.removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip(b" \t\r")]
    return [
        ("open", root, ""),
        *(token for line in found for token in element(record, loads(line))),
        ("close", root, ""),
    ]


_KINDS = ("open", "attr", "text", "close")


def drain(source: JsonSource, *, keep: bool = False) -> tuple[list[Token], list[bytes]]:
    """All tokens of a source, and the text of each element in the order in which they close.

    With `keep` nothing of the buffer is ever given up, else what an open element needs is kept from its start on only
    while it is not the root.
    """
    tokens: list[Token] = []
    written: list[bytes] = []
    opened: list[int] = []
    keep_from = 0
    while (found := source.read(keep_from)) is not None:
        opened = [start - keep_from for start in opened]
        data = found.buffer.tobytes()
        for kind, name, start, end in zip(found.kind, found.name, found.start, found.end, strict=True):
            value = data[start:end].decode() if kind in (1, 2) else ""
            tokens.append((_KINDS[kind], source.names.texts[name].decode() if name >= 0 else "", value))
            if kind == 0:
                opened.append(int(start))
            elif kind == 3:
                first = opened.pop()
                if first >= 0:
                    written.append(data[first:end])
        keep_from = 0 if keep else found.used
    return tokens, written
