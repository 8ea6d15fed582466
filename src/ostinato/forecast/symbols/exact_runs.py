"""The pattern followed exactly, run by run: for patterns that compare events with each other, and windows in time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ostinato.core.arrays import Bools, Int32, Int64
from ostinato.core.columns.event_codes import PredicateEncoder
from ostinato.core.jit import prefetch
from ostinato.errors import LimitError
from ostinato.forecast.pattern import ForecastPattern
from ostinato.forecast.symbols.automaton import Explorer
from ostinato.forecast.symbols.outcomes import NO_RUN
from ostinato.patterns.automata.registers import Registers
from ostinato.patterns.kernels.register_layout import CELLS, DEAD
from ostinato.patterns.runtime.register_terms import TermEncoder
from ostinato.patterns.runtime.transition_tables import TransitionTables

_MAX_RUNS = 1 << 20


class Follower:
    """The runs of each key of one stream."""

    def __init__(self, pattern: ForecastPattern, schema: pa.Schema, encoder: PredicateEncoder) -> None:
        from ostinato.forecast.kernels.exact_runs import follow_runs

        prefetch(follow_runs)
        registers = Registers(pattern.compiled.transducer)
        self.terms = TermEncoder(registers.terms, schema)
        self.tables = TransitionTables(registers, self.terms.kinds, encoder.truth, lambda _: 1, looked_up=False)
        self.encoder = encoder
        self.consume = pattern.compiled.query.consume != "NONE"
        self.states = pattern.compiled.transducer.states
        self.pool: Int64 = np.zeros((CELLS + max(1, len(registers.cells)), 0), np.int64)
        self.ends: Int64 = np.zeros(1, np.int64)
        self.standing: Int64 = np.zeros((0, self.states), np.int64)  # per key, when its youngest runs began
        self._room = 1 << 10

    def follow(
        self, rows: pa.Table, order: Int64 | None, codes: Int32, keys: Int32, key_count: int, ticks: Int64, lows: Int64
    ) -> tuple[Int64, Int64, Bools]:
        """Per event and state of the transducer, when the youngest run before and after it began (DEAD: there is
        none); and whether the event completes a match. Events are in stream order, `order` are their rows."""
        for code in range(len(self.tables.code_ranges), self.encoder.size):
            self.tables.fill(code)
        values, present = self.terms.encode(rows, order)
        by_key = np.argsort(keys, kind="stable")
        self._grow(key_count)
        events = (codes[by_key], keys[by_key], ticks[by_key], lows[by_key])
        youngest = np.empty((len(codes), self.states), np.int64)
        completes = np.zeros(len(codes), np.bool_)
        self._run(events, (values[:, by_key], present[:, by_key]), youngest, completes)
        before = np.empty_like(youngest)
        in_order = events[1]
        first = np.concatenate([[True], in_order[1:] != in_order[:-1]])[: len(codes)]
        before[1:] = youngest[:-1]
        before[first] = self.standing[in_order[first]]
        last = np.concatenate([first[1:], [True]])[: len(codes)]
        self.standing[in_order[last]] = youngest[last]
        found = (np.empty_like(before), np.empty_like(youngest), np.empty_like(completes))
        for placed, sorted_ in zip(found, (before, youngest, completes), strict=True):
            placed[by_key] = sorted_
        return found

    def _run(self, events: tuple[Any, ...], terms: tuple[Any, ...], youngest: Int64, completes: Bools) -> None:
        """Until there is room enough for all runs; what is kept of a failed try is nothing."""
        from ostinato.forecast.kernels.exact_runs import FollowedRuns, follow_runs
        from ostinato.patterns.runtime.run_tables import new_run_tables

        codes, keys, ticks, lows = events
        values, present = (np.ascontiguousarray(each) for each in terms)
        while True:
            room = self._room
            runs, after = (np.zeros((len(self.pool), room), np.int64) for _ in range(2))
            kept, ends = np.zeros((len(self.pool), 4 * room + self.pool.shape[1]), np.int64), np.zeros_like(self.ends)
            completes[:] = False
            followed = FollowedRuns(
                tables=new_run_tables(
                    self.tables,
                    self.terms,
                    runs=runs,
                    candidates=np.zeros(room + 1, np.int32),
                    terms=values,
                    present=present,
                ),
                codes=codes,
                keys=keys,
                ticks=ticks,
                lows=lows,
                consume=self.consume,
                pool=self.pool,
                pool_ends=self.ends,
                after=after,
                kept=kept,
                kept_ends=ends,
                youngest=youngest,
                completes=completes,
            )
            if follow_runs(followed) == len(codes):
                self.pool, self.ends = np.ascontiguousarray(kept[:, : ends[-1]]), ends
                return
            self._room *= 4
            if self._room > _MAX_RUNS:
                raise LimitError(
                    "runs",
                    _MAX_RUNS,
                    reason="too many partial matches are alive at once",
                    fix="narrow WITHIN, or give conditions that fewer events pass",
                )

    def save(self) -> dict[str, npt.NDArray[Any]]:
        texts = self.terms.texts
        ends = texts.ends[: texts.size + 1]
        arrays = {"pool": self.pool, "ends": self.ends, "standing": self.standing}
        return arrays | {"text_ends": ends, "texts": texts.store[: ends[-1]]}

    def load(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        self.pool, self.ends, self.standing = arrays["pool"], arrays["ends"], arrays["standing"]
        self.terms.set_texts(arrays["text_ends"], arrays["texts"])

    def _grow(self, key_count: int) -> None:
        more = key_count - len(self.standing)
        self.standing = np.concatenate([self.standing, np.full((more, self.states), DEAD, np.int64)])
        self.ends = np.concatenate([self.ends, np.full(key_count + 1 - len(self.ends), self.ends[-1], np.int64)])


def ages(began: Int64, ticks: Int64, explorer: Explorer) -> Int64:
    """How many ticks ago each youngest run began; NO_RUN where there is none that can still complete in time."""
    found = np.where(began == DEAD, NO_RUN, ticks[:, None] - began)
    for state in range(found.shape[1]):
        found[:, state] = np.where(explorer.last_age(state) >= found[:, state], found[:, state], NO_RUN)
    return found
