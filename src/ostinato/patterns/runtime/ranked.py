"""NXT and LAST of whole matches within a window, by joining the best runs of its two halves (kernels/ranked.py)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ostinato.core.jit.array_struct import ArrayStruct
from ostinato.errors import LimitError
from ostinato.patterns.automata.join_tables import Joins
from ostinato.patterns.automata.tables import StepTables
from ostinato.patterns.kernels import protocol, ranked
from ostinato.patterns.kernels import window_events as window
from ostinato.patterns.kernels import window_halves as halves
from ostinato.patterns.kernels.layout import RankedState
from ostinato.patterns.kernels.replay import run_replay
from ostinato.patterns.runtime.batches import Events
from ostinato.patterns.runtime.matcher import (
    Arrays,
    Meta,
    Scope,
    double,
    extend,
    follow_tables,
    new_steps,
    place_all,
    placed_to_json,
    widen,
)
from ostinato.patterns.runtime.replay import Replayed

# How many configurations of a half are worth computing. Beyond, replaying windows takes less time and memory.
MAX_STATES = 1000


class Ranked(Replayed):
    """Two halves per window, as long as they have few configurations; then windows are replayed after all.

    Both ways keep the same records, so that one can take over from the other between any two events.
    """

    KEYED = (*Replayed.KEYED, "key_config", "key_slots")
    ARRAYS = ("cursor", *KEYED, "records", "nodes")

    STATE, KERNEL = RankedState, ranked.run_ranked
    HELPERS = (run_replay, window.drop_expired, halves.collect_halves)
    state: RankedState

    def __init__(self, tables: StepTables, scope: Scope, *, latest: bool) -> None:
        max_states = min(MAX_STATES, scope.limits.states)
        joins = Joins(tables.machine.alphabet, latest=latest, max_states=max_states)
        self.joins: Joins | None = joins
        super().__init__(
            tables,
            scope,
            key_config=np.zeros(0, np.int32),
            back=new_steps(joins.back, rows=0),
            front=new_steps(joins.front, rows=1),  # of one window at a time
            openings=joins.front.opening.array.ravel(),
            joins=joins.best,
        )
        self.follow_tables()

    def call(self) -> int:
        return super().call() if self.joins is None else ranked.run_ranked(self.state)

    def provide(self, status: int, events: Events) -> None:
        if self.joins is None or status in (protocol.NEED_CODE, protocol.NEED_NODES):
            super().provide(status, events)
        elif status == protocol.NEED_RECORDS:
            self._make_room(events)
        else:
            try:
                self._fill(self.joins, status)
            except LimitError:
                self.joins = None
            self.follow_tables()

    def _fill(self, joins: Joins, status: int) -> None:
        cursor = self.state.cursor
        config, code = int(cursor[protocol.CONFIG]), int(cursor[protocol.CODE])
        if status == protocol.NEED_STEP:
            joins.back.fill(config, code)
        elif status == protocol.NEED_FLIP:
            joins.front.fill(config, code)
        else:
            assert status == protocol.NEED_JOIN
            joins.fill(config, code)

    def _make_room(self, events: Events) -> None:
        """Room for records: what silent keys no longer need, where that is worth looking at each of them, or more."""
        state = self.state
        if len(events.lows) and len(state.records) >= len(state.key_epoch):
            self.compact(int(events.lows[state.cursor[protocol.AT]]))
        if 2 * np.count_nonzero(state.records[:, window.POSITION] == window.FREED) <= len(state.records):
            state.records = double(state.records)
            self._keep_pace()

    def follow_tables(self) -> None:
        super().follow_tables()
        if self.joins is not None:
            state, back, front = self.state, self.joins.back, self.joins.front
            follow_tables(state.back, back)
            follow_tables(state.front, front)
            state.front.slots[:] = protocol.NIL
            state.openings, state.joins = front.opening.array.ravel(), self.joins.best
            state.records = widen(state.records, halves.LISTS + front.lists)

    def grow_keys(self, more: int) -> None:
        super().grow_keys(more)
        state = self.state
        state.key_config = extend(state.key_config, more, 0)
        state.back.slots = extend(state.back.slots, more, protocol.NIL)
        self._keep_pace()

    def _keep_pace(self) -> None:
        """Collecting visits every key and record, so there must be work enough between two collections."""
        while len(self.state.marks) < max(2 * len(self.state.key_epoch), len(self.state.records)):
            self.grow_nodes()
        self.scope.limits.check_memory(self.bytes)

    def compact(self, low: int) -> None:
        if self.joins is None:
            super().compact(low)
        else:
            halves.collect_halves(self.state, low)

    def struct_of(self, name: str) -> tuple[ArrayStruct, str]:
        return (self.state.back, "slots") if name == "key_slots" else super().struct_of(name)

    @property
    def states(self) -> int:
        return super().states if self.joins is None else len(self.joins.back.placed) + len(self.joins.front.placed)

    # -- snapshots

    def save(self) -> tuple[Meta, Arrays]:
        meta, arrays = super().save()
        if self.joins is not None:
            meta |= {"back": placed_to_json(self.joins.back), "front": placed_to_json(self.joins.front)}
        return meta, arrays

    def load(self, meta: Meta, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        if self.joins is not None and "back" in meta:
            place_all(self.joins.back, meta["back"])
            place_all(self.joins.front, meta["front"])
        else:
            self.joins = None
        super().load(meta, arrays)
        self._keep_pace()
