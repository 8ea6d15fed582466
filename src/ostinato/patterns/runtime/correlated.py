"""Drives the kernel for patterns that compare events with each other: owns the runs and their registers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ostinato.core.arrays import Bools, Int32, Int64
from ostinato.core.jit.array_struct import ArrayStruct
from ostinato.patterns.kernels import protocol
from ostinato.patterns.kernels import register_layout as layout
from ostinato.patterns.kernels.best_runs import run_best
from ostinato.patterns.kernels.correlated import run_correlated
from ostinato.patterns.kernels.correlated_variants import (
    run_choosing,
    run_folding,
    run_folding_choosing,
    run_programs,
)
from ostinato.patterns.kernels.layout import CorrelatedState
from ostinato.patterns.kernels.runs import collect_runs, rehash
from ostinato.patterns.runtime.batches import Events
from ostinato.patterns.runtime.matcher import Arrays, Matcher, Meta, Scope, double, extend
from ostinato.patterns.runtime.register_terms import TermEncoder
from ostinato.patterns.runtime.run_tables import MOST_BOUNDS, new_run_tables
from ostinato.patterns.runtime.transition_tables import Kind, TransitionTables

_FIRST_RUNS = 1 << 10
_RUNS_IN_BUCKET = 16  # on average: with more buckets, looking at each costs as much as looking at its runs
_KEPT = 32  # collections of runs after which buckets are chosen anew
_MANY_TEXTS = 1 << 12  # fewer are not worth looking through


class Correlated(Matcher):
    """ALL and STRICT, one run per key, state and register contents (patterns/kernels/correlated.py)."""

    KEYED = ("key_count", "killed")
    ARRAYS = ("cursor", *KEYED, "nodes", "runs", "text_ends", "texts")

    STATE, HELPERS = CorrelatedState, (collect_runs, rehash)
    state: CorrelatedState

    def __init__(
        self, transitions: TransitionTables, terms: TermEncoder, scope: Scope, choice: int, *, labelled: bool
    ) -> None:
        """`labelled`: matches of the same events may differ in how these are labelled."""
        self.transitions, self.terms = transitions, terms
        self.kept_buckets = 0  # how many more collections they are kept for
        # The smallest that will do: the others take longer to compile.
        simple = run_programs if transitions.has_programs else run_correlated
        choosing = run_choosing if labelled else run_best
        kernels = (run_folding, run_folding_choosing) if transitions.has_folds else (simple, choosing)
        self.KERNEL: Callable[[CorrelatedState], int] = kernels[choice != layout.NO_CHOICE]
        columns = transitions.width
        run_tables = new_run_tables(
            transitions,
            terms,
            runs=np.zeros((layout.CELLS + columns, _FIRST_RUNS), np.int64),
            candidates=np.zeros(_FIRST_RUNS, np.int32),
            terms=np.zeros((1, 0), np.int64),
            present=np.zeros((1, 0), np.bool_),
        )
        super().__init__(
            scope,
            tables=run_tables,
            choice=choice,
            apart=int(transitions.apart),
            ranking=self._ranking(choice, scope),
            killed=np.zeros((0, 1 + len(transitions.fragile)), np.int64),
            run_heads=_empty_chains(_FIRST_RUNS),
            pending=np.zeros(3 * 64, np.int64),
            roots=np.zeros(2 * 64, np.int64),
            held=np.zeros((columns, 1), np.int64),
            best=np.zeros(0, np.int64),
            target=np.zeros(0, np.int64),
        )
        shape = (len(terms), 1)
        self.one = replace(self.one, terms=np.zeros(shape, np.int64), present=np.zeros(shape, np.bool_))
        self._follow_room()

    def _ranking(self, choice: int, scope: Scope) -> Int32:
        """The order of runs, where the better of two may also stay longer: without a window, or where it is later."""
        may_stay = choice == layout.CHOOSE_LAST or (choice == layout.CHOOSE_NEXT and scope.window == protocol.NO_WINDOW)
        ranking = np.array(self.transitions.ranking() if may_stay else [], np.int32)
        return ranking if (ranking != layout.EQUAL).any() else np.zeros(0, np.int32)

    def _follow_room(self) -> None:
        """Where there is a choice to make, there must be as much room for it as for nodes and paths."""
        state = self.state
        if len(state.best) != len(state.marks) and state.choice != layout.NO_CHOICE:
            state.best = np.zeros_like(state.marks)
        if more := len(state.path) - len(state.target):
            state.target = extend(state.target, more, 0)  # it may hold a choice that is not given out yet

    def _grow_runs(self) -> None:
        state, tables = self.state, self.state.tables
        runs = np.concatenate([tables.runs, np.zeros_like(tables.runs)], axis=1)
        tables.update(runs=runs, candidates=np.zeros(runs.shape[1], np.int32))
        self.scope.limits.check_memory(self.bytes)
        state.run_heads = _empty_chains(runs.shape[1])
        self.kept_buckets = 0

    def show(self, events: Events, mode: int) -> None:
        super().show(events, mode)
        self._follow_kinds()
        terms, present = np.ascontiguousarray(events.terms), np.ascontiguousarray(events.present)
        texts = self.terms.texts
        self.state.tables.update(terms=terms, present=present, text_ends=texts.ends, texts=texts.store)

    def call(self) -> int:
        return self.KERNEL(self.state)

    def provide(self, status: int, events: Events) -> None:
        state = self.state
        if status == protocol.NEED_STEP:
            self.transitions.fill(int(state.cursor[protocol.CODE]))
            state.tables.update(**self.transitions.arrays())
        elif status == protocol.NEED_NODES:
            self._make_room()
        elif status == protocol.NEED_PENDING:
            state.pending, state.roots = double(state.pending), double(state.roots)
        else:
            super().provide(status, events)
            self._follow_room()

    def _make_room(self) -> None:
        """For as many nodes and runs as the event may need: by collecting them, as long as that is worth its while."""
        state, cursor = self.state, self.state.cursor
        collect_runs(state, int(state.lows[cursor[protocol.AT]]) if len(state.lows) else protocol.FOREVER)
        self.kept_buckets -= 1
        if self.kept_buckets < 0:
            self._rebalance()
        needed = cursor[protocol.NEEDED]
        if 4 * cursor[protocol.USED] + needed > len(state.marks):
            self.grow_nodes()
            self._follow_room()
        if 4 * cursor[protocol.RUNS] + needed > state.tables.runs.shape[1]:
            self._grow_runs()
            rehash(state)

    def _rebalance(self) -> None:
        """Choose buckets for the runs that there are now, where they are many. Where the best match is chosen, a place
        is not divided: the worse of its runs are dropped, so that few remain."""
        tables, transitions = self.state.tables, self.transitions
        cells = {cell for cell in transitions.ranged if cell is not None}
        self.kept_buckets = _KEPT
        if self.state.choice != layout.NO_CHOICE or not cells:
            return
        owners, before = self.used[layout.OWNER], int(tables.bound_counts.sum())
        for cell in cells:
            column = transitions.column[cell]
            bounds = np.zeros(0, np.int64)
            if len(owners) >= 2 * _RUNS_IN_BUCKET:
                states = [state for state, ranged in enumerate(transitions.ranged) if ranged == cell]
                own = np.isin(owners % self.states, states)
                values = np.sort(_ordered(self.used[layout.CELLS + column][own], transitions.floating[column]))
                places = max(1, len(np.unique(owners[own])))
                buckets = min(MOST_BOUNDS + 1, len(values) // (_RUNS_IN_BUCKET * places))
                bounds = np.unique(values[np.arange(1, buckets) * len(values) // max(1, buckets)])
            tables.bounds[column, : len(bounds)], tables.bound_counts[column] = bounds, len(bounds)
            transitions.divide(cell, into_buckets=len(bounds) > 0)
        if before or tables.bound_counts.any():
            rehash(self.state)

    def _follow_kinds(self) -> None:
        """Terms may have been widened: what runs hold of them is, too."""
        before, kinds = self.transitions.kinds, self.terms.kinds
        if before == kinds:
            return
        for at, cell in enumerate(self.transitions.registers.cells):
            if before[cell.term] != kinds[cell.term]:
                cells, null = self.used[layout.CELLS + at], (self.used[layout.NULLS] >> at) & 1
                cells[:] = np.where(null, 0, self.terms.encode_wide(pa.array(cells)))
        self._replace_transitions(kinds)
        rehash(self.state)

    def _replace_transitions(self, kinds: Sequence[Kind]) -> None:
        self.transitions = self.transitions.over(kinds)
        self.state.tables.bound_counts[:] = 0
        self.state.tables.update(**self.transitions.arrays())
        self.state.ranking = self._ranking(self.state.choice, self.scope)

    def migrate_terms(self, terms: TermEncoder | None) -> None:
        assert terms is not None
        self.terms = terms
        self._replace_transitions(terms.kinds)
        # What equality looks up may have changed, and NULL equals nothing.
        states = self.used[layout.OWNER] % self.states
        for state, index in enumerate(self.transitions.index):
            for cell in index:
                null = (self.used[layout.NULLS] >> self.transitions.column[cell]) & 1
                self.used[layout.NEWEST][(states == state) & (null == 1)] = layout.DEAD
        rehash(self.state)

    def grow_keys(self, more: int) -> None:
        super().grow_keys(more)
        self.state.killed = extend(self.state.killed, more, 0)

    @property
    def used(self) -> Int64:
        """A column for each run."""
        return self.state.tables.runs[:, : int(self.state.cursor[protocol.RUNS])]

    @property
    def _keys(self) -> Int64:
        keys: Int64 = self.used[layout.OWNER] // self.states
        return keys

    def live_positions(self) -> Int64:
        values = self.used_nodes()[::4]
        return values[values >= 0] >> protocol.SYMBOL_BITS

    def compact(self, low: int) -> None:
        collect_runs(self.state, low)
        if self.terms.texts.size > _MANY_TEXTS:
            self._forget_texts()

    def _forget_texts(self) -> None:
        """All that no run holds, once they are most of many."""
        columns = enumerate(self.transitions.registers.cells)
        held = [self.used[layout.CELLS + at] for at, cell in columns if self.transitions.kind(cell) == "text"]
        live = np.unique(np.concatenate([np.zeros(1, np.int64), *held]))
        if 2 * len(live) > self.terms.texts.size:
            return
        self.terms.keep_texts(live)
        for ids in held:
            ids[:] = np.searchsorted(live, ids)
        rehash(self.state)

    def live_keys(self) -> Bools:
        live: Bools = np.zeros(len(self.state.key_count), np.bool_)
        live[self._keys] = True
        return live

    def keep_keys(self, kept: Int64) -> None:
        states = self.states
        owner = self.used[layout.OWNER]
        owner[:] = np.searchsorted(kept, self._keys) * states + owner % states
        super().keep_keys(kept)
        rehash(self.state)

    def drop_keys(self, keys: Int64) -> None:
        self.used[layout.NEWEST][np.isin(self._keys, keys)] = layout.DEAD
        rehash(self.state)

    @property
    def live(self) -> int:
        return int(self.state.cursor[protocol.USED])

    @property
    def states(self) -> int:
        return len(self.transitions.states)

    # -- snapshots

    def struct_of(self, name: str) -> tuple[ArrayStruct, str]:
        return (self.state.tables, name) if name == "runs" else super().struct_of(name)

    def array(self, name: str) -> npt.NDArray[Any]:
        texts = self.terms.texts
        if name == "text_ends":
            return texts.ends[: texts.size + 1]
        return texts.store[: texts.ends[texts.size]] if name == "texts" else super().array(name)

    def save(self) -> tuple[Meta, Arrays]:
        meta, arrays = super().save()
        return meta | {"wide": sorted(self.terms.wide)}, arrays | {"runs": self.used}

    def load(self, meta: Meta, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        self.terms.set_texts(arrays["text_ends"], arrays["texts"])
        self.terms.widen(meta.get("wide", ()))
        self._follow_kinds()
        for name in ("cursor", *self.KEYED):
            self.set_array(name, arrays[name])
        self.load_nodes(arrays["nodes"])
        self._follow_room()
        while self.state.tables.runs.shape[1] < 2 * arrays["runs"].shape[1]:
            self._grow_runs()
        self.used[:] = arrays["runs"]
        rehash(self.state)


def _ordered(values: Int64, floating: bool) -> Int64:
    """Whole numbers, or the bits of floats, as whole numbers in the same order (`ordered` in kernels/runs.py)."""
    if not floating:
        return values
    found = np.where(values < 0, values ^ np.int64(np.iinfo(np.int64).max), values)
    return np.where(values == np.iinfo(np.int64).min, 0, found)


def _empty_chains(room: int) -> Int32:
    """The two hash tables of runs, where there is room for so many."""
    return np.full((2, 2 * room), -1, np.int32)
