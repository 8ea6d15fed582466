"""XML's characters as bytes of UTF-8, eight at a time where that is possible.

A word is eight bytes of the buffer, the first one lowest. Bytes of a word are marked by their highest bit; the lowest
mark is always right, those above it need not be. Every buffer ends with `PAD` zero bytes that are not
part of the document, so that each loop stops there by itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.jit import array, kernel, subroutine, types, view
from ostinato.core.jit.types import boolean, int64, uint8, uint64

PAD = 16
BYTES = view(uint8)
PAIR = types.results(int64, int64)
ONES = np.uint64(0x0101010101010101)
HIGHS = np.uint64(0x8080808080808080)
_SPACES = np.uint64(0x20) * ONES
_PRINTED = np.uint64(0x21) * ONES
_FOURS = np.uint64(0xFC) * ONES
_ONE, _SEVEN, _LAST = np.uint64(1), np.uint64(7), np.uint64(56)
_B1, _B2, _B3, _B4, _B5, _B6, _B7 = (np.uint64(byte) for byte in range(1, 8))
_S1, _S2, _S3, _S4, _S5, _S6 = (np.uint64(8 * byte) for byte in range(1, 7))

TAB, LINE, RETURN, SPACE = 9, 10, 13, 32
MARK, QUOTE, HASH, AND, TICK, DASH, SLASH = 0x21, 0x22, 0x23, 0x26, 0x27, 0x2D, 0x2F
SEMICOLON, LESS, EQUALS, MORE, QUESTION, OPEN_BRACKET, CLOSE_BRACKET = 0x3B, 0x3C, 0x3D, 0x3E, 0x3F, 0x5B, 0x5D
_BLANK = np.uint64(1 << SPACE | 1 << LINE | 1 << TAB | 1 << RETURN)
_SLASHES, _LESSES, _ANDS, EIGHT_BRACKETS = (np.uint64(c) * ONES for c in (SLASH, LESS, AND, CLOSE_BRACKET))

# Characters of XML 1.0, fifth edition: production 2, all of them; 4, what names begin with; 4a, what is also in them.
CHARACTERS = np.array([0x9, 0xB, 0xD, 0xE, 0x20, 0xD800, 0xE000, 0xFFFE, 0x10000, 0x110000], np.int64)
_STARTS_NAME = np.array(
    [
        0x3A, 0x3B, 0x41, 0x5B, 0x5F, 0x60, 0x61, 0x7B, 0xC0, 0xD7, 0xD8, 0xF7, 0xF8, 0x300, 0x370, 0x37E, 0x37F,
        0x2000, 0x200C, 0x200E, 0x2070, 0x2190, 0x2C00, 0x2FF0, 0x3001, 0xD800, 0xF900, 0xFDD0, 0xFDF0, 0xFFFE,
        0x10000, 0xF0000,
    ],
    np.int64,
)  # fmt: skip
_CONTINUES_NAME = np.array([0x2D, 0x2F, 0x30, 0x3A, 0xB7, 0xB8, 0x300, 0x370, 0x203F, 0x2041], np.int64)
for _bounds in (CHARACTERS, _STARTS_NAME, _CONTINUES_NAME):
    _bounds.flags.writeable = False


@kernel(int64(BYTES, int64))
def byte(buffer: Any, at: Any) -> Any:
    """buffer[at] for an offset that is never negative, which spares a test."""
    return np.int64(buffer[np.uint64(at)])


@subroutine(uint64(BYTES, int64))
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


@subroutine(uint64(uint64))
def name_ends(word: Any) -> Any:
    """Marks of the bytes that end a name in a tag: white space, control characters, `/` and `<=>?`."""
    slashes, fours = word ^ _SLASHES, (word & _FOURS) ^ _LESSES
    return ((word - _PRINTED) & ~word | (slashes - ONES) & ~slashes | (fours - ONES) & ~fours) & HIGHS


@subroutine(uint64(uint64, uint64))
def stops(word: Any, others: Any) -> Any:
    """Marks of the bytes of a value or text to look at: `<`, `&`, control characters, not ASCII, and one more.

    `others` is eight times that one: the quote of an attribute's value, or `]` in text.
    """
    lesses, ands, others = word ^ _LESSES, word ^ _ANDS, word ^ others
    marks = (word - _SPACES) & ~word | (lesses - ONES) & ~lesses | (ands - ONES) & ~ands
    return (marks | (others - ONES) & ~others | word) & HIGHS


@subroutine(uint64(uint64))
def mask_below(marks: Any) -> Any:
    """All bits of the bytes before the first mark."""
    return ((marks - _ONE) & ~marks) >> _SEVEN


@subroutine(int64(uint64))
def bytes_in(mask: Any) -> Any:
    """How many bytes a mask covers, below eight."""
    return np.int64(((mask & ONES) * ONES) >> _LAST)


@subroutine(boolean(int64))
def is_space(byte: Any) -> Any:
    return byte <= SPACE and (_BLANK >> np.uint64(byte)) & _ONE != np.uint64(0)


@subroutine(int64(BYTES, int64))
def skip_space(buffer: Any, at: Any) -> Any:
    while is_space(byte(buffer, at)):
        at += 1
    return at


@subroutine(PAIR(BYTES, int64))
def decode_character(buffer: Any, at: Any) -> Any:
    """The character at `at` and its length in bytes, which is 0 when the bytes are not UTF-8."""
    a = byte(buffer, at)
    if a < 0x80:
        return a, 1
    b = byte(buffer, at + 1)
    if a < 0xC2 or a > 0xF4 or b & 0xC0 != 0x80:
        return a, 0
    if a < 0xE0:
        return (a & 0x1F) << 6 | (b & 0x3F), 2
    c = byte(buffer, at + 2)
    if c & 0xC0 != 0x80:
        return a, 0
    if a < 0xF0:
        code = (a & 0x0F) << 12 | (b & 0x3F) << 6 | (c & 0x3F)
        return code, (0 if code < 0x800 or 0xD800 <= code <= 0xDFFF else 3)
    d = byte(buffer, at + 3)
    code = (a & 0x07) << 18 | (b & 0x3F) << 12 | (c & 0x3F) << 6 | (d & 0x3F)
    return code, (0 if d & 0xC0 != 0x80 or code < 0x10000 or code > 0x10FFFF else 4)


@subroutine(int64(BYTES, int64))
def skip_high(buffer: Any, at: Any) -> Any:
    """Where characters beyond ASCII end; -1 - place when the bytes there are not UTF-8 or no character of XML's."""
    while byte(buffer, at) >= 0x80:
        code, size = decode_character(buffer, at)
        if size == 0 or code == 0xFFFE or code == 0xFFFF:
            return -1 - at
        at += size
    return at


