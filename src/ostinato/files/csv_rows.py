"""Finds where the rows of a CSV file end, and quotes that are never closed.

A quote opens a quoted value only at the start of a field; elsewhere it is an ordinary character. In a quoted value,
two quotes stand for one, and a single one closes it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ostinato.core.arrays import Int64

_QUOTE, _NEWLINE, _RETURN = b'"\n\r'
_BODY = re.compile(rb'[^"]*(?:""[^"]*)*')


class UnclosedQuote(NamedTuple):
    """A row with an unclosed quote: its bytes from `start` to `end`, the end of the line of the quote."""

    start: int
    quote: int
    end: int


class CsvRows(NamedTuple):
    """`ends`: the end of each complete row; `unclosed`: rows with an unclosed quote, which end with its line."""

    ends: Int64
    unclosed: list[UnclosedQuote]


def find_rows(data: bytes, separator: str, *, complete: bool) -> CsvRows:
    """The rows of `data`, which starts with one. Unless `data` is `complete`, later data may close a quote."""
    raw = np.frombuffer(data, np.uint8)
    ends = raw == _NEWLINE
    if data.count(b"\r") > data.count(b"\r\n"):  # a lone \r ends a line as well
        ends |= (raw == _RETURN) & np.append(raw[1:] != _NEWLINE, True)
    lines = np.flatnonzero(ends)
    if b'"' not in data:
        return CsvRows(lines + 1, [])
    quotes = np.flatnonzero(raw == _QUOTE)
    if _regular(raw, quotes, ord(separator)):
        outside = lines[np.searchsorted(quotes, lines) % 2 == 0]
        if len(quotes) % 2 == 0 or not complete:
            return CsvRows(outside + 1, [])
    return _one_by_one(data, lines, separator, complete=complete)


def _regular(raw: npt.NDArray[np.uint8], quotes: Int64, separator: int) -> bool:
    """Whether quotes simply open and close in turn: each first one after a separator (or after the quote before it, as
    the second of a pair), each second one before a separator (or a quote)."""
    around = np.zeros(256, bool)
    around[[separator, _NEWLINE, _RETURN, _QUOTE]] = True
    opening, closing = quotes[::2], quotes[1::2]
    before = raw[opening[opening > 0] - 1]
    after = raw[closing[closing + 1 < len(raw)] + 1]
    return bool(around[before].all() and around[after].all())


def _one_by_one(data: bytes, lines: Int64, separator: str, *, complete: bool) -> CsvRows:
    """Go through the values one by one, for misplaced quotes."""
    opener = re.compile(rb"(?:\A|(?<=[\n\r" + re.escape(separator.encode()) + rb']))"')
    inside = np.zeros(len(lines), bool)  # line breaks that are part of a value
    unclosed: list[UnclosedQuote] = []
    at = 0
    while found := opener.search(data, at):
        quote = found.start()
        body = _BODY.match(data, quote + 1)
        assert body is not None
        close = body.end()
        at = close + 1
        if close < len(data) and data.find(b"\n", quote, close) < 0 and data.find(b"\r", quote, close) < 0:
            continue  # within a line, anything may follow the closing quote
        first, last = np.searchsorted(lines, [quote, close])
        if close == len(data) and not complete:
            inside[first:] = True
            break
        # After a value of several lines the field must end: else the quote of a later value has closed one that was
        # left open.
        if close == len(data) or data[at : at + 1] not in (b"", b"\n", b"\r", separator.encode()):
            at = int(lines[first]) + 1 if first < len(lines) else len(data)
            before = first - 1
            while before >= 0 and inside[before]:
                before -= 1
            unclosed.append(UnclosedQuote(int(lines[before]) + 1 if before >= 0 else 0, quote, at))
        else:
            inside[first:last] = True
    return CsvRows(lines[~inside] + 1, unclosed)
