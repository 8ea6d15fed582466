"""Strategies within a window, by replaying the window: the state of a key is its window's events."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from ostinato.core.arrays import Bools, Int64
from ostinato.patterns.automata.tables import StepTables
from ostinato.patterns.kernels import protocol
from ostinato.patterns.kernels import window_events as window
from ostinato.patterns.kernels.layout import ReplayedState
from ostinato.patterns.kernels.replay import run_replay
from ostinato.patterns.runtime.batches import Events
from ostinato.patterns.runtime.matcher import Arrays, Meta, Scope, Stepped, double, extend


class Replayed(Stepped):
    """MAX, labelled answers, and patterns with too many states for `Ranked`."""

    KEYED = (*Stepped.KEYED, "heads", "tails")
    ARRAYS = ("cursor", *KEYED, "records")

    STATE, KERNEL = ReplayedState, run_replay
    HELPERS: ClassVar[tuple[Any, ...]] = (window.drop_expired,)
    state: ReplayedState

    def __init__(self, tables: StepTables, scope: Scope, **fields: Any) -> None:
        # Windows are replayed one at a time, so all keys share one row of slots.
        super().__init__(
            tables,
            scope,
            rows=1,
            heads=np.zeros(0, np.int32),
            tails=np.zeros(0, np.int32),
            records=np.zeros((1 << 10, window.RECORD_SIZE), np.int64),
            meaning=np.zeros(0, np.int32),
            **fields,
        )

    def call(self) -> int:
        return run_replay(self.state)

    def provide(self, status: int, events: Events) -> None:
        if status == protocol.NEED_RECORDS:
            self.state.records = double(self.state.records)
            self.scope.limits.check_memory(self.bytes)
        elif status == protocol.NEED_CODE:
            self.learn_code(int(self.state.cursor[protocol.CODE]))
        else:
            super().provide(status, events)

    def learn_code(self, code: int) -> None:
        """Find out what events of a code mean to a window."""
        state = self.state
        if code >= len(state.meaning):
            state.meaning = extend(state.meaning, 1 + code, -1)
        alphabet = self.tables.machine.alphabet
        state.meaning[code] = window.INERT * alphabet.is_inert(code) + window.CLOSES * alphabet.closes(code)

    def grow_keys(self, more: int) -> None:
        super().grow_keys(more)
        self.state.heads = extend(self.state.heads, more, protocol.NIL)
        self.state.tails = extend(self.state.tails, more, protocol.NIL)

    def live_positions(self) -> Int64:
        """All that stands in a window."""
        found = self.state.records[: self.live, window.POSITION]
        kept: Int64 = found[found != window.FREED]
        return kept

    def compact(self, low: int) -> None:
        if self.scope.window == protocol.TICK_WINDOW:
            window.drop_expired(self.state, low)

    def live_keys(self) -> Bools:
        state = self.state
        live: Bools = (state.key_epoch == state.cursor[protocol.EPOCH]) & (state.heads >= 0)
        return live

    def drop_keys(self, keys: Int64) -> None:
        state, cursor = self.state, self.state.cursor
        for key in keys[state.key_epoch[keys] == cursor[protocol.EPOCH]].tolist():
            while (head := int(state.heads[key])) >= 0:
                state.heads[key] = state.records[head, window.NEXT]
                state.records[head, window.POSITION] = window.FREED
                state.records[head, window.NEXT] = cursor[protocol.FREE]
                cursor[protocol.FREE] = head
        super().drop_keys(keys)

    @property
    def live(self) -> int:
        return int(self.state.cursor[protocol.RECORDS])

    def save(self) -> tuple[Meta, Arrays]:
        meta, arrays = super().save()
        return meta, arrays | {"records": self.state.records[: max(1, self.live)]}
