"""Pieces of the JSON scanner: where a string or number ends, and what a string with escapes stands for.

Eight bytes are looked at as one word. In the masks, bit 7 of each byte says whether the byte is one that stops the
scan; the lowest such bit is exact (a borrow can only spoil the bytes after it). The text must be followed by eight
zero bytes, so that no word reaches beyond the buffer and every scan ends there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.jit import array, subroutine
from ostinato.core.jit.types import boolean, int64, uint8, uint64
from ostinato.documents.json.kernels.state import (
    BAD_ESCAPE,
    BAD_HEX,
    BAD_LITERAL,
    BAD_NUMBER,
    BAD_UTF8,
    CONTROL,
    LEADING_ZERO,
    LONE_SURROGATE,
)
from ostinato.documents.kernels.utf8 import BYTES, PAIR, byte, load, put_character

QUOTE, BACKSLASH, COMMA, COLON, MINUS, ZERO, NINE = 0x22, 0x5C, 0x2C, 0x3A, 0x2D, 0x30, 0x39
LEFT_BRACKET, RIGHT_BRACKET, LEFT_BRACE, RIGHT_BRACE = 0x5B, 0x5D, 0x7B, 0x7D
LETTER_F, LETTER_N, LETTER_T, LETTER_U = 0x66, 0x6E, 0x74, 0x75

_ONES = np.uint64(0x0101010101010101)
_TOPS = np.uint64(0x8080808080808080)
_LOWS = np.uint64(0x7F7F7F7F7F7F7F7F)
_QUOTES = np.uint64(0x2222222222222222)
_BACKSLASHES = np.uint64(0x5C5C5C5C5C5C5C5C)
_BLANKS = np.uint64(0x2020202020202020)
_ZEROS = np.uint64(0x3030303030303030)
_NOT_DIGITS = np.uint64(0x7676767676767676)
_PLACES = np.uint64(0x0001020304050607)
_ESCAPED = np.full(256, -1, np.int64)  # the character that a backslash and a letter stand for
_ESCAPED[[QUOTE, BACKSLASH, *b"/bfnrt"]] = [QUOTE, BACKSLASH, *b"/\b\f\n\r\t"]
FAULT = array(int64)
_TRUE, _FALSE, _NULL = (np.uint64(int.from_bytes(text, "little")) for text in (b"true", b"false", b"null"))
_EIGHT, _BYTE, _FOUR_BYTES, _FIVE_BYTES = np.uint64(8), np.uint64(0xFF), np.uint64(2**32 - 1), np.uint64(2**40 - 1)


@subroutine(int64(uint64))
def first(mask: Any) -> Any:
    """The place of the lowest marked byte of a mask that is not 0."""
    lowest = mask & (~mask + np.uint64(1))
    return np.int64(((lowest >> np.uint64(7)) * _PLACES) >> np.uint64(56))


@subroutine(uint64(uint64))
def _special(text: Any) -> Any:
    """Marks of the bytes that are not plain text of a string: a quote, backslash, control or non-ASCII byte."""
    quotes, backslashes = text ^ _QUOTES, text ^ _BACKSLASHES
    mask = (quotes - _ONES) & ~quotes | (backslashes - _ONES) & ~backslashes
    return (mask | (text - _BLANKS) & ~text | text) & _TOPS


@subroutine(int64(BYTES, int64))
def skip_plain(data: Any, at: Any) -> Any:
    """The first byte from `at` on that is special."""
    while True:
        mask = _special(load(data, at))
        if mask:
            return at + first(mask)
        at += 8


@subroutine(int64(BYTES, int64))
def skip_digits(data: Any, at: Any) -> Any:
    """The first byte from `at` on that is not a digit."""
    while True:
        text = load(data, at) ^ _ZEROS
        mask = (((text & _LOWS) + _NOT_DIGITS) | text) & _TOPS
        if mask:
            return at + first(mask)
        at += 8


@subroutine(int64(BYTES, int64, boolean))
def skip_blanks(data: Any, at: Any, lines: Any) -> Any:
    """The first byte from `at` on that is no white space; where a record is a line, its end is none."""
    found = byte(data, at)
    while found == 32 or found == 9 or found == 13 or (found == 10 and not lines):
        at += 1
        found = byte(data, at)
    return at


@subroutine(int64(BYTES, int64, FAULT))
def literal_end(data: Any, at: Any, fault: Any) -> Any:
    """Where `true`, `false` or `null`, told by its first letter, ends."""
    letter, word = byte(data, at), load(data, at)
    end, differ = at + 4, (word ^ (_TRUE if letter == LETTER_T else _NULL)) & _FOUR_BYTES
    if letter == LETTER_F:
        end, differ = at + 5, (word ^ _FALSE) & _FIVE_BYTES
    if differ:
        fault[0] = BAD_LITERAL
        while not differ & _BYTE:
            differ >>= _EIGHT
            at += 1
        return at
    return end


@subroutine(int64(BYTES, int64, FAULT))
def number_end(data: Any, at: Any, fault: Any) -> Any:
    """Where the number that starts at `at` ends; fault[0] says what is wrong at the place returned."""
    if byte(data, at) == MINUS:
        at += 1
    end = skip_digits(data, at)
    if end == at:
        fault[0] = BAD_NUMBER
        return at
    if end > at + 1 and byte(data, at) == ZERO:
        fault[0] = LEADING_ZERO
        return at
    at = end
    if byte(data, at) == 46:  # .
        end = skip_digits(data, at + 1)
        if end == at + 1:
            fault[0] = BAD_NUMBER
            return end
        at = end
    if byte(data, at) | 32 == 101:  # e, E
        at += 1
        if byte(data, at) == 43 or byte(data, at) == MINUS:
            at += 1
        end = skip_digits(data, at)
        if end == at:
            fault[0] = BAD_NUMBER
            return at
        at = end
    return at


@subroutine(int64(BYTES, int64, FAULT))
def character_end(data: Any, at: Any, fault: Any) -> Any:
    """Where the UTF-8 character that starts at `at` with a byte above 127 ends (Unicode, table 3-7)."""
    lead = byte(data, at)
    low, high, more = 0x80, 0xBF, 1
    if lead < 0xC2 or lead > 0xF4:
        fault[0] = BAD_UTF8
        return at
    if lead >= 0xF0:
        more = 3
        if lead == 0xF0:
            low = 0x90
        elif lead == 0xF4:
            high = 0x8F
    elif lead >= 0xE0:
        more = 2
        if lead == 0xE0:
            low = 0xA0
        elif lead == 0xED:
            high = 0x9F
    for place in range(more):
        follow = byte(data, at + 1 + place)
        if follow < low or follow > high:
            fault[0] = BAD_UTF8
            return at + 1 + place
        low, high = 0x80, 0xBF
    return at + 1 + more


@subroutine(int64(BYTES, int64, FAULT))
def string_end(data: Any, at: Any, fault: Any) -> Any:
    """The closing quote of the string whose text starts at `at`, or its first backslash."""
    while True:
        at = skip_plain(data, at)
        found = byte(data, at)
        if (found == QUOTE) | (found == BACKSLASH):
            return at
        if found < 32:
            fault[0] = CONTROL
            return at
        at = character_end(data, at, fault)
        if fault[0]:
            return at


@subroutine(int64(BYTES, int64, FAULT))
def hex4(data: Any, at: Any, fault: Any) -> Any:
    """The number that four hex digits stand for; with a fault, the place of the byte that is none."""
    value = 0
    for place in range(at, at + 4):
        digit = byte(data, place)
        if 48 <= digit <= 57:
            value = 16 * value + digit - 48
        elif 97 <= digit | 32 <= 102:
            value = 16 * value + (digit | 32) - 87
        else:
            fault[0] = BAD_HEX
            return place
    return value


@subroutine(PAIR(array(uint8), int64, int64, FAULT))
def resolve(data: Any, at: Any, out: Any, fault: Any) -> Any:
    """Write what a string's text from `at` on stands for to data[out:]; the closing quote and the end of the text.

    The text written is never longer than the text read; the caller sees to the room for it.
    """
    while True:
        end = string_end(data, at, fault)
        for place in range(at, end):
            data[out] = data[place]
            out += 1
        if fault[0] or byte(data, end) == QUOTE:
            return end, out
        letter = byte(data, end + 1)
        if letter != LETTER_U:
            code = _ESCAPED[letter]
            if code < 0:
                fault[0] = BAD_ESCAPE
                return end + 1, out
            at = end + 2
        else:
            code = hex4(data, end + 2, fault)
            if fault[0]:
                return code, out
            at = end + 6
            if 0xD800 <= code < 0xE000:
                if code >= 0xDC00:
                    fault[0] = LONE_SURROGATE
                    return end, out
                if byte(data, at) != BACKSLASH or byte(data, at + 1) != LETTER_U:
                    fault[0] = LONE_SURROGATE
                    return (at if byte(data, at) != BACKSLASH else at + 1), out
                low = hex4(data, at + 2, fault)
                if fault[0]:
                    return low, out
                if low < 0xDC00 or low >= 0xE000:
                    fault[0] = LONE_SURROGATE
                    return end, out
                code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
                at += 6
        out = put_character(data, out, code)
