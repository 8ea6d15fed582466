"""NXT and LAST of whole matches within a window, by joining the best runs of its two halves (kernels/ranked.py)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ostinato.core.arrays import Int32, Int64
from ostinato.errors import LimitError
from ostinato.patterns.automata.join_tables import Joins
from ostinato.patterns.automata.tables import StepTables
from ostinato.patterns.kernels import protocol, ranked
from ostinato.patterns.kernels import window_events as window
from ostinato.patterns.kernels import window_halves as halves
from ostinato.patterns.runtime.matcher import (
    Arrays,
    Events,
    Meta,
    Scope,
    doubled,
    extended,
    layout,
    place_all,
    placed_as_json,
    widened,
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

    def __init__(self, tables: StepTables, scope: Scope, *, latest: bool) -> None:
        self.joins: Joins | None = Joins(
            tables.machine.alphabet, latest=latest, max_states=min(MAX_STATES, scope.limits.states)
        )
        self.key_config: Int32 = np.zeros(0, np.int32)
        self.key_slots: Int32 = np.full((0, 1), protocol.NIL, np.int32)
        self.front_slots: Int32 = np.zeros(1, np.int32)
        super().__init__(tables, scope)

    def call(self, events: Events, mode: int, values: Int64, ends: Int64, origins: Int64) -> int:
        if self.joins is None:
            return super().call(events, mode, values, ends, origins)
        back, front = self.joins.back, self.joins.front
        arguments = [*self.call_arguments(events, mode), self.key_config, self.key_epoch, self.key_count]
        arguments += [self.key_slots.ravel(), self.key_slots.shape[1], self.fresh]
        arguments += [back.entries, back.stride, back.ops.array, *layout(back)]
        arguments += [self.heads, self.tails, self.records, self.meaning, self.joins.best, self.front_slots]
        arguments += [front.entries, front.stride, front.ops.array, front.opening.array.ravel(), *layout(front)]
        arguments += [self.nodes, self.marks, self.cursor, values, ends, origins]
        return ranked.run_ranked(*arguments)

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
        config, code = int(self.cursor[protocol.CONFIG]), int(self.cursor[protocol.CODE])
        if status == protocol.NEED_STEP:
            joins.back.fill(config, code)
        elif status == protocol.NEED_FLIP:
            joins.front.fill(config, code)
        else:
            assert status == protocol.NEED_JOIN
            joins.fill(config, code)

    def _make_room(self, events: Events) -> None:
        """Room for records: what silent keys no longer need, where that is worth looking at each of them, or more."""
        if len(events.lows) and len(self.records) >= len(self.key_epoch):
            self.compact(int(events.lows[self.cursor[protocol.AT]]))
        if 2 * np.count_nonzero(self.records[:, window.POSITION] == window.FREED) <= len(self.records):
            self.records = doubled(self.records)
            self._keep_pace()

    def follow_tables(self) -> None:
        super().follow_tables()
        if self.joins is not None:
            back, front = self.joins.back, self.joins.front
            self.key_slots = widened(self.key_slots, back.width)
            self.front_slots = np.full(front.width, protocol.NIL, np.int32)
            self.fresh = np.zeros(2 * max(back.width, front.width), np.int32)
            self.records = widened(self.records, halves.LISTS + front.lists)

    def grow_keys(self, more: int) -> None:
        super().grow_keys(more)
        self.key_config = extended(self.key_config, more, 0)
        self.key_slots = extended(self.key_slots, more, protocol.NIL)
        self._keep_pace()

    def _keep_pace(self) -> None:
        """Collecting visits every key and record, so there must be work enough between two collections."""
        while len(self.marks) < max(2 * len(self.key_epoch), len(self.records)):
            self.grow_nodes()
        self.scope.limits.check_memory(self.bytes)

    def compact(self, low: int) -> None:
        if self.joins is None:
            super().compact(low)
        else:
            arguments: list[Any] = [self.nodes, self.marks, self.cursor, self.key_config, self.key_epoch]
            arguments += [self.key_slots.ravel(), self.key_slots.shape[1], *layout(self.joins.back)]
            arguments += [self.heads, self.records, self.scope.window, low]
            halves.collect_halves(*arguments)

    @property
    def states(self) -> int:
        return super().states if self.joins is None else len(self.joins.back.placed) + len(self.joins.front.placed)

    # -- snapshots

    def save(self) -> tuple[Meta, Arrays]:
        meta, arrays = super().save()
        if self.joins is not None:
            meta |= {"back": placed_as_json(self.joins.back), "front": placed_as_json(self.joins.front)}
        return meta, arrays

    def load(self, meta: Meta, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        if self.joins is not None and "back" in meta:
            place_all(self.joins.back, meta["back"])
            place_all(self.joins.front, meta["front"])
        else:
            self.joins = None
        super().load(meta, arrays)
        self._keep_pace()
