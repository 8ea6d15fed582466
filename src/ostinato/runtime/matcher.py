"""Drives the kernels: owns their arrays, answers their requests for steps and room, hands out chunks of matches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ostinato.automata.tables import Tables
from ostinato.kernels import match, replay
from ostinato.runtime.limits import Limits

Int64 = npt.NDArray[np.int64]
Int32 = npt.NDArray[np.int32]

_CHUNK_VALUES = 1 << 20  # marked events per chunk of output; more when one match is longer


@dataclass(frozen=True)
class Events:
    """One batch as the kernels see it. Empty arrays mean: one key, rows as they come, no ticks needed."""

    codes: Int32
    keys: Int32
    key_count: int
    positions: Int64
    first_position: int
    ticks: Int64
    lows: Int64


@dataclass(frozen=True)
class Chunk:
    """Complete matches: `offsets` cut `values` (position << 8 | symbol); `origins` index the completing events."""

    values: Int64
    offsets: Int64
    origins: Int64

    def __len__(self) -> int:
        return len(self.origins)


class Matcher:
    """State of all keys for one query."""

    def __init__(
        self, tables: Tables, *, window: int, width: int, consume: int, replayed: bool, limits: Limits
    ) -> None:
        self.tables, self.window, self.width, self.consume, self.limits = tables, window, width, consume, limits
        self.replayed = replayed
        self.cursor: Int64 = np.zeros(match.CURSOR_SIZE, np.int64)
        self.cursor[match.FREE] = match.NIL
        self.key_config: Int32 = np.zeros(0, np.int32)
        self.key_epoch: Int64 = np.zeros(0, np.int64)
        self.key_count: Int64 = np.zeros(0, np.int64)
        self.heads: Int32 = np.zeros(0, np.int32)
        self.tails: Int32 = np.zeros(0, np.int32)
        # Where windows are replayed, one at a time, all keys share one row of slots.
        self.slots: Int32 = np.full((int(replayed), 1), match.NIL, np.int32)
        self.fresh: Int32 = np.zeros(2, np.int32)
        self.nodes: Int64 = np.zeros(4 << 12, np.int64)
        self.marks: Int64 = np.zeros(1 << 12, np.int64)
        self.records: Int64 = np.zeros((1 << 10 if replayed else 0, 4), np.int64)
        self.stack: Int64 = np.zeros(256, np.int64)
        self.path: Int64 = np.zeros(128, np.int64)
        self.inert: Int32 = np.zeros(0, np.int32)
        self.closes: Int32 = np.zeros(0, np.int32)
        self.follow_tables()

    def run(self, events: Events, mode: int = match.WRITE) -> Iterator[Chunk]:
        """Read a batch; yields matches as output fills up. In WALK mode nothing is written, see `walked`."""
        self._room_for_keys(events.key_count)
        cursor = self.cursor
        cursor[match.AT] = 0
        room = _CHUNK_VALUES if mode == match.WRITE else 0
        values, ends, origins = (np.empty(room, np.int64) for _ in range(3))
        while True:
            status = self._call(events, mode, values, ends, origins)
            if status == match.NEED_STEP:
                self.tables.fill(int(cursor[match.CONFIG]), int(cursor[match.CODE]))
                self.follow_tables()
            elif status == match.NEED_NODES:
                self._grow_nodes()
            elif status == match.NEED_STACK:
                self.stack, self.path = _doubled(self.stack), _doubled(self.path)
            elif status == match.NEED_RECORDS:
                self.records = _doubled(self.records)
                self.limits.check_memory(self.bytes)
            else:
                count, used = int(cursor[match.MATCHES]), int(cursor[match.VALUES])
                if mode == match.WRITE and count:
                    offsets = np.concatenate([np.zeros(1, np.int64), ends[:count]])
                    yield Chunk(values[:used], offsets, origins[:count])
                if status == match.DONE:
                    break
                # Full: a fresh output, large enough for the match that did not fit.
                room = max(room, 2 * int(cursor[match.PENDING]) if count == 0 else 0)
                values, ends, origins = (
                    np.empty(room, np.int64),
                    np.empty(len(ends), np.int64),
                    np.empty(len(ends), np.int64),
                )
                cursor[match.MATCHES] = cursor[match.VALUES] = 0
        self.walked = int(cursor[match.MATCHES]) if mode == match.WALK else 0
        cursor[match.MATCHES] = cursor[match.VALUES] = 0

    def _call(self, events: Events, mode: int, values: Int64, ends: Int64, origins: Int64) -> int:
        """One kernel call; the order of arguments is that of `match.run` and `replay.run_replay`."""
        tables = self.tables
        arguments: list[Any] = [events.codes, events.keys, events.positions, events.first_position]
        arguments += [events.ticks, events.lows, self.window, self.width, self.consume, mode]
        if self.replayed:
            arguments += [self.key_epoch, self.key_count, self.heads, self.tails, self.records, self.inert, self.closes]
            arguments += [self.slots.ravel(), self.fresh]
        else:
            arguments += [self.key_config, *self._keys(), self.fresh]
        arguments += [tables.entries, tables.stride, tables.ops.array, tables.emits.array]
        arguments += [self.nodes] if self.replayed else [*self._layout(), self.nodes, self.marks]
        arguments += [self.cursor, self.stack, self.path, values, ends, origins]
        return replay.run_replay(*arguments) if self.replayed else match.run(*arguments)

    def _keys(self) -> list[Any]:
        return [self.key_epoch, self.key_count, self.slots.ravel(), self.slots.shape[1]]

    def _layout(self) -> list[Any]:
        return [self.tables.slot_ends.array.ravel(), self.tables.slot_list.array.ravel()]

    def live_positions(self) -> Int64:
        """Positions of the events that a later match may still contain, ascending."""
        if self.replayed:
            found = [self.records[int(record), replay.POSITION] for record in self._live_records()]
            return np.unique(np.array(found, np.int64))
        values = self.nodes[: 4 * int(self.cursor[match.USED]) : 4]
        return np.unique(values[values >= 0] >> match.SYMBOL_BITS)

    def compact(self, low: int) -> None:
        """Reclaim what can no longer matter; `low` is the window's current lower bound in ticks."""
        if not self.replayed:
            arguments: list[Any] = [
                self.nodes,
                self.marks,
                self.cursor,
                self.key_config,
                *self._keys(),
                *self._layout(),
            ]
            arguments += [self.window, self.width, low]
            match.collect(*arguments)

    @property
    def bytes(self) -> int:
        arrays = (self.nodes, self.marks, self.records, self.slots, self.key_config, self.key_epoch, self.key_count)
        return sum(array.nbytes for array in (*arrays, self.heads, self.tails))

    @property
    def live(self) -> int:
        """Nodes (or window records) in use, some of them perhaps already dead."""
        return int(self.cursor[match.RECORDS] if self.replayed else self.cursor[match.USED])

    def _live_records(self) -> Iterator[int]:
        for key, head in enumerate(self.heads):
            if self.key_epoch[key] == self.cursor[match.EPOCH]:
                while head >= 0:
                    yield int(head)
                    head = self.records[head, replay.NEXT]

    def follow_tables(self) -> None:
        """Follow the tables after they grew: more slots per key, more codes."""
        width = self.tables.width
        if width > self.slots.shape[1]:
            slots = np.full((len(self.slots), width), match.NIL, np.int32)
            slots[:, : self.slots.shape[1]] = self.slots
            self.slots = slots
        self.fresh = np.zeros(2 * width, np.int32)
        if self.replayed and self.tables.stride > len(self.inert):
            self.inert = np.zeros(self.tables.stride, np.int32)
            self.closes = np.zeros(self.tables.stride, np.int32)
        if self.replayed:
            alphabet = self.tables.machine.alphabet
            for code in alphabet.cache:
                self.inert[code], self.closes[code] = alphabet.inert(code), alphabet.closes(code)

    def _room_for_keys(self, count: int) -> None:
        have = len(self.key_epoch)
        if count <= have:
            return
        more = max(count, 2 * have, 1) - have
        self.key_config = np.concatenate([self.key_config, np.zeros(more, np.int32)])
        self.key_epoch = np.concatenate([self.key_epoch, np.full(more, self.cursor[match.EPOCH])])
        self.key_count = np.concatenate([self.key_count, np.zeros(more, np.int64)])
        if self.replayed:
            self.heads = np.concatenate([self.heads, np.full(more, match.NIL, np.int32)])
            self.tails = np.concatenate([self.tails, np.full(more, match.NIL, np.int32)])
            return
        self.slots = np.concatenate([self.slots, np.full((more, self.slots.shape[1]), match.NIL, np.int32)])
        # Collecting visits every key, so there must be work enough between two collections.
        while len(self.marks) < 2 * len(self.key_config):
            self._grow_nodes()

    def _grow_nodes(self) -> None:
        self.nodes, self.marks = _doubled(self.nodes), np.zeros(2 * len(self.marks), np.int64)
        self.limits.check_memory(self.bytes)


def _doubled(array: Any) -> Any:
    return np.concatenate([array, np.zeros_like(array)])
