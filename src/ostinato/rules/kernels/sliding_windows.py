"""Aggregates over a window that slides: what enters is added, what leaves is taken away.

The windows of a delta query are kept by the key of its look-up, which is the instruction after the group. The next
trace of a key looks up only what ended after the last one; rows leave in the order of their begins, which a list keeps.
Each distinct binding is counted, sums of floats are exact (exact_sums), as are those of squares (exact_moments), a
median is found in a tree (ranked_tree), and for the least and the most there is a list of the rows that can still
become it. A window that goes back in time is aggregated as a whole.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.jit import subroutine
from ostinato.core.jit.types import boolean, int64, struct_type, void
from ostinato.rules.kernels.exact_sums import add_to_sum, clear_sum
from ostinato.rules.kernels.groups import (
    add_to_moments,
    clear_moments,
    comes_before,
    finish_number,
    finish_stddev,
    write_float,
)
from ostinato.rules.kernels.layout import (
    AGGREGATES_BEGIN,
    AGGREGATES_END,
    AMOUNT,
    BEFORE,
    BEGIN_COLUMN,
    BEHIND,
    BEST_NEWEST,
    BEST_OLDEST,
    BINDING_VALUES,
    BINDINGS_USED,
    COUNT_ALL,
    DISTINCT_BEGIN,
    DISTINCT_END,
    EXACT_SUM,
    FINISHED,
    FIRST_OF,
    FIRST_TIME,
    FREE_BINDING,
    FREE_ROW,
    FROM_SLOT,
    GROUP_ROWS,
    HIGH_PART,
    IS_FLOAT,
    KEY_BEGIN,
    KEY_END,
    KEY_HASH,
    KEY_VALUES,
    LARGE,
    LAST_TIME,
    LIVE_BINDINGS,
    LIVE_ROWS,
    LOW_PART,
    MEDIAN,
    MIN,
    NAME,
    NEED_WINDOWS,
    NEWEST,
    NEXT_BINDING,
    NO_HASH,
    OF_AGGREGATE,
    OF_WINDOW,
    OLDEST,
    RESULT,
    ROOT,
    ROWS_USED,
    STDDEV,
    TIMES,
    UNLINKED,
    VALUE,
    WHO,
    WINDOW_COUNT,
    WINDOW_HIGH,
    WINDOW_LOW,
    WINDOW_ROWS,
    WINDOWS,
    WORDS_AT,
    ProgramState,
    Windows,
)  # fmt: skip
from ostinato.rules.kernels.ranked_tree import RANKED_BY, insert_ranked, middle_ranked, remove_ranked
from ostinato.rules.kernels.stores import hash_with

STATE, KEPT_WINDOWS = struct_type(ProgramState), struct_type(Windows)
NO_WINDOW, BACK_IN_TIME = -1, -2
_HALF, _LOW = 32, (1 << 32) - 1


# Windows --------------------------------------------------------------------------------------------------------------


@subroutine(int64(STATE, KEPT_WINDOWS, int64, int64))
def _find_window(state: ProgramState, kept: Windows, pc: int, hashed: int) -> int:
    """The place in the hash table of the window of a look-up's key, or where it is to be."""
    code, frame, slots, windows, places = state.code, state.frame, state.slots, kept.windows, kept.table
    look_up, mask = pc + 1, places.shape[0] - 1
    first = code[look_up, KEY_BEGIN]
    place = hashed & mask
    while places[place] >= 0:
        window = places[place]
        same = windows[window, KEY_HASH] == hashed
        for at in range(code[look_up, KEY_END] - first):
            same &= windows[window, KEY_VALUES + at] == frame[slots[first + at]]
        if same:
            return int(place)
        place = (place + 1) & mask
    return int(place)


@subroutine(int64(STATE, int64, int64))
def begin_window(state: ProgramState, pc: int, hashed: int) -> int:
    """Say from when on a trace collects. Returns the window of its key that slides there, if any."""
    code, frame = state.code, state.frame
    low = frame[code[pc, WINDOW_LOW]]
    frame[code[pc, FROM_SLOT]] = low
    if hashed == NO_HASH:
        return NO_WINDOW
    kept = state.windows[code[pc, WINDOWS]]
    window = kept.table[_find_window(state, kept, pc, hashed)]
    if window < 0:
        return NO_WINDOW
    last = kept.windows[window, LAST_TIME]
    if low < kept.windows[window, FIRST_TIME] or frame[code[pc, WINDOW_HIGH]] < last:
        return BACK_IN_TIME
    frame[code[pc, FROM_SLOT]] = max(low, last + 1)
    return int(window)


