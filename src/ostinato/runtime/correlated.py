"""Drives the kernel for patterns that compare events with each other: owns the runs and their registers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ostinato.kernels import protocol
from ostinato.kernels import runs as kernel
from ostinato.kernels.correlated import Plan, run_correlated
from ostinato.runtime.acts import Acts
from ostinato.runtime.matcher import Arrays, Bools, Events, Int64, Matcher, Meta, Scope, doubled, extended
from ostinato.runtime.terms import Terms

_FIRST_RUNS = 1 << 10
_MANY_TEXTS = 1 << 12  # fewer are not worth looking through


class Correlated(Matcher):
    """ALL and STRICT, one run per key, state and register contents (kernels/correlated.py)."""

    KEYED = ("key_count", "killed")
    RUNS = ("owner", "newest", "nulls", "born", "lists")  # a row per run
    ARRAYS = ("cursor", *KEYED, "nodes", *RUNS, "cells", "text_ends", "texts")

    def __init__(self, acts: Acts, terms: Terms, scope: Scope) -> None:
        super().__init__(scope)
        self.acts, self.terms = acts, terms
        columns = max(1, len(acts.registers.cells))
        self.killed: Int64 = np.zeros((0, 1 + len(acts.fragile)), np.int64)
        self.owner, self.newest, self.nulls, self.born, self.lists = (
            np.zeros(_FIRST_RUNS, np.int64) for _ in self.RUNS
        )
        self.cells: Int64 = np.zeros((columns, _FIRST_RUNS), np.int64)
        self.held: Int64 = np.zeros(columns, np.int64)
        self.pending: Int64 = np.zeros(3 * 64, np.int64)
        self._follow_room()

    def _follow_room(self) -> None:
        """What is found anew once there is room for more runs."""
        room = len(self.owner)
        self.candidates, self.next_place, self.next = (np.zeros(room, np.int32) for _ in range(3))
        self.hashes: Int64 = np.zeros((2, room), np.int64)
        self.place_heads, self.heads = (np.full(2 * room, -1, np.int32) for _ in range(2))

    def _grow_runs(self) -> None:
        for name in self.RUNS:
            setattr(self, name, doubled(getattr(self, name)))
        self.cells = np.concatenate([self.cells, np.zeros_like(self.cells)], axis=1)
        self.scope.limits.check_memory(self.bytes)
        self._follow_room()

    def _runs(self) -> kernel.Runs:
        return kernel.Runs(
            owner=self.owner,
            newest=self.newest,
            next_place=self.next_place,
            nulls=self.nulls,
            cells=self.cells,
            floats=self.cells.view(np.float64),
            born=self.born,
            lists=self.lists,
            next=self.next,
            hashes=self.hashes,
            place_heads=self.place_heads,
            heads=self.heads,
            killed=self.killed,
        )

    def _layout(self) -> kernel.Layout:
        return kernel.Layout(self.acts.states, self.acts.cells.array.ravel(), self.acts.floating)

    def call(self, events: Events, mode: int, values: Int64, ends: Int64, origins: Int64) -> int:
        acts, texts = self.acts, self.terms.texts
        tables = (acts.kills, acts.probes, acts.tests, acts.steps, acts.writes)
        plan = Plan(acts.codes.array[: len(acts.codes)], acts.acts.array, *(table.array for table in tables))
        terms = kernel.Terms(events.terms, events.terms.view(np.float64), events.present, texts.ends, texts.store)
        arguments = [*self.call_arguments(events, mode), self.key_count, plan, self._layout(), terms, self._runs()]
        arguments += [self.candidates, self.pending, self.held, self.held.view(np.float64)]
        arguments += [self.nodes, self.marks, self.cursor, self.stack, self.path, values, ends, origins]
        return run_correlated(*arguments)

    def provide(self, status: int, events: Events) -> None:
        if status == protocol.NEED_STEP:
            self.acts.fill(int(self.cursor[protocol.CODE]))
        elif status == protocol.NEED_PENDING:
            self.pending = doubled(self.pending)
        elif status == protocol.NEED_RUNS:
            self._grow_runs()
            self._rehash()
        else:
            super().provide(status, events)

    def grow_keys(self, more: int) -> None:
        super().grow_keys(more)
        self.killed = extended(self.killed, more, 0)

    @property
    def used(self) -> slice:
        return slice(int(self.cursor[protocol.RUNS]))

    @property
    def _keys(self) -> Int64:
        return self.owner[self.used] // len(self.acts.states)

    def live_positions(self) -> Int64:
        values = self.used_nodes()[::4]
        return values[values >= 0] >> protocol.SYMBOL_BITS

    def compact(self, low: int) -> None:
        kernel.collect_runs(
            *(self._layout(), self._runs(), self.key_count, self.nodes, self.marks, self.cursor),
            *(self.scope.window, self.scope.width, low),
        )
        if self.terms.texts.size > _MANY_TEXTS:
            self._forget_texts()

    def _forget_texts(self) -> None:
        """All that no run holds, once they are most of many."""
        columns = enumerate(self.acts.registers.cells)
        held = [self.cells[at, self.used] for at, (_, term) in columns if self.terms.kinds[term] == "text"]
        live = np.unique(np.concatenate([np.zeros(1, np.int64), *held]))
        if 2 * len(live) > self.terms.texts.size:
            return
        self.terms.keep_texts(live)
        for ids in held:
            ids[:] = np.searchsorted(live, ids)
        self._rehash()

    def _rehash(self) -> None:
        kernel.rehash(self._layout(), self._runs(), self.cursor)

    def live_keys(self) -> Bools:
        live: Bools = np.zeros(len(self.key_count), np.bool_)
        live[self._keys] = True
        return live

    def keep_keys(self, kept: Int64) -> None:
        states = len(self.acts.states)
        self.owner[self.used] = np.searchsorted(kept, self._keys) * states + self.owner[self.used] % states
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
        arrays |= {name: getattr(self, name)[self.used] for name in self.RUNS}
        return meta, arrays | {"cells": self.cells[:, self.used]}

    def load(self, meta: Meta, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        self.terms.set_texts(arrays["text_ends"], arrays["texts"])
        for name in ("cursor", *self.KEYED):
            setattr(self, name, arrays[name])
        self.load_nodes(arrays["nodes"])
        while len(self.owner) < 2 * len(arrays["owner"]):
            self._grow_runs()
        for name in self.RUNS:
            getattr(self, name)[self.used] = arrays[name]
        self.cells[:, self.used] = arrays["cells"]
        self._rehash()
