"""Drives the kernel for patterns that compare events with each other: owns the runs and their registers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ostinato.core.arrays import Bools, Int32, Int64
from ostinato.patterns.kernels import protocol
from ostinato.patterns.kernels import runs as kernel
from ostinato.patterns.kernels.best_match import NO_CHOICE
from ostinato.patterns.kernels.correlated import run_correlated
from ostinato.patterns.kernels.register_tests import STACK
from ostinato.patterns.runtime.matcher import Arrays, Events, Matcher, Meta, Scope, doubled, extended
from ostinato.patterns.runtime.register_terms import TermEncoder
from ostinato.patterns.runtime.transition_tables import Acts

_FIRST_RUNS = 1 << 10
_MANY_TEXTS = 1 << 12  # fewer are not worth looking through


class Correlated(Matcher):
    """ALL and STRICT, one run per key, state and register contents (patterns/kernels/correlated.py)."""

    KEYED = ("key_count", "killed")
    ARRAYS = ("cursor", *KEYED, "nodes", "runs", "text_ends", "texts")

    def __init__(self, acts: Acts, terms: TermEncoder, scope: Scope, choice: int) -> None:
        super().__init__(scope)
        self.choice = choice
        self.acts, self.terms = acts, terms
        columns = max(1, len(acts.registers.cells))
        self.killed: Int64 = np.zeros((0, 1 + len(acts.fragile)), np.int64)
        self.runs: Int64 = np.zeros((kernel.CELLS + columns, _FIRST_RUNS), np.int64)
        self.held: Int64 = np.zeros((columns, 1), np.int64)
        self.pending, self.roots = np.zeros(3 * 64, np.int64), np.zeros(2 * 64, np.int64)
        self.program = (np.zeros(STACK, np.int32), np.zeros(STACK, np.int64), np.zeros(STACK, np.float64))
        self._best, self._target = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._follow_room()

    def _follow_room(self) -> None:
        """What is found anew once there is room for more runs."""
        room = self.runs.shape[1]
        self.candidates: Int32 = np.zeros(room, np.int32)
        self.heads: Int32 = np.full((2, 2 * room), -1, np.int32)

    def _grow_runs(self) -> None:
        self.runs = np.concatenate([self.runs, np.zeros_like(self.runs)], axis=1)
        self.scope.limits.check_memory(self.bytes)
        self._follow_room()

    def call(self, events: Events, mode: int, values: Int64, ends: Int64, origins: Int64) -> int:
        acts, texts = self.acts, self.terms.texts
        arguments: list[Any] = [*self.call_arguments(events, mode), self.choice, self.key_count, self.killed]
        arguments += [acts.codes.array[: len(acts.codes)], acts.acts.array, acts.kills.array, acts.probes.array]
        arguments += [acts.tests.array, acts.steps.array, acts.writes.array, *self._layout(), acts.floating]
        arguments += [events.terms, events.terms.view(np.float64), events.present, texts.ends, texts.store]
        arguments += [self.runs, self.runs.view(np.float64), self.heads, self.candidates, self.pending]
        arguments += [self.held, self.held.view(np.float64), self.roots, self.best, self.target, *self.program]
        arguments += [self.nodes, self.marks, self.cursor]
        arguments += [self.stack, self.path, values, ends, origins]
        return int(run_correlated(*arguments))

    def _layout(self) -> tuple[Int32, Int32]:
        return self.acts.states, self.acts.cells.array.ravel()

    def provide(self, status: int, events: Events) -> None:
        if status == protocol.NEED_STEP:
            self.acts.fill(int(self.cursor[protocol.CODE]))
        elif status == protocol.NEED_PENDING:
            self.pending, self.roots = doubled(self.pending), doubled(self.roots)
        elif status == protocol.NEED_RUNS:
            self._grow_runs()
            self._rehash()
        else:
            super().provide(status, events)

    @property
    def best(self) -> Int64:
        """As much room as `marks` has; only where there is a choice to make."""
        if len(self._best) != len(self.marks) and self.choice != NO_CHOICE:
            self._best = np.zeros_like(self.marks)
        return self._best

    @property
    def target(self) -> Int64:
        if len(self._target) != len(self.path):
            self._target = np.zeros_like(self.path)
        return self._target

    def adopt(self, terms: TermEncoder | None) -> None:
        assert terms is not None
        self.terms = terms
        self.acts = self.acts.over(terms.kinds)
        # What equality looks up may have changed, and NULL equals nothing.
        states = self.used[kernel.OWNER] % len(self.acts.states)
        for state, index in enumerate(self.acts.index):
            for cell in index:
                null = (self.used[kernel.NULLS] >> self.acts.column[cell]) & 1
                self.used[kernel.NEWEST][(states == state) & (null == 1)] = kernel.DEAD
        self._rehash()

    def grow_keys(self, more: int) -> None:
        super().grow_keys(more)
        self.killed = extended(self.killed, more, 0)

    @property
    def used(self) -> Int64:
        """A column for each run."""
        return self.runs[:, : int(self.cursor[protocol.RUNS])]

    @property
    def _keys(self) -> Int64:
        keys: Int64 = self.used[kernel.OWNER] // len(self.acts.states)
        return keys

    def live_positions(self) -> Int64:
        values = self.used_nodes()[::4]
        return values[values >= 0] >> protocol.SYMBOL_BITS

    def compact(self, low: int) -> None:
        arguments: list[Any] = [self.acts.states, self.runs, self.heads, self.killed, self.key_count, self.nodes]
        arguments += [self.marks, self.cursor, self.scope.window, self.scope.width, low]
        kernel.collect_runs(*arguments)
        if self.terms.texts.size > _MANY_TEXTS:
            self._forget_texts()

    def _forget_texts(self) -> None:
        """All that no run holds, once they are most of many."""
        columns = enumerate(self.acts.registers.cells)
        held = [self.used[kernel.CELLS + at] for at, (_, term) in columns if self.terms.kinds[term] == "text"]
        live = np.unique(np.concatenate([np.zeros(1, np.int64), *held]))
        if 2 * len(live) > self.terms.texts.size:
            return
        self.terms.keep_texts(live)
        for ids in held:
            ids[:] = np.searchsorted(live, ids)
        self._rehash()

    def _rehash(self) -> None:
        kernel.rehash(*self._layout(), self.runs, self.heads, self.cursor)

    def live_keys(self) -> Bools:
        live: Bools = np.zeros(len(self.key_count), np.bool_)
        live[self._keys] = True
        return live

    def keep_keys(self, kept: Int64) -> None:
        states = len(self.acts.states)
        owner = self.used[kernel.OWNER]
        owner[:] = np.searchsorted(kept, self._keys) * states + owner % states
        super().keep_keys(kept)
        self._rehash()

    @property
    def live(self) -> int:
        return int(self.cursor[protocol.USED])

    @property
    def states(self) -> int:
        return len(self.acts.states)

    # -- snapshots

    @property
    def texts(self) -> npt.NDArray[np.uint8]:
        known = self.terms.texts
        return known.store[: known.ends[known.size]]

    @property
    def text_ends(self) -> Int64:
        return self.terms.texts.ends[: self.terms.texts.size + 1]

    def save(self) -> tuple[Meta, Arrays]:
        meta, arrays = super().save()
        return meta, arrays | {"runs": self.used}

    def load(self, meta: Meta, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        self.terms.set_texts(arrays["text_ends"], arrays["texts"])
        for name in ("cursor", *self.KEYED):
            setattr(self, name, arrays[name])
        self.load_nodes(arrays["nodes"])
        while self.runs.shape[1] < 2 * arrays["runs"].shape[1]:
            self._grow_runs()
        self.used[:] = arrays["runs"]
        self._rehash()
