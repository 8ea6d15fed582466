"""XML's characters as bytes of UTF-8, eight at a time where that is possible.

A word is eight bytes of the buffer, the first one lowest. `below` and `equal` mark bytes of a word with their highest
bit; the lowest mark is always right, those above it need not be. Every buffer ends with `PAD` zero bytes that are not
part of the document, so that each loop stops there by itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.jit import kernel

PAD = 16
_ONES = np.uint64(0x0101010101010101)
HIGHS = np.uint64(0x8080808080808080)
_SPACES = np.uint64(0x20) * _ONES
_PRINTED = np.uint64(0x21) * _ONES
_FOURS = np.uint64(0xFC) * _ONES
_ONE, _SEVEN, _LAST = np.uint64(1), np.uint64(7), np.uint64(56)
_B1, _B2, _B3, _B4, _B5, _B6, _B7 = (np.uint64(byte) for byte in range(1, 8))
_S1, _S2, _S3, _S4, _S5, _S6 = (np.uint64(8 * byte) for byte in range(1, 7))

TAB, LINE, RETURN, SPACE = 9, 10, 13, 32
MARK, QUOTE, HASH, AND, TICK, DASH, SLASH = 0x21, 0x22, 0x23, 0x26, 0x27, 0x2D, 0x2F
SEMICOLON, LESS, EQUALS, MORE, QUESTION, OPEN_BRACKET, CLOSE_BRACKET = 0x3B, 0x3C, 0x3D, 0x3E, 0x3F, 0x5B, 0x5D
_BLANK = np.uint64(1 << SPACE | 1 << LINE | 1 << TAB | 1 << RETURN)
_SLASHES, _LESSES, _ANDS, _BRACKETS = (np.uint64(c) * _ONES for c in (SLASH, LESS, AND, CLOSE_BRACKET))


@kernel()
def load(buffer: Any, at: Any) -> Any:
    """The eight bytes from `at` on: the compiler makes one load of them."""
    p = np.uint64(at)
    return (
        np.uint64(buffer[p])
        | np.uint64(buffer[p + _B1]) << _S1
        | np.uint64(buffer[p + _B2]) << _S2
        | np.uint64(buffer[p + _B3]) << _S3
        | np.uint64(buffer[p + _B4]) << _S4
        | np.uint64(buffer[p + _B5]) << _S5
        | np.uint64(buffer[p + _B6]) << _S6
        | np.uint64(buffer[p + _B7]) << _LAST
    )


@kernel()
def _equal(word: Any, bytes_: Any) -> Any:
    differ = word ^ bytes_
    return (differ - _ONES) & ~differ & HIGHS


@kernel()
def name_ends(word: Any) -> Any:
    """Marks of the bytes that end a name in a tag: white space, control characters, `/` and `<=>?`."""
    return ((word - _PRINTED) & ~word & HIGHS) | _equal(word, _SLASHES) | _equal(word & _FOURS, _LESSES)


@kernel()
def value_stops(word: Any, quotes: Any) -> Any:
    """Marks of the bytes of an attribute's value to look at: its quote, `<`, `&`, control characters, not ASCII."""
    control = (word - _SPACES) & ~word & HIGHS
    return control | _equal(word, quotes) | _equal(word, _LESSES) | _equal(word, _ANDS) | (word & HIGHS)


@kernel()
def text_stops(word: Any) -> Any:
    """Marks of the bytes of text to look at: `<`, `&`, `]`, control characters, not ASCII."""
    control = (word - _SPACES) & ~word & HIGHS
    return control | _equal(word, _LESSES) | _equal(word, _ANDS) | _equal(word, _BRACKETS) | (word & HIGHS)


@kernel()
def repeated(byte: Any) -> Any:
    return np.uint64(byte) * _ONES


@kernel()
def mask_below(marks: Any) -> Any:
    """All bits of the bytes before the first mark."""
    return ((marks - _ONE) & ~marks) >> _SEVEN


@kernel()
def bytes_in(mask: Any) -> Any:
    """How many bytes a mask covers, below eight."""
    return np.int64(((mask & _ONES) * _ONES) >> _LAST)


@kernel()
def either(byte: Any, one: Any, other: Any) -> Any:
    return (byte == one) | (byte == other)  # `in` would become a loop


