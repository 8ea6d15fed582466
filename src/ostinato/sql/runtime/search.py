"""The matches of patterns whose conditions look at the match so far."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int32, Int64, UInt8
from ostinato.errors import DataError, Limit, LimitError, Message
from ostinato.sql.automaton.build import Automaton
from ostinato.sql.automaton.reachable import ReachableSets, all_states
from ostinato.sql.kernels.layout import (
    ANSWER,
    ASK,
    ASKED,
    BAD_VALUE,
    BUDGET,
    CALL,
    CLOSED,
    DEPTH,
    DONE,
    FOUND,
    FRAME_WORDS,
    FRAMES_FULL,
    MOST_TRIED,
    NO,
    PARTITION,
    PAUSED,
    START,
    STATE,
    TOO_LONG,
    TRIED,
    UNASKED,
    YES,
    Search,
)
from ostinato.sql.kernels.search import search_rows
from ostinato.sql.limits import SqlLimits
from ostinato.sql.runtime.conditions import Conditions
from ostinato.sql.runtime.decisions import tests_of
from ostinato.sql.runtime.errors import blame
from ostinato.sql.runtime.find import automaton_fields, new_state, reach_all, settle
from ostinato.sql.runtime.function_values import FunctionValues, call_fields
from ostinato.sql.runtime.input import OrderedRows
from ostinato.sql.runtime.live_reads import live_reads
from ostinato.sql.runtime.matches import MatchArrays, Matches
from ostinato.sql.runtime.measures import Measures
from ostinato.sql.runtime.output import Output
from ostinato.sql.runtime.registers import Columns, Text
from ostinato.sql.syntax import nodes as n

_FIRST_FRAMES = 1024
FIRST_FAILED = 1 << 12
_MOST_FAILED = 1 << 22
STEPS_AT_ONCE = 1_000_000  # of a search, between looks at the clock


def texts_of(conditions: Conditions, automaton: Automaton) -> set[str]:
    """The texts that programs compare with."""
    named = {a.value for steps in conditions.steps.values() for _, a, _ in steps if isinstance(a, Text)}
    return named | set(automaton.variables)


def program_fields(conditions: Conditions, automaton: Automaton, columns: Columns) -> dict[str, Any]:
    """The programs of a clause and what they read, as arrays."""
    registers = conditions.registers
    steps: list[tuple[int, int, int, int, int]] = []
    programs = [0]
    deepest = 1
    of_variables = [conditions.steps.get(variable, []) for variable in range(len(automaton.variables))]
    for own in (*of_variables, *conditions.by_place):
        read = [(op, columns.texts[a.value] if isinstance(a, Text) else a, b) for op, a, b in own]
        steps += tests_of(read) or [(*each, 0, 0) for each in read]
        programs.append(len(steps))
        deepest = max(deepest, len(own))
    edges = [automaton.edges[first:last] for first, last in zip(automaton.ends, automaton.ends[1:], strict=False)]
    targets = [each[each >= 0].tolist() for each in edges]
    live = live_reads(targets, automaton.variable.tolist(), conditions.reads, registers.sets)
    members = [[int(variable in each) for variable in range(len(automaton.variables))] for each in registers.sets]
    width = len(automaton.variables)
    return {
        "members": np.array(members, np.uint8).reshape(len(members), width),
        "variables": automaton.variable,
        "steps": np.array(steps, np.int64).reshape(-1, 5),
        "programs": np.array(programs, np.int64),
        "places": np.array(registers.places, np.int64).reshape(-1, 4),
        "totals": np.array(registers.totals, np.int64).reshape(-1, 4),
        "constants": np.array(registers.constants, np.float64),
        "labels": np.array([columns.texts[name] for name in automaton.variables], np.int64),
        "live": np.array([tuple(read) for each in live for read in each], np.int64).reshape(-1, 3),
        "live_ends": np.concatenate([[0], np.cumsum([len(each) for each in live])]).astype(np.int64),
        "tried": np.zeros(width, np.int64),
        **call_fields(registers.calls),
        "stack": np.zeros((deepest + 2, 2), np.int64),
        "float_stack": np.zeros(deepest + 2, np.float64),
        **column_fields(columns),
    }


def column_fields(columns: Columns) -> dict[str, Any]:
    return {
        "ints": columns.ints,
        "floats": columns.floats,
        "int_nulls": columns.int_nulls,
        "float_nulls": columns.float_nulls,
    }


def frame_words(conditions: Conditions) -> int:
    return FRAME_WORDS + 2 * (len(conditions.registers.sets) + len(conditions.registers.totals))


def search_matches(
    match: n.MatchRecognize,
    automaton: Automaton,
    conditions: Conditions,
    columns: Columns,
    rows: OrderedRows,
    codes: Int32,
    allowed: UInt8,
    limits: SqlLimits,
) -> Matches:
    clock = limits.clock()
    bounds = rows.bounds
    ids, alive = _reachable(automaton, codes, allowed, bounds)
    state = new_state(match)
    state[CLOSED], state[ANSWER], state[MOST_TRIED], state[BUDGET] = 1, UNASKED, limits.steps, STEPS_AT_ONCE
    arrays = MatchArrays(codes.size, limits)
    count = bounds.size - 1
    attempts = np.zeros((count, 3), np.int64)
    attempts[:, START], attempts[:, DEPTH] = bounds[:-1], -1
    search = Search(
        codes=codes,
        allowed=allowed,
        bounds=bounds,
        ids=ids,
        alive=alive,
        state=state,
        firsts=bounds[:-1].copy(),
        lasts=bounds[1:].copy(),
        ready=bounds[1:].copy(),
        deadlines=np.zeros(0, np.int64),
        begun=bounds[:-1].copy(),
        touched=np.arange(count),
        attempts=attempts,
        bases=np.zeros(1, np.int64),
        rooms=np.array([_FIRST_FRAMES], np.int64),
        frames=np.zeros((_FIRST_FRAMES, frame_words(conditions)), np.int64),
        float_frames=np.zeros((_FIRST_FRAMES, len(conditions.registers.totals)), np.float64),
        failed=np.zeros((FIRST_FAILED, 2), np.uint64),
        counts=np.zeros(2, np.int64),
        **automaton_fields(match, automaton),
        **program_fields(conditions, automaton, columns),
        **arrays.fields,
    )
    functions = FunctionValues(conditions.registers.calls, rows.source.connection, columns.decode)
    while (status := search_rows(search)) != DONE:
        if status == FRAMES_FULL:
            _more_frames(search, limits)
        elif status == TOO_LONG:
            raise too_long(automaton, search, limits)
        elif status == PAUSED:
            go_on(search)
        elif status == ASK:
            state[ANSWER] = YES if ask(match, automaton, conditions, rows, search) else NO
        elif status == CALL:
            functions.find(search)
        elif status == BAD_VALUE:
            explain_bad_value(match, automaton, conditions, rows, search)
            raise bad_value(automaton, search)
        else:
            settle(match, status, search, arrays)
        clock.check(partial(most_tried, automaton, search))
    return arrays.result(automaton, state)


def _reachable(automaton: Automaton, codes: Int32, allowed: UInt8, bounds: Int64) -> tuple[Int32, Any]:
    """From which states a match can be completed as far as codes say; where that takes too much, nothing is said."""
    sets = ReachableSets(automaton, allowed)
    ids = np.empty(codes.size, np.int32)
    if reach_all(sets, codes, bounds, ids):
        return ids, sets.alive
    return np.zeros(codes.size, np.int32), all_states(automaton.states)


def _more_frames(search: Search, limits: SqlLimits) -> None:
    """Twice as many; all partitions take turns with them."""
    limits.check_memory(4 * (search.frames.nbytes + search.float_frames.nbytes))
    search.update(
        frames=np.concatenate([search.frames, np.zeros_like(search.frames)]),
        float_frames=np.concatenate([search.float_frames, np.zeros_like(search.float_frames)]),
        rooms=search.rooms * 2,
    )


def ask(
    match: n.MatchRecognize,
    automaton: Automaton,
    conditions: Conditions,
    rows: OrderedRows,
    search: Search,
    first: int | None = None,
) -> bool:
    """What DuckDB says about a condition for the match that is sought, with the row that is tried. `first` is where it
    begins in `rows`, where they are not all rows."""
    return _say(conditions.asked[int(search.state[ASKED])], match, automaton, rows, search, first)


def explain_bad_value(
    match: n.MatchRecognize,
    automaton: Automaton,
    conditions: Conditions,
    rows: OrderedRows,
    search: Search,
    first: int | None = None,
) -> None:
    """Let DuckDB say what is wrong, where one of its functions fails."""
    if conditions.registers.calls:
        name = _tried(automaton, search)
        for each in match.definitions:
            if each.name == name:
                _say(each.condition, match, automaton, rows, search, first)


def _say(
    condition: n.Sql,
    match: n.MatchRecognize,
    automaton: Automaton,
    rows: OrderedRows,
    search: Search,
    first: int | None,
) -> bool:
    partition = int(search.touched[search.state[PARTITION]])
    start, depth, found = (int(search.attempts[partition, word]) for word in (START, DEPTH, FOUND))
    base = int(search.bases[min(partition, search.bases.size - 1)])
    path = search.frames[base + 1 : base + depth + 2, STATE].astype(np.uint16)
    one = np.array([found + 1], np.int64)
    matches = Matches(
        automaton, np.array([start if first is None else first], np.int64), np.array([depth + 1], np.int64), one, path
    )
    output = Output(match, rows, matches, np.zeros(1, np.int64), np.array([depth], np.int64), False)
    name = _tried(automaton, search)
    written = next((each.condition for each in match.definitions if each.name == name), condition)
    with blame(written, f"the condition of {name}"):
        (answer,) = Measures(output).evaluate([condition])
    return bool(answer.cast(pa.bool_())[0].as_py())


def _tried(automaton: Automaton, search: Search) -> str:
    """The variable of the row that is tried."""
    partition = int(search.touched[search.state[PARTITION]])
    base, depth = int(search.bases[min(partition, search.bases.size - 1)]), int(search.attempts[partition, DEPTH])
    return automaton.variables[int(automaton.variable[int(search.frames[base + depth + 1, STATE])])]


def go_on(search: Search) -> None:
    """For so many steps; with more room for what leads nowhere, where one match needs it."""
    search.state[BUDGET] = STEPS_AT_ONCE
    room = search.failed.shape[0]
    if search.state[TRIED] > room and room < _MOST_FAILED:
        search.update(failed=np.zeros((4 * room, 2), np.uint64))
        search.counts[0] = 0


def most_tried(automaton: Automaton, search: Search) -> str:
    """Where the time goes."""
    name = automaton.variables[int(np.argmax(search.tried))]
    return f", most of it for the condition of {name}" if search.tried.any() else ""


def too_long(automaton: Automaton, search: Search, limits: SqlLimits) -> LimitError:
    name = automaton.variables[int(np.argmax(search.tried))]
    return LimitError(
        "steps",
        limits.steps,
        reason=f"the search for one match takes too many steps, most of them for the condition of {name}",
        fix=Message(
            f"make {name} compare with fewer rows of the match, bound the pattern, or raise ",
            Limit("steps", "SqlLimits"),
        ),
    )


def bad_value(automaton: Automaton, search: Search) -> DataError:
    return DataError(
        f"a value in the condition of {_tried(automaton, search)} is out of range, or divided by zero",
        fix="cast the operands to DOUBLE, or guard the division with CASE",
    )
