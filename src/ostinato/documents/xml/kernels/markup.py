"""What stands between elements and is not handed on: comments and processing instructions; and CDATA sections.

Each function returns where its piece ends, or -1 with the fault in the state; `ended` says how the scan ends then.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.jit import subroutine
from ostinato.core.jit.types import int64
from ostinato.documents.kernels.utf8 import (
    BYTES,
    CHARACTERS,
    CLOSE_BRACKET,
    DASH,
    LINE,
    MORE,
    QUESTION,
    RETURN,
    TAB,
    byte,
    cut,
    decode_character,
    is_space,
    is_within,
    name_fault,
    skip_high,
)
from ostinato.documents.xml.kernels.state import (
    BAD_CHARACTER,
    BAD_MARKUP,
    BAD_TARGET,
    BAD_UTF8,
    DASHES,
    SCAN,
    XML_TARGET,
    XmlScan,
    note_fault,
)

_CDATA = np.frombuffer(b"<![CDATA[", np.uint8)


@subroutine(int64(SCAN, int64))
def bad_byte(scan: XmlScan, at: Any) -> Any:
    """Note what is wrong with the character at `at`, which no document may have."""
    code, size = decode_character(scan.buffer, at)
    if size > 0 and not is_within(CHARACTERS, code):
        return note_fault(scan, BAD_CHARACTER, at)
    return note_fault(scan, BAD_UTF8, scan.filled if cut(scan.buffer, at, scan.filled) else at)


@subroutine(int64(SCAN, int64))
def step(scan: XmlScan, at: Any) -> Any:
    """Over one character, or over several beyond ASCII; -1 when it is not one of XML's."""
    buffer = scan.buffer
    found = byte(buffer, at)
    if found >= 0x80:
        place = skip_high(buffer, at)
        return place if place >= 0 else bad_byte(scan, -1 - place)
    if found < 0x20 and found != LINE and found != TAB and found != RETURN:
        return note_fault(scan, BAD_CHARACTER, at)
    return at + 1


@subroutine(int64(SCAN, int64, BYTES))
def literally(scan: XmlScan, at: Any, wanted: Any) -> Any:
    buffer = scan.buffer
    for place in range(wanted.size):
        if byte(buffer, at + place) != wanted[place]:
            return note_fault(scan, BAD_MARKUP, at + place)
    return at + wanted.size


@subroutine(int64(SCAN, int64))
def comment(scan: XmlScan, at: Any) -> Any:
    """From `<!--` to `-->`, with no other `--` in between."""
    buffer = scan.buffer
    if byte(buffer, at + 3) != DASH:
        return note_fault(scan, BAD_MARKUP, at + 3)
    at += 4
    while True:
        if byte(buffer, at) == DASH:
            if byte(buffer, at + 1) == DASH:
                return at + 3 if byte(buffer, at + 2) == MORE else note_fault(scan, DASHES, at + 2)
            at += 1
        else:
            at = step(scan, at)
            if at < 0:
                return -1


@subroutine(int64(SCAN, int64))
def instruction(scan: XmlScan, at: Any) -> Any:
    """From `<?` to `?>`: a name that is not `xml`, then white space and anything, or nothing."""
    buffer = scan.buffer
    first = at + 2
    at = first
    while not is_space(byte(buffer, at)) and byte(buffer, at) != QUESTION:
        if byte(buffer, at) < 0x20:
            return note_fault(scan, BAD_CHARACTER, at)
        at += 1
    bad = name_fault(buffer, first, at)
    if bad >= 0:
        return note_fault(scan, BAD_TARGET, scan.filled if at >= scan.filled else bad)
    a, b, c = byte(buffer, first), byte(buffer, first + 1), byte(buffer, first + 2)
    if at == first + 3 and a | 32 == 120 and b | 32 == 109 and c | 32 == 108:
        return note_fault(scan, XML_TARGET, first)
    if byte(buffer, at) == QUESTION and byte(buffer, at + 1) != MORE:
        return note_fault(scan, BAD_TARGET, at + 1)
    while not (byte(buffer, at) == QUESTION and byte(buffer, at + 1) == MORE):
        at = step(scan, at)
        if at < 0:
            return -1
    return at + 2


@subroutine(int64(SCAN, int64))
def section(scan: XmlScan, at: Any) -> Any:
    """From `<![CDATA[` to `]]>`."""
    buffer = scan.buffer
    at = literally(scan, at, _CDATA)
    if at < 0:
        return -1
    while not (
        byte(buffer, at) == CLOSE_BRACKET and byte(buffer, at + 1) == CLOSE_BRACKET and byte(buffer, at + 2) == MORE
    ):
        at = step(scan, at)
        if at < 0:
            return -1
    return at + 3