@kernel()
def is_space(byte: Any) -> Any:
    return byte <= SPACE and (_BLANK >> np.uint64(byte)) & _ONE != np.uint64(0)


@kernel()
def skip_space(buffer: Any, at: Any) -> Any:
    while is_space(buffer[np.uint64(at)]):
        at += 1
    return at


@kernel()
def decoded(buffer: Any, at: Any) -> Any:
    """The character at `at` and its length in bytes, which is 0 when the bytes are not UTF-8."""
    a = np.int64(buffer[np.uint64(at)])
    if a < 0x80:
        return a, 1
    b = np.int64(buffer[np.uint64(at + 1)])
    if a < 0xC2 or a > 0xF4 or b & 0xC0 != 0x80:
        return a, 0
    if a < 0xE0:
        return (a & 0x1F) << 6 | (b & 0x3F), 2
    c = np.int64(buffer[np.uint64(at + 2)])
    if c & 0xC0 != 0x80:
        return a, 0
    if a < 0xF0:
        code = (a & 0x0F) << 12 | (b & 0x3F) << 6 | (c & 0x3F)
        return code, (0 if code < 0x800 or 0xD800 <= code <= 0xDFFF else 3)
    d = np.int64(buffer[np.uint64(at + 3)])
    code = (a & 0x07) << 18 | (b & 0x3F) << 12 | (c & 0x3F) << 6 | (d & 0x3F)
    return code, (0 if d & 0xC0 != 0x80 or code < 0x10000 or code > 0x10FFFF else 4)


@kernel()
def skip_high(buffer: Any, at: Any) -> Any:
    """Where characters beyond ASCII end; -1 - place when the bytes there are not UTF-8 or no character of XML's."""
    while buffer[np.uint64(at)] >= 0x80:
        code, size = decoded(buffer, at)
        if size == 0 or code == 0xFFFE or code == 0xFFFF:
            return -1 - at
        at += size
    return at


@kernel()
def cut(buffer: Any, at: Any, end: Any) -> Any:
    """Whether bytes that are not UTF-8 at `at` are only the start of a character that goes on after `end`."""
    a = buffer[np.uint64(at)]
    size = 2 if a < 0xE0 else 3 if a < 0xF0 else 4
    if a < 0xC2 or a > 0xF4 or at + size <= end:
        return False
    place = at + 1
    while place < end and buffer[np.uint64(place)] & 0xC0 == 0x80:
        place += 1
    return place >= end


@kernel()
def is_character(code: Any) -> Any:
    """XML 1.0, production 2."""
    if code < 0x20:
        return code in (TAB, LINE, RETURN)
    return code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or 0x10000 <= code <= 0x10FFFF


@kernel()
def _starts_name(code: Any) -> Any:
    """XML 1.0, fifth edition, production 4."""
    if code < 0x80:
        return 97 <= code <= 122 or 65 <= code <= 90 or code == 95 or code == 58
    if code < 0x2000:
        return code >= 0xC0 and code != 0xD7 and code != 0xF7 and not (0x300 <= code <= 0x36F) and code != 0x37E
    if code < 0x10000:
        return (
            0x200C <= code <= 0x200D
            or 0x2070 <= code <= 0x218F
            or 0x2C00 <= code <= 0x2FEF
            or 0x3001 <= code <= 0xD7FF
            or 0xF900 <= code <= 0xFDCF
            or 0xFDF0 <= code <= 0xFFFD
        )
    return code <= 0xEFFFF


@kernel()
def _continues_name(code: Any) -> Any:
    """What production 4a adds."""
    if code < 0x80:
        return 48 <= code <= 57 or code == 45 or code == 46
    return code == 0xB7 or 0x300 <= code <= 0x36F or 0x203F <= code <= 0x2040


@kernel()
def name_fault(buffer: Any, start: Any, end: Any) -> Any:
    """Where the first character stands that a name may not have there; -1: none, so [start, end) is a name."""
    at = start
    while at < end:
        code, size = decoded(buffer, at)
        if size == 0 or not (_starts_name(code) or (at > start and _continues_name(code))):
            return at
        at += size
    return start if at == start else -1