@subroutine(int64(STATE, KEPT_WINDOWS, int64, int64))
def _new_window(state: ProgramState, kept: Windows, pc: int, hashed: int) -> int:
    code, frame, slots, windows = state.code, state.frame, state.slots, kept.windows
    window = kept.marks[WINDOW_COUNT]
    kept.marks[WINDOW_COUNT] += 1
    kept.table[_find_window(state, kept, pc, hashed)] = window
    windows[window, KEY_HASH], windows[window, WINDOW_ROWS] = hashed, 0
    windows[window, OLDEST] = windows[window, NEWEST] = -1
    look_up = pc + 1
    first, keys = code[look_up, KEY_BEGIN], code[look_up, KEY_END] - code[look_up, KEY_BEGIN]
    for at in range(keys):
        windows[window, KEY_VALUES + at] = frame[slots[first + at]]
    for aggregate in range(code[pc, AGGREGATES_BEGIN], code[pc, AGGREGATES_END]):
        name, at = state.aggregates[aggregate, NAME], state.aggregates[aggregate, WORDS_AT]
        windows[window, at + AMOUNT] = 0
        if name == MEDIAN:
            windows[window, at + ROOT] = -1
        elif name >= MIN:
            windows[window, at + BEST_OLDEST] = windows[window, at + BEST_NEWEST] = -1
        elif name == STDDEV:
            windows[window, at + LARGE] = 0
            clear_moments(windows, window, at + EXACT_SUM)
        elif name != COUNT_ALL and state.aggregates[aggregate, IS_FLOAT]:
            clear_sum(windows, window, at + EXACT_SUM)
        elif name != COUNT_ALL:
            windows[window, at + HIGH_PART] = windows[window, at + LOW_PART] = 0
    return int(window)


# Distinct bindings ----------------------------------------------------------------------------------------------------


@subroutine(int64(STATE, KEPT_WINDOWS, int64, int64, int64, int64))
def _changes(state: ProgramState, kept: Windows, window: int, aggregate: int, row: int, times: int) -> int:
    """Count the binding of a row, once more or less; gives it if it is the first one, or was the last, else -1."""
    columns, aggregates, bindings, rows, marks = state.columns, state.aggregates, kept.bindings, kept.rows, kept.marks
    first, last = aggregates[aggregate, DISTINCT_BEGIN], aggregates[aggregate, DISTINCT_END]
    hashed: Any = hash_with(np.int64(window), np.int64(aggregate))
    for at in range(first, last):
        hashed = hash_with(hashed, rows[row, columns[at]])
    bucket = hashed & (kept.buckets.shape[0] - 1)
    before, found = np.int64(-1), kept.buckets[bucket]
    while found >= 0:
        same = bindings[found, OF_WINDOW] == window and bindings[found, OF_AGGREGATE] == aggregate
        for at in range(last - first):
            same &= bindings[found, BINDING_VALUES + at] == rows[row, columns[first + at]]
        if same:
            break
        before, found = found, bindings[found, NEXT_BINDING]
    if found >= 0:
        bindings[found, TIMES] += times
        if bindings[found, TIMES] > 0:
            return -1
        if before < 0:
            kept.buckets[bucket] = bindings[found, NEXT_BINDING]
        else:
            bindings[before, NEXT_BINDING] = bindings[found, NEXT_BINDING]
        bindings[found, NEXT_BINDING] = marks[FREE_BINDING]
        marks[FREE_BINDING] = found
        marks[LIVE_BINDINGS] -= 1
        return int(found)
    found = marks[FREE_BINDING]
    if found >= 0:
        marks[FREE_BINDING] = bindings[found, NEXT_BINDING]
    else:
        found = marks[BINDINGS_USED]
        marks[BINDINGS_USED] += 1
    marks[LIVE_BINDINGS] += 1
    bindings[found, NEXT_BINDING], bindings[found, TIMES] = kept.buckets[bucket], times
    bindings[found, OF_WINDOW], bindings[found, OF_AGGREGATE] = window, aggregate
    for at in range(last - first):
        bindings[found, BINDING_VALUES + at] = rows[row, columns[first + at]]
    kept.buckets[bucket] = found
    return int(found)


