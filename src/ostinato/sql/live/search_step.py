"""One step of the search for matches: its arrays, between batches."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int64
from ostinato.sql.automaton.reachable import all_states
from ostinato.sql.kernels.layout import (
    ANSWER,
    ASK,
    BAD_VALUE,
    BUDGET,
    CALL,
    CLOSED,
    DISTINCT_COUNT,
    DONE,
    FRAME_WORDS,
    FUNCTION,
    MATCHES,
    MOST_TRIED,
    NO,
    OF_FLOATS,
    PARTITION,
    PAUSED,
    TIME,
    TOO_LONG,
    TRIED,
    UNASKED,
    USED,
    VALUES,
    YES,
    Search,
)
from ostinato.sql.kernels.row_codes import code_rows
from ostinato.sql.kernels.search import search_rows
from ostinato.sql.limits import SqlLimits
from ostinato.sql.live.bound_clause import BoundClause
from ostinato.sql.live.partitions import Moved, Partitions
from ostinato.sql.live.row_codes import RowCodes
from ostinato.sql.live.text_order import Renumbered
from ostinato.sql.runtime.find import automaton_fields, new_state, settle
from ostinato.sql.runtime.function_values import FunctionValues, forget
from ostinato.sql.runtime.matches import MatchArrays, Matches
from ostinato.sql.runtime.registers import Columns
from ostinato.sql.runtime.search import (
    FIRST_FAILED,
    STEPS_AT_ONCE,
    ask,
    bad_value,
    explain_bad_value,
    frame_words,
    go_on,
    most_tried,
    program_fields,
    texts_of,
    too_long,
)

NEVER = np.iinfo(np.int64).max
_MANY_TEXTS = 1 << 12
_BY_ROW = ("ints", "floats", "int_nulls", "float_nulls")
_PLACES = {"firsts": "needed", "lasts": "last", "ready": "ready", "begun": "begun", "bases": "base"}
RowsOf = Callable[[Search, int], tuple[pa.Table, int]]


class SearchStep:
    def __init__(self, bound: BoundClause, codes: RowCodes, limits: SqlLimits) -> None:
        self.bound, self.codes, self.limits = bound, codes, limits
        automaton, conditions = bound.automaton, bound.conditions
        constants = codes.columns(codes.constants, 1)
        self.partitions = Partitions(
            {
                "codes": np.zeros(0, np.int32),
                "ids": np.zeros(0, np.int32),
                "row_ids": np.zeros(0, np.int64),
                **({} if bound.match.within is None else {"deadlines": np.zeros(0, np.int64)}),
                **{name: np.ascontiguousarray(constants[name]) for name in _BY_ROW},
            },
            {
                "frames": np.zeros((0, frame_words(conditions)), np.int64),
                "float_frames": np.zeros((0, len(conditions.registers.totals)), np.float64),
            },
        )
        self.functions = FunctionValues(
            conditions.registers.calls, bound.connection, lambda numbers: codes.texts.decode(numbers)
        )
        self.known_codes = 0
        self.unused: MatchArrays | None = None  # what the search would write matches to, if it found none
        self.search = Search(
            bounds=np.zeros(1, np.int64),
            alive=all_states(automaton.states),
            state=new_state(bound.match),
            touched=np.zeros(0, np.int64),
            failed=np.zeros((FIRST_FAILED, 2), np.uint64),
            counts=np.zeros(2, np.int64),
            allowed=np.zeros((0, automaton.states), np.uint8),
            **automaton_fields(bound.match, automaton),
            **{name: value for name, value in self._programs().items() if name not in _BY_ROW},
            **MatchArrays(0, limits).fields,
            **self._fields(),
        )

    def _columns(self) -> Columns:
        of_rows = self.partitions.of_rows
        values = {name: of_rows[name] for name in _BY_ROW}
        return Columns(**values, texts=self.codes.texts.known, decode=self.codes.texts.decode)

    def _programs(self) -> dict[str, Any]:
        return program_fields(self.bound.conditions, self.bound.automaton, self._columns())

    def refresh(self) -> None:
        """The arrays of partitions are others now."""
        self.search.update(**self._fields())

    def _fields(self) -> dict[str, Any]:
        partitions = self.partitions
        of_rows = {name: array for name, array in partitions.of_rows.items() if name != "row_ids"}
        if self.bound.match.within is None:
            of_rows["deadlines"] = np.zeros(0, np.int64)
        return {
            **of_rows,
            **partitions.of_frames,
            **{name: partitions[place] for name, place in _PLACES.items()},
            "rooms": partitions.room,
            "attempts": partitions.attempts,
        }

    def relocate(self, moved: Moved) -> None:
        if moved.everything:  # what is remembered names rows by their places
            self.search.failed[:] = 0
            self.search.counts[0] = 0
        self.refresh()

    def renumber(self, texts: Renumbered) -> None:
        """Texts have other numbers now: those of rows, of the match so far, and of programs."""
        search, registers = self.search, self.bound.conditions.registers
        for column in self.codes.text_columns:
            search.ints[column] = texts.apply(search.ints[column])
        first = FRAME_WORDS + 2 * len(registers.sets) + len(registers.totals)
        for number, total in enumerate(search.totals):
            kept = total[FUNCTION] != DISTINCT_COUNT  # which keeps places
            if kept and not total[OF_FLOATS] and total[VALUES] in self.codes.text_columns:
                search.frames[:, first + number] = texts.apply(search.frames[:, first + number])
        self.renumber_constants()
        search.failed[:] = 0
        search.counts[0] = 0
        forget(search)

    def forget_texts(self, places: Int64) -> None:
        """Keep the texts of rows at these places, of the match so far and of programs."""
        codes, search, registers = self.codes, self.search, self.bound.conditions.registers
        if not codes.text_columns or len(codes.texts.texts) < _MANY_TEXTS:
            return
        first = FRAME_WORDS + 2 * len(registers.sets) + len(registers.totals)
        used = [search.ints[codes.text_columns][:, places].ravel(), search.ints[codes.text_columns, -1]]
        used += [search.frames[:, first + number] for number in range(len(registers.totals))]
        codes.texts.keep(np.unique(np.concatenate(used)), texts_of(self.bound.conditions, self.bound.automaton))
        forget(search)  # numbers may come to stand for other texts

    def renumber_constants(self) -> None:
        """Texts in programs have other numbers now, and those where there is no row."""
        fields = self._programs()
        self.search.update(steps=fields["steps"], labels=fields["labels"])
        constants = self.codes.columns(self.codes.constants, 1)["ints"]
        for column in self.codes.text_columns:
            self.search.ints[column, -1] = constants[column, 0]

    def code_rows(self, parts: Int64, firsts: Int64, lasts: Int64) -> bool:
        """Write what programs say of rows; False where a value cannot be used."""
        self.write_codes()
        return bool(code_rows(self.search, parts, firsts, lasts, len(self.bound.conditions.by_place)))

    def write(self, places: Int64) -> None:
        """Write what was found of rows to their places."""
        of_rows = self.partitions.of_rows
        for name, values in self.codes.written.items():
            of_rows[name][..., places] = values
        self.write_codes()

    def write_codes(self) -> None:
        """What codes mean, where there are new ones."""
        if len(self.codes.book.holds) != self.known_codes:
            self.known_codes = len(self.codes.book.holds)
            automaton = self.bound.automaton
            self.search.update(allowed=self.codes.book.allowed_states(automaton.variable, self.codes.condition))

    def run(self, touched: Int64, now: int, closed: bool, rows_of: RowsOf) -> Matches:
        """Go on with the search in some partitions."""
        search, limits = self.search, self.limits
        state, clock = search.state, limits.clock()
        arrays = MatchArrays(0, limits) if self.unused is None else self.unused
        search.update(touched=touched, **({} if arrays is self.unused else arrays.fields))
        for word, value in {
            PARTITION: 0, MATCHES: 0, USED: 0, TRIED: 0, TIME: now, CLOSED: int(closed), BUDGET: STEPS_AT_ONCE,
            MOST_TRIED: limits.steps, ANSWER: UNASKED,
        }.items():  # fmt: skip
            state[word] = value
        while (status := search_rows(search)) != DONE:
            if status == TOO_LONG:
                raise too_long(self.bound.automaton, search, limits)
            if status == PAUSED:
                go_on(search)
            elif status == ASK:
                state[ANSWER] = YES if self._ask(rows_of) else NO
            elif status == CALL:
                self.functions.find(search)
            elif status == BAD_VALUE:
                self._explain_bad_value(rows_of)
                raise bad_value(self.bound.automaton, search)
            else:
                settle(self.bound.match, status, search, arrays)
            clock.check(partial(most_tried, self.bound.automaton, search))
        found = arrays.result(self.bound.automaton, state)
        self.unused = None if found.count or arrays.found or arrays.paths else arrays
        return found

    def _ask(self, rows_of: RowsOf) -> bool:
        part = int(self.search.touched[self.search.state[PARTITION]])
        table, before = rows_of(self.search, part)
        rows = self.bound.ordered(table, np.array([0, len(table)]))
        return ask(self.bound.match, self.bound.automaton, self.bound.conditions, rows, self.search, before)

    def _explain_bad_value(self, rows_of: RowsOf) -> None:
        bound = self.bound
        table, before = rows_of(self.search, int(self.search.touched[self.search.state[PARTITION]]))
        rows = bound.ordered(table, np.array([0, len(table)]))
        explain_bad_value(bound.match, bound.automaton, bound.conditions, rows, self.search, before)

    def parts_of(self, touched: Int64, starts: Int64) -> Int64:
        """The partitions in which matches begin."""
        bases = self.partitions["base"][touched]
        order = np.argsort(bases, kind="stable")
        return touched[order[np.searchsorted(bases[order], starts, "right") - 1]] if starts.size else starts
