"""The matches of patterns whose conditions look at the match so far: a search in the order of preferment.

It goes one row further along the first target that can be taken, and back where none is left. A frame for each row of
the match that is sought holds where the search is there, and what conditions read of the match up to that row. What is
known to lead nowhere is not tried again: a state before a row, together with all that conditions after it may read.

At the end of the rows that are known so far the search waits, and goes on there when there are more; unless time has
passed the end of the match (WITHIN), so that no later row belongs to it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.jit import kernel, subroutine
from ostinato.core.jit.types import boolean, int64, struct_type, uint64, void
from ostinato.sql.automaton.build import ACCEPT, ACCEPT_AT_END, AT_FIRST, ELSEWHERE
from ostinato.sql.kernels.after_match_skip import resume
from ostinato.sql.kernels.fingerprints import SEEDS, add_to
from ostinato.sql.kernels.layout import (
    ASK,
    BAD_VALUE,
    BUDGET,
    CALL,
    CLOSED,
    COUNT,
    CURSOR,
    DEPTH,
    DISTINCT_COUNT,
    DONE,
    FOUND,
    FRAME_WORDS,
    FRAMES_FULL,
    FROM_FIRST,
    FUNCTION,
    INWARDS,
    LEAST,
    LIVE_FIRST,
    LIVE_LABEL,
    LIVE_LABELS,
    LIVE_LAST,
    LIVE_START,
    LIVE_TOTAL,
    MATCHES,
    MATCHES_FULL,
    MOST_TRIED,
    NO,
    OF_FLOATS,
    ONWARDS,
    PARTITION,
    PATH_FULL,
    PAUSED,
    SET,
    START,
    STATE,
    SUM,
    TIME,
    TOO_LONG,
    TOTAL_SET,
    TRIED,
    USED,
    VALUES,
    Search,
)
from ostinato.sql.kernels.measures import sum_fits
from ostinato.sql.kernels.programs import holds
from ostinato.sql.kernels.walk import is_alive

SEARCH = struct_type(Search)
MEMORISE_AFTER = 64  # rows tried for one match


@subroutine(boolean(SEARCH, int64, int64, int64, int64))
def _is_new(search: Search, total: int, row: int, place: int, base: int) -> bool:
    """Whether the row at a place of the match has a value that no row before it has which is counted. Those rows are a
    list: the frame before each of them leads to the one before it."""
    column, floating = search.totals[total, VALUES], search.totals[total, OF_FLOATS]
    word = FRAME_WORDS + 2 * search.members.shape[0] + search.totals.shape[0] + total
    at = search.frames[base + place, word] - 1
    while at >= 0:
        other = row - place + at
        if floating:
            a, b = search.floats[column, row], search.floats[column, other]
            if a == b or (np.isnan(a) and np.isnan(b)):
                return False
        elif search.ints[column, row] == search.ints[column, other]:
            return False
        at = search.frames[base + at, word] - 1
        search.state[BUDGET] -= 1
    return True


@subroutine(boolean(SEARCH, int64, int64, int64, int64))
def _take_row(search: Search, state: int, row: int, place: int, frame: int) -> bool:
    """Fill the frame after `frame`, where the row at a place in the match is mapped; False where a sum does not fit."""
    frames, members, totals = search.frames, search.members, search.totals
    variable = search.variables[state]
    sets = members.shape[0]
    then = frame + 1
    first_total = FRAME_WORDS + 2 * sets
    base = frame - place
    for chosen in range(sets):
        count = frames[frame, FRAME_WORDS + chosen]
        if members[chosen, variable]:
            frames[base + count, FRAME_WORDS + sets + chosen] = place
            count += 1
        frames[then, FRAME_WORDS + chosen] = count
    fits = True
    for total in range(totals.shape[0]):
        at = first_total + total
        count, whole, floating = (
            frames[frame, at],
            frames[frame, at + totals.shape[0]],
            search.float_frames[frame, total],
        )
        chosen, column = totals[total, TOTAL_SET], totals[total, VALUES]
        if chosen < 0 or members[chosen, variable]:
            function = totals[total, FUNCTION]
            if function == DISTINCT_COUNT:
                null = search.float_nulls[column, row] if totals[total, OF_FLOATS] else search.int_nulls[column, row]
                if not null and _is_new(search, total, row, place, base):
                    count, whole = count + 1, np.int64(place + 1)
            elif totals[total, OF_FLOATS]:
                if not search.float_nulls[column, row]:
                    value = search.floats[column, row]
                    if function == SUM:
                        floating += value
                    elif function != COUNT:
                        lower = value < floating or (np.isnan(floating) and not np.isnan(value))
                        higher = value > floating or (np.isnan(value) and not np.isnan(floating))
                        if count == 0 or (lower if function == LEAST else higher):
                            floating = value
                    count += 1
            elif column < 0:
                count += 1
            elif not search.int_nulls[column, row]:
                added = search.ints[column, row]
                if function == SUM:
                    if sum_fits(whole, added):
                        whole += added
                    else:
                        fits = False
                elif function != COUNT and (count == 0 or (added < whole if function == LEAST else added > whole)):
                    whole = added
                count += 1
        frames[then, at], frames[then, at + totals.shape[0]] = count, whole
        search.float_frames[then, total] = floating
    frames[then, STATE], frames[then, CURSOR] = state, search.ends[state]
    return fits


@subroutine(uint64(SEARCH, int64, int64, int64, uint64))
def _add_label(search: Search, place: int, depth: int, base: int, found: Any) -> Any:
    """The variable of the row at a place in the match; before the match, and not taken yet, differ from all."""
    if place < 0:
        return add_to(found, -1)
    return add_to(found, search.variables[search.frames[base + place + 1, STATE]] if place < depth else -2)


@subroutine(uint64(SEARCH, int64, int64, int64, uint64))
def _add_last_labels(search: Search, depth: int, base: int, count: int, found: Any) -> Any:
    """The variables of the last rows, as many as there are of so many."""
    search.state[BUDGET] -= max(0, min(count, depth)) >> 3
    for back in range(min(count, depth)):
        found = _add_label(search, depth - 1 - back, depth, base, found)
    return add_to(found, min(count, depth))


@subroutine(uint64(SEARCH, int64, int64, int64, uint64))
def _add_labels(search: Search, place: int, depth: int, base: int, found: Any) -> Any:
    """What CLASSIFIER at a place of programs may say from here on."""
    frames, sets = search.frames, search.members.shape[0]
    chosen, inwards, onwards = search.places[place, SET], search.places[place, INWARDS], search.places[place, ONWARDS]
    if search.places[place, FROM_FIRST]:
        known = depth if chosen < 0 else frames[base + depth, FRAME_WORDS + chosen]
        found = add_to(found, min(known, inwards + 1))
        if inwards < known:
            at = inwards if chosen < 0 else frames[base + inwards, FRAME_WORDS + sets + chosen]
            return _add_label(search, at + onwards, depth, base, found)
    elif chosen < 0:
        return _add_last_labels(search, depth, base, inwards - onwards, found)
    else:
        known = frames[base + depth, FRAME_WORDS + chosen]
        found = add_to(found, min(known, inwards + 1))
        for back in range(min(known, inwards + 1)):
            at = frames[base + known - 1 - back, FRAME_WORDS + sets + chosen]
            found = _add_label(search, at + onwards, depth, base, found)
    return _add_last_labels(search, depth, base, -onwards, found)


@subroutine(uint64(SEARCH, int64, int64, int64, int64, uint64))
def _add_distinct(search: Search, total: int, start: int, depth: int, base: int, found: Any) -> Any:
    """The values that are counted; of floats the rows that have them."""
    column, floating = search.totals[total, VALUES], search.totals[total, OF_FLOATS]
    word = FRAME_WORDS + 2 * search.members.shape[0] + search.totals.shape[0] + total
    at = search.frames[base + depth, word] - 1
    while at >= 0:
        found = add_to(found, start + at if floating else search.ints[column, start + at])
        at = search.frames[base + at, word] - 1
        search.state[BUDGET] -= 1
    return add_to(found, -1)


@subroutine(uint64(SEARCH, int64, int64, int64, uint64))
def _fingerprint(search: Search, start: int, depth: int, base: int, seed: Any) -> Any:
    """Of a state before a row, and what conditions after it may read."""
    frames, live = search.frames, search.live
    frame = base + depth
    state = frames[frame, STATE]
    sets, totals = search.members.shape[0], search.totals.shape[0]
    found = add_to(add_to(seed, state), start + depth)
    for at in range(search.live_ends[state], search.live_ends[state + 1]):
        kind, what, inwards = live[at, 0], live[at, 1], live[at, 2]
        if kind == LIVE_START:
            found = add_to(found, start)
        elif kind == LIVE_LABELS:
            found = _add_last_labels(search, depth, base, depth, found)
        elif kind == LIVE_LABEL:
            found = _add_labels(search, what, depth, base, found)
        elif kind == LIVE_TOTAL and search.totals[what, FUNCTION] == DISTINCT_COUNT:
            found = _add_distinct(search, what, start, depth, base, found)
        elif kind == LIVE_TOTAL:
            count_at = FRAME_WORDS + 2 * sets + what
            found = add_to(add_to(found, frames[frame, count_at]), frames[frame, count_at + totals])
            if search.totals[what, OF_FLOATS]:
                found = add_to(found, search.float_bits[frame, what])
        else:
            count = frames[frame, FRAME_WORDS + what]
            found = add_to(found, min(count, inwards + 1))
            if kind == LIVE_FIRST and inwards < count:
                found = add_to(found, start + frames[base + inwards, FRAME_WORDS + sets + what])
            elif kind == LIVE_LAST:
                for back in range(min(count, inwards + 1)):
                    found = add_to(found, start + frames[base + count - 1 - back, FRAME_WORDS + sets + what])
    return found


@subroutine(boolean(SEARCH, int64, int64, int64, boolean))
def _known_to_fail(search: Search, start: int, depth: int, base: int, insert: bool) -> bool:
    """Whether the search has been here, in vain; or write down that it has."""
    failed, counts = search.failed, search.counts
    one = _fingerprint(search, start, depth, base, np.uint64(SEEDS[0]))
    other = _fingerprint(search, start, depth, base, np.uint64(SEEDS[1])) | np.uint64(1)
    mask = failed.shape[0] - 1
    slot = np.int64(one) & mask
    while failed[slot, 1] != 0:
        if failed[slot, 0] == one and failed[slot, 1] == other:
            return True
        slot = (slot + 1) & mask
    if insert:
        if 2 * counts[0] > failed.shape[0]:
            failed[:] = 0
            counts[0] = 0
            if search.state[TRIED] > failed.shape[0]:  # there may be more room: come back for it
                search.state[BUDGET] = -1
            slot = np.int64(one) & mask
        failed[slot, 0], failed[slot, 1] = one, other
        counts[0] += 1
    return False


@subroutine(void(SEARCH, int64))
def _begin(search: Search, frame: int) -> None:
    """The frame before the first row."""
    search.frames[frame, FRAME_WORDS:] = 0
    search.float_frames[frame, :] = 0.0
    search.state[TRIED] = 0
    search.tried[:] = 0


@subroutine(int64(SEARCH, int64, int64))
def _report(search: Search, partition: int, base: int) -> int:
    """Write a match down, and where the search goes on; DONE, or why it could not be written."""
    state, path, attempts = search.state, search.path, search.attempts
    start, depth = attempts[partition, START], attempts[partition, DEPTH]
    if state[MATCHES] == search.starts.size:
        return MATCHES_FULL
    if state[USED] + depth > path.size:
        return PATH_FULL
    for place in range(depth):
        path[state[USED] + place] = search.frames[base + place + 1, STATE]
    then = resume(search, start, depth)
    if then < 0:
        return -then
    found = state[MATCHES]
    attempts[partition, FOUND] += 1
    search.starts[found], search.lengths[found] = start, depth
    search.numbers[found] = attempts[partition, FOUND]
    state[MATCHES], state[USED] = found + 1, state[USED] + depth
    attempts[partition, START], attempts[partition, DEPTH] = then, -1
    return DONE


@subroutine(int64(SEARCH, int64))
def _search_partition(search: Search, partition: int) -> int:
    state, edges, ends, codes, frames = search.state, search.edges, search.ends, search.codes, search.frames
    allowed, attempts, programs = search.allowed, search.attempts, search.programs
    base = search.bases[min(partition, search.bases.size - 1)]
    room = search.rooms[min(partition, search.rooms.size - 1)]
    end = search.ready[partition]
    closed = state[CLOSED] != 0
    timed = search.deadlines.size > 0 and end == search.lasts[partition]
    while True:
        start, depth = attempts[partition, START], attempts[partition, DEPTH]
        if depth < 0:
            first = AT_FIRST if start == search.begun[partition] else ELSEWHERE
            while start < end and not is_alive(search, start, end, first):
                start += 1
                first = ELSEWHERE
            attempts[partition, START] = start
            if start >= end:
                return DONE
            depth = 0
            _begin(search, base)
            frames[base, STATE], frames[base, CURSOR] = first, ends[first]
        while True:
            if state[BUDGET] < 0 or state[TRIED] > state[MOST_TRIED]:
                attempts[partition, DEPTH] = depth
                return TOO_LONG if state[TRIED] > state[MOST_TRIED] else PAUSED
            frame = base + depth
            at = frames[frame, STATE]
            cursor = frames[frame, CURSOR]
            if cursor == ends[at + 1]:
                if state[TRIED] > MEMORISE_AFTER and depth > 0:
                    _known_to_fail(search, start, depth, base, True)
                depth -= 1
                if depth < 0:  # no match starts here
                    break
                continue
            to = edges[cursor]
            row = start + depth
            if to == ACCEPT or (to == ACCEPT_AT_END and row == end and closed):
                attempts[partition, DEPTH] = depth
                status = _report(search, partition, base)
                if status != DONE:
                    return status
                depth = -2
                break
            if row == end and not closed and not (timed and search.deadlines[start] <= state[TIME] and to >= 0):
                attempts[partition, DEPTH] = depth
                return DONE
            if to < 0 or row == end or not allowed[codes[row], to] or not is_alive(search, row + 1, end, to):
                frames[frame, CURSOR] = cursor + 1
                continue
            if depth + 2 > room:
                attempts[partition, DEPTH] = depth
                return FRAMES_FULL
            fits = _take_row(search, to, row, depth, frame)
            variable = search.variables[to]
            if programs[variable + 1] > programs[variable]:
                answer = holds(search, variable, partition, start, depth + 1, base) if fits else BAD_VALUE
                if answer in (ASK, CALL, BAD_VALUE):
                    attempts[partition, DEPTH] = depth
                    return answer
                search.tried[variable] += 1
                if answer == NO:
                    frames[frame, CURSOR] = cursor + 1
                    state[TRIED] += 1
                    state[BUDGET] -= 1
                    continue
            frames[frame, CURSOR] = cursor + 1
            depth += 1
            state[TRIED] += 1
            state[BUDGET] -= 1
            if state[TRIED] > MEMORISE_AFTER and _known_to_fail(search, start, depth, base, False):
                depth -= 1
        if depth == -1:
            attempts[partition, START], attempts[partition, DEPTH] = start + 1, -1


@kernel(int64(SEARCH))
def search_rows(search: Search) -> int:
    """Go on with the search in the partitions that are touched, from state[PARTITION] on."""
    state = search.state
    while state[PARTITION] < search.touched.size:
        status = _search_partition(search, search.touched[state[PARTITION]])
        if status != DONE:
            return status
        state[PARTITION] += 1
    return DONE