@subroutine(void(STATE, KEPT_WINDOWS, int64, int64, int64, int64))
def _count(state: ProgramState, kept: Windows, window: int, aggregate: int, row: int, times: int) -> None:
    """Let a row enter what goes over all bindings, or (`times` is -1) leave it."""
    aggregates, windows, rows = state.aggregates, kept.windows, kept.rows
    value = rows[row, aggregates[aggregate, VALUE]]
    if value == state.null:
        return
    binding = _changes(state, kept, window, aggregate, row, times)
    if binding < 0:
        return
    name, at, floating = aggregates[aggregate, NAME], aggregates[aggregate, WORDS_AT], aggregates[aggregate, IS_FLOAT]
    windows[window, at + AMOUNT] += times
    if name == COUNT_ALL:
        return
    if name == MEDIAN:
        tree, floats, root = kept.tree, kept.tree_floats, windows[window, at + ROOT]
        if times > 0:
            floats[binding, RANKED_BY] = kept.floats[row, aggregates[aggregate, VALUE]] if floating else float(value)
            windows[window, at + ROOT] = insert_ranked(tree, floats, root, binding)
        else:
            windows[window, at + ROOT] = remove_ranked(tree, floats, root, binding)
    elif name == STDDEV:
        windows[window, at + LARGE] += add_to_moments(windows, window, at + EXACT_SUM, value, floating == 1, times)
    elif floating:
        add_to_sum(windows, window, at + EXACT_SUM, value, times)
    else:
        windows[window, at + HIGH_PART] += times * (value >> _HALF)
        windows[window, at + LOW_PART] += times * (value & _LOW)


# The least and the most -----------------------------------------------------------------------------------------------


@subroutine(boolean(STATE, KEPT_WINDOWS, int64, int64, int64))
def _is_better(state: ProgramState, kept: Windows, aggregate: int, one: int, other: int) -> bool:
    if state.aggregates[aggregate, NAME] in (MIN, FIRST_OF):
        return comes_before(state, kept.rows, kept.floats, aggregate, one, other)
    return comes_before(state, kept.rows, kept.floats, aggregate, other, one)


@subroutine(void(STATE, KEPT_WINDOWS, int64, int64, int64, int64))
def _enter_best(state: ProgramState, kept: Windows, window: int, aggregate: int, row: int, link: int) -> None:
    """Put a row among those that can become the best: none that leaves later is as good."""
    base = state.aggregates[aggregate, WORDS_AT]
    windows, rows, links, begin = kept.windows, kept.rows, kept.links, kept.marks[BEGIN_COLUMN]
    links[row, link] = UNLINKED
    if rows[row, state.aggregates[aggregate, VALUE]] == state.null:
        return
    after: Any = np.int64(-1)
    before = windows[window, base + BEST_NEWEST]
    while before >= 0 and rows[before, begin] > rows[row, begin]:
        after, before = before, links[before, link]
    if after >= 0 and not _is_better(state, kept, aggregate, row, after):
        return
    while before >= 0 and not _is_better(state, kept, aggregate, before, row):
        worse, before = before, links[before, link]
        links[worse, link] = UNLINKED
    links[row, link], links[row, link + 1] = before, after
    if before >= 0:
        links[before, link + 1] = row
    else:
        windows[window, base + BEST_OLDEST] = row
    if after >= 0:
        links[after, link] = row
    else:
        windows[window, base + BEST_NEWEST] = row


@subroutine(void(KEPT_WINDOWS, int64, int64, int64, int64))
def _leave_best(kept: Windows, window: int, base: int, row: int, link: int) -> None:
    """The oldest row leaves: if it is among the best ones, it is the first of them."""
    windows, links = kept.windows, kept.links
    if links[row, link] == UNLINKED:
        return
    after = links[row, link + 1]
    windows[window, base + BEST_OLDEST] = after
    if after >= 0:
        links[after, link] = -1
    else:
        windows[window, base + BEST_NEWEST] = -1


# Rows -----------------------------------------------------------------------------------------------------------------


@subroutine(void(STATE, KEPT_WINDOWS, int64, int64, int64, int64))
def _aggregate_row(state: ProgramState, kept: Windows, pc: int, window: int, row: int, times: int) -> None:
    code, aggregates, first = state.code, state.aggregates, state.code[pc, AGGREGATES_BEGIN]
    for aggregate in range(first, code[pc, AGGREGATES_END]):
        if aggregates[aggregate, NAME] < MIN:
            _count(state, kept, window, aggregate, row, times)
        elif times > 0:
            _enter_best(state, kept, window, aggregate, row, 2 + 2 * (aggregate - first))
        else:
            _leave_best(kept, window, aggregates[aggregate, WORDS_AT], row, 2 + 2 * (aggregate - first))


