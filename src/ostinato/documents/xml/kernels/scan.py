"""XML bytes to tokens, from where the last scan stopped up to the last whole token in the buffer.

A scan writes down its state at each token, so it may stop anywhere in the next one, for want of bytes or of room, and
the next scan begins that token again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from ostinato.core.jit import array, kernel, view
from ostinato.documents.kernels.names import LONGEST, MISSING, SHIFT, add, find, name_end, same_name
from ostinato.documents.kernels.utf8 import (
    AND,
    CLOSE_BRACKET,
    DASH,
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
    bytes_in,
    either,
    is_space,
    load,
    mask_below,
    name_fault,
    skip_space,
    text_stops,
)
from ostinato.documents.xml.kernels.markup import comment, doctype, doctype_start, ended, instruction, section, step
from ostinato.documents.xml.kernels.state import (
    AT,
    BAD_NAME,
    BRACKETS,
    CDATA_OUTSIDE,
    COUNT,
    DEPTH,
    DOCTYPE,
    DOCTYPE_MET,
    DOCTYPE_MISPLACED,
    DOCTYPE_REFUSED,
    FULL,
    LONG_NAME,
    MANY_ATTRIBUTES,
    MISMATCH,
    MOST,
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
    REFUSED,
    ROOT,
    ROOT_MET,
    SECOND_ROOT,
    TAG,
    TEXTS,
    TWICE,
    WRONG,
    wrong,
)
from ostinato.documents.xml.kernels.values import resolved, value_run

_ZERO = np.uint64(0)
_OPEN, _ATTR, _TEXT, _CLOSE = 0, 1, 2, 3  # as in tree.tokens


@kernel()
def _put(kind: Any, name: Any, start: Any, stop: Any, count: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    place = np.uint64(count)
    kind[place], name[place], start[place], stop[place] = a, b, c, d


@kernel()
def _new_name(
    buffer: Any, at: Any, end: Any, filled: Any, state: Any, table: Any, words: Any, first: Any, sizes: Any,
    wanted: Any, seeds: Any, names: Any,
) -> Any:  # fmt: skip
    """The number of a name met for the first time, which is checked now and never again; or -1 - how the scan ends."""
    if end >= filled:
        return -1 - NEEDS_BYTES
    if end == at:
        return -1 - wrong(state, NO_NAME, at, filled)
    bad = name_fault(buffer, at, end)
    if bad >= 0:
        return -1 - wrong(state, NO_NAME if bad == at else BAD_NAME, bad, filled)
    if end - at > names[LONGEST]:
        return -1 - wrong(state, LONG_NAME, at, filled)
    number = add(buffer, at, end, table, words, first, sizes, wanted, seeds, names)
    return number if number != MISSING else -1 - NEEDS_NAMES


_SCAN = types.int64(
    array(types.uint8), types.int64, array(types.int64), array(types.uint8), array(types.int32), array(types.int32),
    array(types.int32), array(types.int32), array(types.int64), array(types.uint64), array(types.uint64),
    array(types.int64), array(types.int32), array(types.uint8), view(types.uint64), array(types.int64),
)  # fmt: skip


@kernel(_SCAN)
def scan(
    buffer: Any, filled: int, state: Any, kind: Any, name: Any, start: Any, stop: Any, stack: Any, seen: Any,
    table: Any, words: Any, first: Any, sizes: Any, wanted: Any, seeds: Any, names: Any,
) -> Any:  # fmt: skip
    """Tokens of buffer[state[AT]:filled], which `PAD` zero bytes follow, and then room for as much again; how it ended.

    `seen` has for each name the last tag that had an attribute of that name.
    """
    i, count, depth, out, tag = state[AT], state[COUNT], state[DEPTH], state[OUT], state[TAG]
    room, texts, most, shift = kind.size - 2, state[TEXTS], state[MOST], np.uint64(names[SHIFT])
    while True:
        state[AT], state[COUNT], state[DEPTH], state[OUT] = i, count, depth, out
        if count >= room:
            return FULL
        byte = buffer[np.uint64(i)]
        after = buffer[np.uint64(i + 1)]

        if byte == LESS and after == SLASH:
            if depth == 0:
                return wrong(state, NOTHING_OPEN, i, filled)
            number = stack[np.uint64(depth - 1)]
            j = i + 2
            size = np.int64(sizes[np.uint64(number)])
            if not same_name(buffer, j, size, words, first[np.uint64(number)]):
                return wrong(state, MISMATCH, i if name_end(buffer, j) < filled else filled, filled)
            j += size
            if buffer[np.uint64(j)] != MORE:
                if not is_space(buffer[np.uint64(j)]):
                    return wrong(state, MISMATCH, i if name_end(buffer, j) < filled else filled, filled)
                j = skip_space(buffer, j)
                if buffer[np.uint64(j)] != MORE:
                    return wrong(state, NO_TAG_END, j, filled)
            j += 1
            _put(kind, name, start, stop, count, _CLOSE, number, i, j)
            count += 1
            depth -= 1
            i = j
            continue

        if byte == LESS and after != MARK and after != QUESTION:
            if depth == 0 and state[ROOT] != NO_ROOT:
                return wrong(state, SECOND_ROOT, i + 1 if i + 1 >= filled else i, filled)
            number, j = find(buffer, i + 1, table, words, first, seeds, shift)
            if number == MISSING:
                number = _new_name(buffer, i + 1, j, filled, state, table, words, first, sizes, wanted, seeds, names)
                if number < 0:
                    return -1 - number
            element = number
            _put(kind, name, start, stop, count, _OPEN, element, i, j)
            count += 1
            tag += 1
            state[TAG] = tag  # also if the scan stops in this tag: what was seen of it does not count then
            attributes = 0
            while True:
                at = j
                byte = buffer[np.uint64(j)]
                if byte == SPACE:  # and mostly no more of it
                    j += 1
                    byte = buffer[np.uint64(j)]
                if byte <= SPACE:
                    j = skip_space(buffer, j)
                    byte = buffer[np.uint64(j)]
                if either(byte, MORE, SLASH):
                    break
                if j == at:
                    return wrong(state, NO_SPACE, j, filled)

                at = j
                number, j = find(buffer, at, table, words, first, seeds, shift)
                if number == MISSING:
                    number = _new_name(buffer, at, j, filled, state, table, words, first, sizes, wanted, seeds, names)
                    if number < 0:
                        return -1 - number
                attributes += 1
                if attributes > most:
                    return wrong(state, MANY_ATTRIBUTES, at, filled)
                if buffer[np.uint64(j)] != EQUALS:
                    j = skip_space(buffer, j)
                    if buffer[np.uint64(j)] != EQUALS:
                        return wrong(state, NO_EQUALS, j, filled)
                if seen[np.uint64(number)] == tag:
                    return wrong(state, TWICE, at, filled)
                seen[np.uint64(number)] = tag
                j += 1
                quote = buffer[np.uint64(j)]
                if quote != QUOTE and quote != TICK:
                    j = skip_space(buffer, j)
                    quote = buffer[np.uint64(j)]
                    if quote != QUOTE and quote != TICK:
                        return wrong(state, NO_QUOTE, j, filled)
                j += 1
                at = j
                j, differs = value_run(buffer, j, quote, filled, state)
                if j < 0:
                    return ended(state, filled)
                value, value_end = at, j
                if differs:
                    value, value_end = out, resolved(buffer, at, j, out, False, state)
                    if value_end < 0:
                        return WRONG
                if wanted[np.uint64(number)]:
                    if count >= room:
                        return FULL
                    _put(kind, name, start, stop, count, _ATTR, number, value, value_end)
                    count += 1
                    if differs:
                        out = value_end
                j += 1

            state[ROOT] = ROOT_MET
            if byte == MORE:
                if depth >= stack.size:
                    return NEEDS_STACK
                stack[np.uint64(depth)] = element
                depth += 1
                i = j + 1
            else:
                if buffer[np.uint64(j + 1)] != MORE:
                    return wrong(state, NO_TAG_END, j + 1, filled)
                _put(kind, name, start, stop, count, _CLOSE, element, j, j + 2)
                count += 1
                i = j + 2
            continue

        if byte == LESS and after == QUESTION:
            i = instruction(buffer, i, filled, state)
            if i < 0:
                return ended(state, filled)
            continue

        third = buffer[np.uint64(i + 2)]
        if byte == LESS and after == MARK and third != OPEN_BRACKET:
            if third == DASH:
                i = comment(buffer, i, filled, state)
            else:
                at = doctype_start(buffer, i, state)
                if at >= 0 and state[DOCTYPE] == REFUSED:
                    return wrong(state, DOCTYPE_REFUSED, i, filled)
                if at >= 0 and (state[DOCTYPE] == DOCTYPE_MET or depth > 0 or state[ROOT] != NO_ROOT):
                    return wrong(state, DOCTYPE_MISPLACED, i, filled)
                i = doctype(buffer, at, filled, state) if at >= 0 else -1
                if i >= 0:
                    state[DOCTYPE] = DOCTYPE_MET
            if i < 0:
                return ended(state, filled)
            continue

        if depth == 0:
            if byte == LESS:
                return wrong(state, CDATA_OUTSIDE, i, filled)
            i = skip_space(buffer, i)
            if buffer[np.uint64(i)] != LESS:
                state[AT] = i
                return wrong(state, OUTSIDE, i, filled)
            continue

        j = i  # this loop is no function of its own: the compiler makes slower code of that
        differs = False
        while True:
            marks = text_stops(load(buffer, j))
            if marks == _ZERO:
                j += 8
                continue
            j += bytes_in(mask_below(marks))
            byte = buffer[np.uint64(j)]
            if byte == LESS:
                after = j + 1 if buffer[np.uint64(j + 1)] != MARK else j + 2
                if after >= filled:
                    return NEEDS_BYTES
                if after == j + 1 or buffer[np.uint64(after)] != OPEN_BRACKET:
                    break
                differs = True
                j = section(buffer, j, filled, state)
                if j < 0:
                    return ended(state, filled)
            elif either(byte, LINE, TAB):
                j += 1
            elif either(byte, AND, RETURN):
                differs = True
                j += 1
            elif byte == CLOSE_BRACKET:
                if buffer[np.uint64(j + 1)] == CLOSE_BRACKET and buffer[np.uint64(j + 2)] == MORE:
                    return wrong(state, BRACKETS, j, filled)
                j += 1
            else:
                j = step(buffer, j, filled, state)
                if j < 0:
                    return ended(state, filled)
        value, value_end = i, j
        if differs:
            value, value_end = out, resolved(buffer, i, j, out, True, state)
            if value_end < 0:
                return WRONG
        if texts and value_end > value:
            _put(kind, name, start, stop, count, _TEXT, -1, value, value_end)
            count += 1
            if differs:
                out = value_end
        i = j
