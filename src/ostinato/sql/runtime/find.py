"""The matches of patterns whose conditions look at rows alone."""

from __future__ import annotations

import numpy as np

from ostinato.core.arrays import Int32, Int64, UInt8
from ostinato.core.stopwatch import Stopwatch
from ostinato.errors import DataError
from ostinato.sql.automaton.build import Automaton
from ostinato.sql.automaton.reachable import ReachableSets, pack, words
from ostinato.sql.kernels.layout import (
    BUDGET,
    DONE,
    MATCHES_FULL,
    NO_SKIP_ROW,
    PAST_LAST,
    PATH_FULL,
    SKIP,
    SKIP_TO_START,
    STATE_WORDS,
    TO_FIRST_OF,
    TO_LAST_OF,
    TO_NEXT,
    Rows,
)
from ostinato.sql.kernels.reachable import reach_back, reach_sets
from ostinato.sql.kernels.walk import walk
from ostinato.sql.limits import SqlLimits
from ostinato.sql.runtime.matches import MatchArrays, Matches
from ostinato.sql.syntax import nodes as n

STEPS_AT_ONCE = 50_000_000  # of a walk, between looks at the clock
_SKIPS = {"PAST LAST ROW": PAST_LAST, "NEXT ROW": TO_NEXT, "FIRST": TO_FIRST_OF, "LAST": TO_LAST_OF}


def find_matches(
    match: n.MatchRecognize, automaton: Automaton, codes: Int32, allowed: UInt8, bounds: Int64, limits: SqlLimits
) -> Matches:
    clock = limits.clock()
    sets = ReachableSets(automaton, allowed)
    ids = np.empty(codes.size, np.int32)
    state = new_state(match)
    arrays = MatchArrays(codes.size, limits)
    given = {"codes": codes, "allowed": allowed, **automaton_fields(match, automaton)}
    if reach_all(sets, codes, bounds, ids):
        _walk(
            match, Rows(**given, bounds=bounds, ids=ids, alive=sets.alive, state=state, **arrays.fields), arrays, clock
        )
    else:
        for first, last in _pieces(bounds, automaton.states, limits):
            alive = np.zeros((int(bounds[last] - bounds[first]) + 1, words(automaton.states)), np.uint64)
            alive[0] = pack(automaton.accepting_at_end)
            rows = Rows(**given, bounds=bounds[: last + 1].copy(), ids=ids, alive=alive, state=state, **arrays.fields)
            reach_sets(rows, first, last)
            clock.check()
            _walk(match, rows, arrays, clock)
    return arrays.result(automaton, state)


def reach_all(sets: ReachableSets, codes: Int32, bounds: Int64, ids: Int32) -> bool:
    """Fill `ids` for all rows; False where there would be too many sets."""
    state = np.array([codes.size - 1, bounds.size - 2, 0], np.int64)
    while (row := reach_back(codes, bounds, sets.steps, ids, state)) >= 0:
        if not sets.add_step(int(state[2]), int(codes[row])):
            return False
    return True


def automaton_fields(match: n.MatchRecognize, automaton: Automaton) -> dict[str, np.ndarray]:
    return {"edges": automaton.edges, "ends": automaton.ends, "skip_member": skip_members(match, automaton)}


def skip_members(match: n.MatchRecognize, automaton: Automaton) -> UInt8:
    """By state: whether AFTER MATCH SKIP TO means its variable."""
    members = match.members(match.skip.variable) if match.skip.variable is not None else frozenset()
    of_variable = np.array([*(name in members for name in automaton.variables), False], np.uint8)
    return of_variable[automaton.variable]


def new_state(match: n.MatchRecognize) -> Int64:
    state = np.zeros(STATE_WORDS, np.int64)
    state[SKIP], state[BUDGET] = _SKIPS[match.skip.to], STEPS_AT_ONCE
    return state


def _walk(match: n.MatchRecognize, rows: Rows, arrays: MatchArrays, clock: Stopwatch) -> None:
    while (status := walk(rows)) != DONE:
        settle(match, status, rows, arrays)
        clock.check()


def settle(match: n.MatchRecognize, status: int, rows: Rows, arrays: MatchArrays) -> None:
    """Make what a kernel came back for."""
    if status == MATCHES_FULL:
        arrays.put_matches_aside(rows.state)
    elif status == PATH_FULL:
        arrays.put_path_aside(rows.state)
    elif status in (NO_SKIP_ROW, SKIP_TO_START):
        raise skip_error(match, status)
    rows.update(**arrays.fields)


def skip_error(match: n.MatchRecognize, status: int) -> DataError:
    variable = match.skip.variable
    if status == NO_SKIP_ROW:
        return DataError(f"AFTER MATCH SKIP TO {variable}: a match has no row of {variable}")
    return DataError(f"AFTER MATCH SKIP TO {variable} leads to the first row of a match, which would be found again")


def _pieces(bounds: Int64, states: int, limits: SqlLimits) -> list[tuple[int, int]]:
    """Ranges of partitions whose rows can have a set of states each."""
    room = max(1, min(limits.memory, 1 << 28) // (8 * words(states)))
    found = []
    first, partitions = 0, bounds.size - 1
    while first < partitions:
        last = max(first + 1, int(np.searchsorted(bounds, bounds[first] + room, "right")) - 1)
        limits.check_memory(8 * words(states) * int(bounds[last] - bounds[first]))
        found.append((first, last))
        first = last
    return found