@subroutine(void(STATE, KEPT_WINDOWS, int64, int64, int64))
def _enter(state: ProgramState, kept: Windows, pc: int, window: int, place: int) -> None:
    """Put a row of the group into the window."""
    rows, links, marks, windows, group = kept.rows, kept.links, kept.marks, kept.windows, state.group
    row = marks[FREE_ROW]
    if row >= 0:
        marks[FREE_ROW] = links[row, BEHIND]
    else:
        row = marks[ROWS_USED]
        marks[ROWS_USED] += 1
    marks[LIVE_ROWS] += 1
    windows[window, WINDOW_ROWS] += 1
    for at in range(rows.shape[1]):
        rows[row, at] = group[place, at]
    begin = marks[BEGIN_COLUMN]
    behind, before = np.int64(-1), windows[window, NEWEST]
    while before >= 0 and rows[before, begin] > rows[row, begin]:
        behind, before = before, links[before, BEFORE]
    links[row, BEFORE], links[row, BEHIND] = before, behind
    if before >= 0:
        links[before, BEHIND] = row
    else:
        windows[window, OLDEST] = row
    if behind >= 0:
        links[behind, BEFORE] = row
    else:
        windows[window, NEWEST] = row
    _aggregate_row(state, kept, pc, window, row, 1)


@subroutine(void(STATE, KEPT_WINDOWS, int64, int64, int64))
def _leave(state: ProgramState, kept: Windows, pc: int, window: int, low: int) -> None:
    """Take the rows away that begin before the window."""
    rows, links, marks, windows = kept.rows, kept.links, kept.marks, kept.windows
    row, begin = windows[window, OLDEST], marks[BEGIN_COLUMN]
    while row >= 0 and rows[row, begin] < low:
        _aggregate_row(state, kept, pc, window, row, -1)
        behind = links[row, BEHIND]
        windows[window, OLDEST] = behind
        if behind >= 0:
            links[behind, BEFORE] = -1
        else:
            windows[window, NEWEST] = -1
        links[row, BEHIND] = marks[FREE_ROW]
        marks[FREE_ROW] = row
        marks[LIVE_ROWS] -= 1
        windows[window, WINDOW_ROWS] -= 1
        row = behind


@subroutine(int64(STATE, int64, int64, int64))
def slide_window(state: ProgramState, pc: int, window: int, hashed: int) -> int:
    """Let the rows of the group enter the window of their key, and those leave that it no longer has. Returns what it
    needs, if anything, and nothing has changed."""
    code, frame, count = state.code, state.frame, state.marks[GROUP_ROWS]
    kept = state.windows[code[pc, WINDOWS]]
    marks, first, last = kept.marks, code[pc, AGGREGATES_BEGIN], code[pc, AGGREGATES_END]
    is_full = marks[LIVE_ROWS] + count > kept.rows.shape[0]
    is_full |= marks[LIVE_BINDINGS] + count * (last - first) > kept.bindings.shape[0]
    if is_full or (window < 0 and marks[WINDOW_COUNT] >= kept.windows.shape[0]):
        state.marks[WHO] = code[pc, WINDOWS]
        return NEED_WINDOWS
    if window < 0:
        window = _new_window(state, kept, pc, hashed)
    low = frame[code[pc, WINDOW_LOW]]
    kept.windows[window, FIRST_TIME], kept.windows[window, LAST_TIME] = low, frame[code[pc, WINDOW_HIGH]]
    _leave(state, kept, pc, window, low)
    for place in range(count - 1, -1, -1):  # the newest was found first
        _enter(state, kept, pc, window, place)
    state.marks[GROUP_ROWS] = kept.windows[window, WINDOW_ROWS]
    if state.marks[GROUP_ROWS] > 0:
        _write_results(state, kept, pc, window)
    return FINISHED


@subroutine(void(STATE, KEPT_WINDOWS, int64, int64))
def _write_results(state: ProgramState, kept: Windows, pc: int, window: int) -> None:
    code, aggregates, windows = state.code, state.aggregates, kept.windows
    for aggregate in range(code[pc, AGGREGATES_BEGIN], code[pc, AGGREGATES_END]):
        name, at, result = (
            aggregates[aggregate, NAME], aggregates[aggregate, WORDS_AT], aggregates[aggregate, RESULT]
        )  # fmt: skip
        count = windows[window, at + AMOUNT]
        if name >= MIN:
            best = windows[window, at + BEST_OLDEST]
            state.frame[result] = kept.rows[best, aggregates[aggregate, VALUE]] if best >= 0 else state.null
        elif name == MEDIAN:
            middle = middle_ranked(kept.tree, kept.tree_floats, windows[window, at + ROOT]) if count > 0 else np.nan
            write_float(state, result, middle)
        elif name == STDDEV:
            finish_stddev(state, result, windows, window, at + EXACT_SUM, count, windows[window, at + LARGE])
        elif name == COUNT_ALL or aggregates[aggregate, IS_FLOAT]:
            finish_number(state, aggregate, windows, window, at + EXACT_SUM, count, 0, 0)
        else:
            high, low = windows[window, at + HIGH_PART], windows[window, at + LOW_PART]
            finish_number(state, aggregate, windows, window, at, count, high, low)
