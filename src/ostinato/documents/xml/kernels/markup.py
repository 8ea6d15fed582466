"""What stands between elements and is not handed on: comments, processing instructions, DOCTYPE; and CDATA sections.

Each function returns where its piece ends, or -1 with the fault in the state; `ended` says how the scan ends then.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.jit import kernel
from ostinato.documents.kernels.utf8 import (
    CLOSE_BRACKET,
    DASH,
    LESS,
    LINE,
    MARK,
    MORE,
    OPEN_BRACKET,
    QUESTION,
    QUOTE,
    RETURN,
    TAB,
    TICK,
    cut,
    decoded,
    either,
    is_character,
    is_space,
    name_fault,
    skip_high,
)
from ostinato.documents.xml.kernels.state import (
    BAD_CHARACTER,
    BAD_DOCTYPE,
    BAD_MARKUP,
    BAD_TARGET,
    BAD_UTF8,
    DASHES,
    FAULT,
    NEEDS_BYTES,
    WHERE,
    WRONG,
    XML_TARGET,
)

_DOCTYPE = np.frombuffer(b"<!DOCTYPE", np.uint8)
_CDATA = np.frombuffer(b"<![CDATA[", np.uint8)


@kernel()
def ended(state: Any, end: Any) -> Any:
    return NEEDS_BYTES if state[WHERE] >= end else WRONG


@kernel()
def failed(state: Any, fault: Any, where: Any) -> Any:
    state[FAULT], state[WHERE] = fault, where
    return -1


@kernel()
def bad_byte(buffer: Any, at: Any, end: Any, state: Any) -> Any:
    """Note what is wrong with the character at `at`, which no document may have."""
    if buffer[np.uint64(at)] < 0x80:
        return failed(state, BAD_CHARACTER, at)
    code, size = decoded(buffer, at)
    if size > 0 and not is_character(code):
        return failed(state, BAD_CHARACTER, at)
    return failed(state, BAD_UTF8, end if cut(buffer, at, end) else at)


@kernel()
def step(buffer: Any, at: Any, end: Any, state: Any) -> Any:
    """Over one character, or over several beyond ASCII; -1 when it is not one of XML's."""
    byte = buffer[np.uint64(at)]
    if byte >= 0x80:
        place = skip_high(buffer, at)
        return place if place >= 0 else bad_byte(buffer, -1 - place, end, state)
    if byte < 0x20 and byte != LINE and byte != TAB and byte != RETURN:
        return failed(state, BAD_CHARACTER, at)
    return at + 1


@kernel()
def _literally(buffer: Any, at: Any, wanted: Any, state: Any) -> Any:
    for place in range(wanted.size):
        if buffer[np.uint64(at + place)] != wanted[place]:
            return failed(state, BAD_MARKUP, at + place)
    return at + wanted.size


@kernel()
def comment(buffer: Any, at: Any, end: Any, state: Any) -> Any:
    """From `<!--` to `-->`, with no other `--` in between."""
    if buffer[np.uint64(at + 3)] != DASH:
        return failed(state, BAD_MARKUP, at + 3)
    at += 4
    while True:
        if buffer[np.uint64(at)] == DASH:
            if buffer[np.uint64(at + 1)] == DASH:
                return at + 3 if buffer[np.uint64(at + 2)] == MORE else failed(state, DASHES, at + 2)
            at += 1
        else:
            at = step(buffer, at, end, state)
            if at < 0:
                return -1


@kernel()
def instruction(buffer: Any, at: Any, end: Any, state: Any) -> Any:
    """From `<?` to `?>`: a name that is not `xml`, then white space and anything, or nothing."""
    first = at + 2
    at = first
    while not is_space(buffer[np.uint64(at)]) and buffer[np.uint64(at)] != QUESTION:
        if buffer[np.uint64(at)] < 0x20:
            return failed(state, BAD_CHARACTER, at)
        at += 1
    bad = name_fault(buffer, first, at)
    if bad >= 0:
        return failed(state, BAD_TARGET, end if at >= end else bad)
    a, b, c = buffer[np.uint64(first)], buffer[np.uint64(first + 1)], buffer[np.uint64(first + 2)]
    if at == first + 3 and a | 32 == 120 and b | 32 == 109 and c | 32 == 108:
        return failed(state, XML_TARGET, first)
    if buffer[np.uint64(at)] == QUESTION and buffer[np.uint64(at + 1)] != MORE:
        return failed(state, BAD_TARGET, at + 1)
    while not (buffer[np.uint64(at)] == QUESTION and buffer[np.uint64(at + 1)] == MORE):
        at = step(buffer, at, end, state)
        if at < 0:
            return -1
    return at + 2


@kernel()
def section(buffer: Any, at: Any, end: Any, state: Any) -> Any:
    """From `<![CDATA[` to `]]>`."""
    at = _literally(buffer, at, _CDATA, state)
    if at < 0:
        return -1
    while not (
        buffer[np.uint64(at)] == CLOSE_BRACKET
        and buffer[np.uint64(at + 1)] == CLOSE_BRACKET
        and buffer[np.uint64(at + 2)] == MORE
    ):
        at = step(buffer, at, end, state)
        if at < 0:
            return -1
    return at + 3


@kernel()
def _quoted(buffer: Any, at: Any, end: Any, state: Any) -> Any:
    quote = buffer[np.uint64(at)]
    at += 1
    while buffer[np.uint64(at)] != quote:
        at = step(buffer, at, end, state)
        if at < 0:
            return -1
    return at + 1


@kernel()
def doctype_start(buffer: Any, at: Any, state: Any) -> Any:
    return _literally(buffer, at, _DOCTYPE, state)


@kernel()
def doctype(buffer: Any, at: Any, end: Any, state: Any) -> Any:
    """From behind `<!DOCTYPE` to its `>`: over quotes, comments, instructions, the internal subset; nothing is read."""
    if not is_space(buffer[np.uint64(at)]):
        return failed(state, BAD_DOCTYPE, at)
    inside = declared = named = False
    while True:
        byte = buffer[np.uint64(at)]
        if either(byte, QUOTE, TICK):
            at = _quoted(buffer, at, end, state)
        elif byte == LESS and buffer[np.uint64(at + 1)] == QUESTION:
            at = instruction(buffer, at, end, state)
        elif byte == LESS and buffer[np.uint64(at + 1)] == MARK and buffer[np.uint64(at + 2)] == DASH:
            at = comment(buffer, at, end, state)
        elif byte == LESS:
            if not inside or declared or buffer[np.uint64(at + 1)] != MARK:
                return failed(state, BAD_DOCTYPE, at + 1 if at + 1 >= end else at)
            declared = True
            at += 2
        elif byte == MORE:
            if declared:
                declared = False
            elif inside or not named:
                return failed(state, BAD_DOCTYPE, at)
            else:
                return at + 1
            at += 1
        elif byte == OPEN_BRACKET and not declared:
            if inside or not named:
                return failed(state, BAD_DOCTYPE, at)
            inside = True
            at += 1
        elif byte == CLOSE_BRACKET and not declared:
            if not inside:
                return failed(state, BAD_DOCTYPE, at)
            inside = False
            at += 1
        else:
            named = named or not is_space(byte)
            at = step(buffer, at, end, state)
        if at < 0:
            return -1
