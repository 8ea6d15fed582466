"""Strategies within a window, by replaying the window: the state of a key is its window's events."""

from __future__ import annotations

import numpy as np

from ostinato.core.arrays import Bools, Int32, Int64
from ostinato.patterns.automata.tables import StepTables
from ostinato.patterns.kernels import protocol
from ostinato.patterns.kernels import window_events as window
from ostinato.patterns.kernels.replay import run_replay
from ostinato.patterns.runtime.matcher import Arrays, Events, Meta, Scope, Stepped, doubled, extended, widened


class Replayed(Stepped):
    """MAX, labelled answers, and patterns with too many states for `Ranked`."""

    KEYED = (*Stepped.KEYED, "heads", "tails")
    ARRAYS = ("cursor", *KEYED, "records")

    def __init__(self, tables: StepTables, scope: Scope) -> None:
        super().__init__(tables, scope)
        self.heads: Int32 = np.zeros(0, np.int32)
        self.tails: Int32 = np.zeros(0, np.int32)
        self.records: Int64 = np.zeros((1 << 10, window.RECORD_SIZE), np.int64)
        # Windows are replayed one at a time, so all keys share one row of slots.
        self.slots: Int32 = np.full((1, 1), protocol.NIL, np.int32)
        self.meaning: Int32 = np.zeros(0, np.int32)  # of each code, see patterns/kernels/window_events.py
        self.follow_tables()

    def call(self, events: Events, mode: int, values: Int64, ends: Int64, origins: Int64) -> int:
        tables = self.tables
        arguments = [*self.call_arguments(events, mode), self.key_epoch, self.key_count, self.heads, self.tails]
        arguments += [self.records, self.meaning, self.slots.ravel(), self.fresh]
        arguments += [tables.entries, tables.stride, tables.ops.array, tables.emits.array]
        arguments += [self.nodes, self.cursor, self.stack, self.path, values, ends, origins]
        return run_replay(*arguments)

    def provide(self, status: int, events: Events) -> None:
        if status == protocol.NEED_RECORDS:
            self.records = doubled(self.records)
            self.scope.limits.check_memory(self.bytes)
        elif status == protocol.NEED_CODE:
            self.learn(int(self.cursor[protocol.CODE]))
        else:
            super().provide(status, events)

    def learn(self, code: int) -> None:
        if code >= len(self.meaning):
            self.meaning = extended(self.meaning, 1 + code, -1)
        alphabet = self.tables.machine.alphabet
        self.meaning[code] = window.INERT * alphabet.inert(code) + window.CLOSES * alphabet.closes(code)

    def follow_tables(self) -> None:
        self.slots = widened(self.slots, self.tables.width)
        self.fresh = np.zeros(2 * self.tables.width, np.int32)

    def grow_keys(self, more: int) -> None:
        super().grow_keys(more)
        self.heads = extended(self.heads, more, protocol.NIL)
        self.tails = extended(self.tails, more, protocol.NIL)

    def live_positions(self) -> Int64:
        """All that stands in a window."""
        found = self.records[: int(self.cursor[protocol.RECORDS]), window.POSITION]
        kept: Int64 = found[found != window.FREED]
        return kept

    def compact(self, low: int) -> None:
        if self.scope.window == protocol.TICK_WINDOW:
            window.drop_expired(low, self.key_epoch, self.heads, self.records, self.cursor)

    def live_keys(self) -> Bools:
        live: Bools = (self.key_epoch == self.cursor[protocol.EPOCH]) & (self.heads >= 0)
        return live

    @property
    def live(self) -> int:
        return int(self.cursor[protocol.RECORDS])

    def save(self) -> tuple[Meta, Arrays]:
        meta, arrays = super().save()
        return meta, arrays | {"records": self.records[: max(1, int(self.cursor[protocol.RECORDS]))]}
