"""XML bytes to tokens, from where the last scan stopped up to the last whole token in the buffer.

A scan writes down its state at each token, so it may stop anywhere in the next one, for want of bytes or of room, and
the next scan begins that token again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.jit import kernel, subroutine
from ostinato.core.jit.types import int64, void
from ostinato.documents.kernels.names import (
    ENTRY,
    HANDED_ON,
    LONGEST,
    MISSING,
    SEEN,
    SIZE,
    add,
    find,
    name_end,
    same_name,
)
from ostinato.documents.kernels.utf8 import (
    AND,
    CLOSE_BRACKET,
    DASH,
    EIGHT_BRACKETS,
    EQUALS,
    LESS,
    LINE,
    MARK,
    MORE,
    OPEN_BRACKET,
    QUESTION,
    QUOTE,
    RETURN,
    SLASH,
    SPACE,
    TAB,
    TICK,
    byte,
    bytes_in,
    is_space,
    load,
    mask_below,
    name_fault,
    skip_space,
    stops,
)
from ostinato.documents.tokens import ATTR, CLOSE, OPEN, TEXT
from ostinato.documents.xml.kernels.markup import comment, instruction, section, step
from ostinato.documents.xml.kernels.state import (
    AT,
    AT_DOCTYPE,
    BAD_NAME,
    BRACKETS,
    CDATA_OUTSIDE,
    COUNT,
    DEPTH,
    FULL,
    LONG_NAME,
    MANY_ATTRIBUTES,
    MISMATCH,
    MOST,
    NAME,
    NEEDS_BYTES,
    NEEDS_NAMES,
    NEEDS_STACK,
    NO_EQUALS,
    NO_NAME,
    NO_QUOTE,
    NO_ROOT,
    NO_SPACE,
    NO_TAG_END,
    NOTHING_OPEN,
    OUT,
    OUTSIDE,
    ROOT,
    ROOT_MET,
    SCAN,
    SECOND_ROOT,
    START,
    STOP,
    TAG,
    TEXTS,
    TWICE,
    WRONG,
    XmlScan,
    end_scan,
    wrong,
)
from ostinato.documents.xml.kernels.values import resolve_references, value_run

_ZERO = np.uint64(0)


@subroutine(void(SCAN, int64, int64, int64, int64, int64))
def _put(scan: XmlScan, count: Any, kind: Any, name: Any, start: Any, stop: Any) -> Any:
    place = np.uint64(count)
    spans = scan.spans
    scan.kind[place], spans[NAME, place] = kind, name
    spans[START, place], spans[STOP, place] = start, stop


@subroutine(int64(SCAN, int64, int64))
def _new_name(scan: XmlScan, at: Any, end: Any) -> Any:
    """The number of a name met for the first time, which is checked now and never again; or -1 - how the scan ends."""
    if end >= scan.filled:
        return -1 - NEEDS_BYTES
    bad = name_fault(scan.buffer, at, end)
    if bad >= 0:
        return -1 - wrong(scan, NO_NAME if bad == at else BAD_NAME, bad)
    if end - at > scan.names.state[LONGEST]:
        return -1 - wrong(scan, LONG_NAME, at)
    number = add(scan.names, scan.buffer, at, end)
    return number if number != MISSING else -1 - NEEDS_NAMES


@subroutine(int64(SCAN, int64))
def _mismatch(scan: XmlScan, at: Any) -> Any:
    """End a scan at an end tag whose name is another one, unless that may go on."""
    return wrong(scan, MISMATCH, at if name_end(scan.buffer, at + 2) < scan.filled else scan.filled)


@kernel(int64(SCAN))
def scan_tokens(scan: XmlScan) -> Any:
    """Tokens of buffer[state[AT]:filled]; how it ended."""
    buffer, state, stack = scan.buffer, scan.state, scan.stack
    names, filled = scan.names, scan.filled
    entries, letters = names.entries, names.letters
    i, count, depth = state[AT], state[COUNT], state[DEPTH]
    out, tag = state[OUT], state[TAG]
    room, texts, most = scan.kind.size - 2, state[TEXTS], state[MOST]
    while True:
        state[AT], state[COUNT] = i, count
        state[DEPTH], state[OUT] = depth, out
        if count >= room:
            return FULL
        found, after = byte(buffer, i), byte(buffer, i + 1)

        if found == LESS and after == SLASH:
            if depth == 0:
                return wrong(scan, NOTHING_OPEN, i)
            number = np.int64(stack[np.uint64(depth - 1)])
            size = entries[np.uint64(number * ENTRY + SIZE)]
            if not same_name(letters, entries[np.uint64(number * ENTRY)], size, buffer, i + 2):
                return _mismatch(scan, i)
            j = i + 2 + size
            if byte(buffer, j) != MORE:
                if not is_space(byte(buffer, j)):
                    return _mismatch(scan, i)
                j = skip_space(buffer, j)
                if byte(buffer, j) != MORE:
                    return wrong(scan, NO_TAG_END, j)
            j += 1
            _put(scan, count, CLOSE, number, i, j)
            count += 1
            depth -= 1
            i = j
            continue

        if found == LESS and after != MARK and after != QUESTION:
            if depth == 0 and state[ROOT] != NO_ROOT:
                return wrong(scan, SECOND_ROOT, i + 1 if i + 1 >= filled else i)
            number, j = find(names, buffer, i + 1)
            if number == MISSING:
                number = _new_name(scan, i + 1, j)
                if number < 0:
                    return -1 - number
            element = number
            _put(scan, count, OPEN, element, i, j)
            count += 1
            tag += 1
            state[TAG] = tag  # also if the scan stops in this tag: what was seen of it does not count then
            attributes = 0
            while True:
                at = j
                found = byte(buffer, j)
                if found == SPACE:  # and mostly no more of it
                    j += 1
                    found = byte(buffer, j)
                if found <= SPACE:
                    j = skip_space(buffer, j)
                    found = byte(buffer, j)
                if (found == MORE) | (found == SLASH):
                    break
                if j == at:
                    return wrong(scan, NO_SPACE, j)

                at = j
                number, j = find(names, buffer, at)
                if number == MISSING:
                    number = _new_name(scan, at, j)
                    if number < 0:
                        return -1 - number
                attributes += 1
                if attributes > most:
                    return wrong(scan, MANY_ATTRIBUTES, at)
                if byte(buffer, j) != EQUALS:
                    j = skip_space(buffer, j)
                    if byte(buffer, j) != EQUALS:
                        return wrong(scan, NO_EQUALS, j)
                if entries[np.uint64(number * ENTRY + SEEN)] == tag:
                    return wrong(scan, TWICE, at)
                entries[np.uint64(number * ENTRY + SEEN)] = tag
                j += 1
                quote = byte(buffer, j)
                if quote != QUOTE and quote != TICK:
                    j = skip_space(buffer, j)
                    quote = byte(buffer, j)
                    if quote != QUOTE and quote != TICK:
                        return wrong(scan, NO_QUOTE, j)
                j += 1
                at = j
                j, differs = value_run(scan, j, quote)
                if j < 0:
                    return end_scan(scan)
                value, value_end = at, j
                if differs:
                    value, value_end = out, resolve_references(scan, at, j, out, False)
                    if value_end < 0:
                        return WRONG
                if entries[np.uint64(number * ENTRY + HANDED_ON)]:
                    if count >= room:
                        return FULL
                    _put(scan, count, ATTR, number, value, value_end)
                    count += 1
                    if differs:
                        out = value_end
                j += 1

            state[ROOT] = ROOT_MET
            if found == MORE:
                if depth >= stack.size:
                    return NEEDS_STACK
                stack[np.uint64(depth)] = element
                depth += 1
                i = j + 1
            else:
                if byte(buffer, j + 1) != MORE:
                    return wrong(scan, NO_TAG_END, j + 1)
                _put(scan, count, CLOSE, element, j, j + 2)
                count += 1
                i = j + 2
            continue

        if found == LESS and after == QUESTION:
            i = instruction(scan, i)
            if i < 0:
                return end_scan(scan)
            continue

        third = byte(buffer, i + 2)
        if found == LESS and after == MARK and third != OPEN_BRACKET:
            if third != DASH:
                return AT_DOCTYPE
            i = comment(scan, i)
            if i < 0:
                return end_scan(scan)
            continue

        if depth == 0:
            if found == LESS:
                return wrong(scan, CDATA_OUTSIDE, i)
            i = skip_space(buffer, i)
            if byte(buffer, i) != LESS:
                state[AT] = i
                return wrong(scan, OUTSIDE, i)
            continue

        j = i  # this loop is no function of its own: the compiler makes slower code of that
        differs = False
        while True:
            marks = stops(load(buffer, j), EIGHT_BRACKETS)
            if marks == _ZERO:
                j += 8
                continue
            j += bytes_in(mask_below(marks))
            found = byte(buffer, j)
            if found == LESS:
                after = j + 1 if byte(buffer, j + 1) != MARK else j + 2
                if after >= filled:
                    return NEEDS_BYTES
                if after == j + 1 or byte(buffer, after) != OPEN_BRACKET:
                    break
                differs = True
                j = section(scan, j)
                if j < 0:
                    return end_scan(scan)
            elif (found == LINE) | (found == TAB):
                j += 1
            elif (found == AND) | (found == RETURN):
                differs = True
                j += 1
            elif found == CLOSE_BRACKET:
                if byte(buffer, j + 1) == CLOSE_BRACKET and byte(buffer, j + 2) == MORE:
                    return wrong(scan, BRACKETS, j)
                j += 1
            else:
                j = step(scan, j)
                if j < 0:
                    return end_scan(scan)
        value, value_end = i, j
        if differs:
            value, value_end = out, resolve_references(scan, i, j, out, True)
            if value_end < 0:
                return WRONG
        if texts and value_end > value:
            _put(scan, count, TEXT, -1, value, value_end)
            count += 1
            if differs:
                out = value_end
        i = j
