"""The values of attributes and text that differ from what is written: references, line ends, CDATA sections.

What is resolved is never longer than what is written, so there is room for it once there is room for that.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.jit import subroutine
from ostinato.core.jit.types import boolean, int64
from ostinato.documents.kernels.utf8 import (
    AND,
    CHARACTERS,
    CLOSE_BRACKET,
    HASH,
    LESS,
    LINE,
    MORE,
    ONES,
    PAIR,
    RETURN,
    SEMICOLON,
    SPACE,
    TAB,
    byte,
    bytes_in,
    is_within,
    load,
    mask_below,
    name_fault,
    put_character,
    skip_high,
    stops,
)
from ostinato.documents.xml.kernels.markup import bad_byte
from ostinato.documents.xml.kernels.state import (
    BAD_CODE,
    BAD_REFERENCE,
    BARE_AND,
    LESS_IN_VALUE,
    SCAN,
    UNKNOWN_ENTITY,
    XmlScan,
    note_fault,
)

_ZERO = np.uint64(0)
_MOST_CODE = 0x10FFFF
# The five entities that need no declaration, as words, and how many bits of them count.
_ENTITIES = [(b"&lt;", b"<"), (b"&gt;", b">"), (b"&amp;", b"&"), (b"&quot;", b'"'), (b"&apos;", b"'")]
_WORDS = np.array([int.from_bytes(text, "little") for text, _ in _ENTITIES], np.uint64)
_MASKS = np.array([(1 << 8 * len(text)) - 1 for text, _ in _ENTITIES], np.uint64)
_SIZES = np.array([len(text) for text, _ in _ENTITIES], np.int64)
_MEANT = np.array([ord(meant) for _, meant in _ENTITIES], np.int64)


@subroutine(PAIR(SCAN, int64, int64))
def _numbered(scan: XmlScan, at: Any, end: Any) -> Any:
    """The character that the reference `&#...;` at `at` stands for, and where it ends; -1 when it is wrong."""
    buffer = scan.buffer
    base = 16 if byte(buffer, at + 2) == 120 else 10
    first = at + 3 if base == 16 else at + 2
    code, place = 0, first
    while place < end:
        found = byte(buffer, place)
        digit = found - 48 if found <= 57 else (found | 32) - 87
        if digit < 0 or digit >= base or (found > 57 and digit < 10):
            break
        code = min(code * base + digit, _MOST_CODE + 1)
        place += 1
    if place == first or place >= end or byte(buffer, place) != SEMICOLON:
        return note_fault(scan, BAD_REFERENCE, at), at
    if not is_within(CHARACTERS, code):
        return note_fault(scan, BAD_CODE, at), at
    return code, place + 1


@subroutine(PAIR(SCAN, int64, int64))
def _named(scan: XmlScan, at: Any, end: Any) -> Any:
    """As `_numbered`, for an entity."""
    word = load(scan.buffer, at)
    for entity in range(_WORDS.size):
        if word & _MASKS[entity] == _WORDS[entity]:
            return _MEANT[entity], at + _SIZES[entity]
    place = at + 1
    while place < end and byte(scan.buffer, place) != SEMICOLON:
        place += 1
    named = place < end and name_fault(scan.buffer, at + 1, place) < 0
    return note_fault(scan, UNKNOWN_ENTITY if named else BARE_AND, at), at


@subroutine(int64(SCAN, int64, int64, int64, boolean))
def resolve_references(scan: XmlScan, at: Any, end: Any, out: Any, text: Any) -> Any:
    """Write what [at, end) stands for from `out` on; where it ends, or -1 when a reference is wrong.

    In text, lines end in line feeds and CDATA sections are taken as they are; in the value of an attribute all white
    space that is written as such is a space.
    """
    buffer = scan.buffer
    raw = False  # in a CDATA section
    while at < end:
        found = byte(buffer, at)
        if found == AND and not raw:
            if byte(buffer, at + 1) == HASH:
                found, at = _numbered(scan, at, end)
            else:
                found, at = _named(scan, at, end)
            if found < 0:
                return -1
            out = put_character(buffer, out, found)
            continue
        if found == LESS and not raw:  # only a CDATA section can begin here
            raw = True
            at += 9
            continue
        if raw and found == CLOSE_BRACKET and byte(buffer, at + 1) == CLOSE_BRACKET and byte(buffer, at + 2) == MORE:
            raw = False
            at += 3
            continue
        at += 1
        if found == RETURN:
            at += at < end and byte(buffer, at) == LINE
            found = LINE
        if not text and (found == LINE) | (found == TAB):
            found = SPACE
        buffer[np.uint64(out)] = found
        out += 1
    return out


@subroutine(PAIR(SCAN, int64, int64))
def value_run(scan: XmlScan, at: Any, quote: Any) -> Any:
    """Where the quote is that ends a value, and whether the value differs from what is written; -1 when it is wrong."""
    buffer = scan.buffer
    quotes = np.uint64(quote) * ONES
    differs = 0
    while True:
        marks = stops(load(buffer, at), quotes)
        if marks == _ZERO:
            at += 8
            continue
        at += bytes_in(mask_below(marks))
        found = byte(buffer, at)
        if found == quote:
            return at, differs
        if (found == AND) | (found == LINE) | (found == TAB) | (found == RETURN):
            differs = 1
            at += 1
        elif found >= 0x80:
            place = skip_high(buffer, at)
            if place < 0:
                return bad_byte(scan, -1 - place), differs
            at = place
        elif found == LESS:
            return note_fault(scan, LESS_IN_VALUE, at), differs
        else:
            return bad_byte(scan, at), differs