@subroutine(boolean(BYTES, int64, int64))
def cut(buffer: Any, at: Any, end: Any) -> Any:
    """Whether bytes that are not UTF-8 at `at` are only the start of a character that goes on after `end`."""
    a = byte(buffer, at)
    size = 2 if a < 0xE0 else 3 if a < 0xF0 else 4
    if a < 0xC2 or a > 0xF4 or at + size <= end:
        return False
    place = at + 1
    while place < end and byte(buffer, place) & 0xC0 == 0x80:
        place += 1
    return place >= end


@subroutine(boolean(view(int64), int64))
def is_within(bounds: Any, code: Any) -> Any:
    """Whether a character is in one of the ranges that begin and end (not included) at these bounds."""
    passed = 0
    for bound in range(bounds.size):
        passed += code >= bounds[bound]
    return passed & 1 == 1


@kernel(int64(BYTES, int64, int64))
def name_fault(buffer: Any, start: Any, end: Any) -> Any:
    """Where the first character stands that a name may not have there; -1: none, so [start, end) is a name."""
    at = start
    while at < end:
        code, size = decode_character(buffer, at)
        if size == 0 or not (is_within(_STARTS_NAME, code) or (at > start and is_within(_CONTINUES_NAME, code))):
            return at
        at += size
    return start if at == start else -1


@subroutine(int64(array(uint8), int64, int64))
def put_character(buffer: Any, out: Any, code: Any) -> Any:
    """Write a character as UTF-8; where the next one goes."""
    at = np.uint64(out)
    if code < 0x80:
        buffer[at] = code
        return out + 1
    if code < 0x800:
        buffer[at] = 0xC0 | code >> 6
        buffer[at + _B1] = 0x80 | (code & 0x3F)
        return out + 2
    if code < 0x10000:
        buffer[at] = 0xE0 | code >> 12
        buffer[at + _B1] = 0x80 | (code >> 6 & 0x3F)
        buffer[at + _B2] = 0x80 | (code & 0x3F)
        return out + 3
    buffer[at] = 0xF0 | code >> 18
    buffer[at + _B1] = 0x80 | (code >> 12 & 0x3F)
    buffer[at + _B2] = 0x80 | (code >> 6 & 0x3F)
    buffer[at + _B3] = 0x80 | (code & 0x3F)
    return out + 4
