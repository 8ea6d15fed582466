"""The values of attributes and text that differ from what is written: references, line ends, CDATA sections.

What is resolved is never longer than what is written, so there is room for it once there is room for that.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.jit import inlined, kernel
from ostinato.documents.kernels.utf8 import (
    AND,
    CLOSE_BRACKET,
    HASH,
    LESS,
    LINE,
    MORE,
    RETURN,
    SEMICOLON,
    SPACE,
    TAB,
    bytes_in,
    either,
    is_character,
    load,
    mask_below,
    repeated,
    skip_high,
    value_stops,
)
from ostinato.documents.xml.kernels.markup import bad_byte, failed
from ostinato.documents.xml.kernels.state import (
    BAD_CODE,
    BAD_REFERENCE,
    BARE_AND,
    FAULT,
    LESS_IN_VALUE,
    UNKNOWN_ENTITY,
    WHERE,
)

_ZERO = np.uint64(0)
_MOST_CODE = 0x10FFFF


@kernel()
def _put(buffer: Any, out: Any, code: Any) -> Any:
    """Write a character as UTF-8; where the next one goes."""
    at = np.uint64(out)
    if code < 0x80:
        buffer[at] = code
        return out + 1
    if code < 0x800:
        buffer[at] = 0xC0 | code >> 6
        buffer[np.uint64(out + 1)] = 0x80 | (code & 0x3F)
        return out + 2
    if code < 0x10000:
        buffer[at] = 0xE0 | code >> 12
        buffer[np.uint64(out + 1)] = 0x80 | (code >> 6 & 0x3F)
        buffer[np.uint64(out + 2)] = 0x80 | (code & 0x3F)
        return out + 3
    buffer[at] = 0xF0 | code >> 18
    buffer[np.uint64(out + 1)] = 0x80 | (code >> 12 & 0x3F)
    buffer[np.uint64(out + 2)] = 0x80 | (code >> 6 & 0x3F)
    buffer[np.uint64(out + 3)] = 0x80 | (code & 0x3F)
    return out + 4


@kernel()
def _digit(byte: Any, base: Any) -> Any:
    """The value of a digit, or -1."""
    if 48 <= byte <= 57:
        return byte - 48
    lower = byte | 32
    return lower - 87 if base == 16 and 97 <= lower <= 102 else -1


@kernel()
def _numbered(buffer: Any, at: Any, end: Any, state: Any) -> Any:
    """The character of the reference `&#` that begins at `at`, and where it ends; -1 when it is wrong."""
    place, base = at + 2, 10
    if buffer[np.uint64(place)] == 120:
        place, base = place + 1, 16
    first, code = place, 0
    while True:
        digit = _digit(np.int64(buffer[np.uint64(place)]), base)
        if digit < 0:
            break
        code = min(code * base + digit, _MOST_CODE + 1)
        place += 1
    if place == first or place >= end or buffer[np.uint64(place)] != SEMICOLON:
        state[FAULT], state[WHERE] = BAD_REFERENCE, at
        return -1, at
    if not is_character(code):
        state[FAULT], state[WHERE] = BAD_CODE, at
        return -1, at
    return code, place + 1


@kernel()
def _named(buffer: Any, at: Any, end: Any, state: Any) -> Any:
    """As `_numbered`, for one of the five entities that need no declaration."""
    size = 1
    while at + size < end and buffer[np.uint64(at + size)] != SEMICOLON and size < 6:
        size += 1
    a, b = buffer[np.uint64(at + 1)], buffer[np.uint64(at + 2)]
    c, d = buffer[np.uint64(at + 3)], buffer[np.uint64(at + 4)]
    if at + size < end and buffer[np.uint64(at + size)] == SEMICOLON:
        if size == 3 and b == 116 and a == 108:
            return LESS, at + 4
        if size == 3 and b == 116 and a == 103:
            return MORE, at + 4
        if size == 4 and a == 97 and b == 109 and c == 112:
            return AND, at + 5
        if size == 5 and a == 113 and b == 117 and c == 111 and d == 116:
            return 0x22, at + 6
        if size == 5 and a == 97 and b == 112 and c == 111 and d == 115:
            return 0x27, at + 6
    place = at + 1
    while place < end and (
        buffer[np.uint64(place)] >= 0x80
        or 48 <= buffer[np.uint64(place)] <= 58
        or 97 <= buffer[np.uint64(place)] | 32 <= 122
        or buffer[np.uint64(place)] == 95
        or 45 <= buffer[np.uint64(place)] <= 46
    ):
        place += 1
    named = place > at + 1 and place < end and buffer[np.uint64(place)] == SEMICOLON
    state[FAULT], state[WHERE] = (UNKNOWN_ENTITY if named else BARE_AND), at
    return -1, at


@kernel()
def resolved(buffer: Any, at: Any, end: Any, out: Any, text: Any, state: Any) -> Any:
    """Write what [at, end) stands for from `out` on; where it ends, or -1 when a reference is wrong.

    In text, lines end in line feeds and CDATA sections are taken as they are; in the value of an attribute all white
    space that is written as such is a space.
    """
    while at < end:
        byte: Any = np.int64(buffer[np.uint64(at)])
        if byte == AND:
            if buffer[np.uint64(at + 1)] == HASH:
                byte, at = _numbered(buffer, at, end, state)
            else:
                byte, at = _named(buffer, at, end, state)
            if byte < 0:
                return -1
            out = _put(buffer, out, byte)
            continue
        if byte == LESS:  # only a CDATA section can begin here
            at += 9
            while not (
                buffer[np.uint64(at)] == CLOSE_BRACKET
                and buffer[np.uint64(at + 1)] == CLOSE_BRACKET
                and buffer[np.uint64(at + 2)] == MORE
            ):
                byte = np.int64(buffer[np.uint64(at)])
                at += 1
                if byte == RETURN:
                    at += 1 if buffer[np.uint64(at)] == LINE else 0
                    byte = LINE
                buffer[np.uint64(out)] = byte
                out += 1
            at += 3
            continue
        at += 1
        if byte == RETURN:
            at += 1 if at < end and buffer[np.uint64(at)] == LINE else 0
            byte = LINE
        if not text and (either(byte, LINE, TAB)):
            byte = SPACE
        buffer[np.uint64(out)] = byte
        out += 1
    return out


@inlined
def value_run(buffer: Any, at: Any, quote: Any, end: Any, state: Any) -> Any:
    """Where the quote is that ends a value, and whether the value differs from what is written; -1 when it is wrong."""
    quotes = repeated(quote)
    differs = False
    while True:
        marks = value_stops(load(buffer, at), quotes)
        if marks == _ZERO:
            at += 8
            continue
        at += bytes_in(mask_below(marks))
        byte = buffer[np.uint64(at)]
        if byte == quote:
            return at, differs
        if either(byte, AND, LINE) or either(byte, TAB, RETURN):
            differs = True
            at += 1
        elif byte >= 0x80:
            place = skip_high(buffer, at)
            if place < 0:
                return bad_byte(buffer, -1 - place, end, state), differs
            at = place
        elif byte == LESS:
            return failed(state, LESS_IN_VALUE, at), differs
        else:
            return bad_byte(buffer, at, end, state), differs
