"""Lets the kernel (patterns/kernels/live.py) read events for many queries, and provides what it stops for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ostinato.core.arrays import Int64
from ostinato.core.stopwatch import Stopwatch
from ostinato.errors import DataError, LimitError
from ostinato.patterns.kernels import live, live_layout, protocol
from ostinato.patterns.kernels.live_layout import SharedState
from ostinato.patterns.live.found import Chunks, Found
from ostinato.patterns.live.members import Members
from ostinato.patterns.live.wake_index import WakeIndex
from ostinato.patterns.runtime.direct import Direct
from ostinato.patterns.runtime.matches import Matches

_STEPS = 1 << 22  # at a time, some hundredths of a second: then Python looks at signals and clocks
_MANY_VALUES = 1 << 20  # room for the output of a query, at most
Stop = Callable[[str, LimitError | DataError], None]
Values = Callable[[Sequence[str]], Sequence[Any]]  # of an event, by name


class KernelRun:
    """One run after the other, over the same state.

    A query that reaches a limit of its own is given to `stop`, and the others go on. `woken` are the events that
    queries with engines of their own have to read, by the events read last: their places among those.
    """

    def __init__(self, members: Members, state: SharedState, stop: Stop) -> None:
        self.members, self.state, self.stop = members, state, stop
        self.woken: dict[str, list[Int64]] = {}

    def run(self, index: WakeIndex, values: Callable[[int], Values]) -> Found | None:
        """Read the events of the state; `values` has those of one event, by its row."""
        state, cursor = self.state, self.state.cursor
        cursor[: live_layout.SERIAL] = 0
        cursor[live_layout.FUEL] = _STEPS
        chunks: Chunks = {}
        clocks: dict[int, Stopwatch] = {}
        self.woken = {}
        while (status := live.read(state)) != protocol.DONE:
            if status == live_layout.NEED_POSTINGS:
                probe, place = int(cursor[live_layout.NEEDED]), int(cursor[live_layout.NEEDED_FOR])
                index.find_postings(probe, place, values(int(cursor[live_layout.ROW])))
                continue
            if status == live_layout.NEED_QUERY_CODE:
                index.find_code(int(cursor[live_layout.NEEDED]), int(cursor[live_layout.NEEDED_FOR]))
                continue
            number = int(state.awake[cursor[live_layout.NEXT]])
            if status == live_layout.WAKES_OTHER:
                self._wake(number)
                continue
            cursor[live_layout.FUEL] = _STEPS
            if number not in self.members.engines:  # it was stopped before
                self._skip(number)
                continue
            try:
                self._provide(number, status, chunks, clocks)
            except LimitError as error:
                self.state.matches[number] -= sum(map(len, chunks.pop(number, ())))  # which are dropped
                self.state.reads[number] += self.state.counts[number]
                self._skip(number)
                self.stop(self.members.names[number], error)
        return self._take_all(chunks) if cursor[live_layout.COMPLETED] or chunks else None

    def _wake(self, number: int) -> None:
        """Write down which events a query has to read that has an engine of its own."""
        end, count = int(self.state.ends[number]), int(self.state.counts[number])
        if number in self.members.watched:
            events = self.state.events[end - count : end] >> live_layout.ROW_SHIFT
            self.woken.setdefault(self.members.watched[number][0], []).append(events)
            self.state.reads[number] += count
        self.state.cursor[live_layout.NEXT] += 1

    def _skip(self, number: int) -> None:
        """Go on with the next query."""
        own, cursor = self.state.queries[number].cursor, self.state.cursor
        own[protocol.MATCHES] = own[protocol.VALUES] = own[protocol.STACK] = own[protocol.PENDING] = 0
        cursor[live_layout.NEXT] += 1
        cursor[live_layout.BEGUN] = 0

    def _provide(self, number: int, status: int, chunks: Chunks, clocks: dict[int, Stopwatch]) -> None:
        """What a query stopped for."""
        matcher, limits = self.members.slots[number], self.members.engines[number].options.limits
        clocks.setdefault(number, limits.clock()).check()
        if status == live_layout.NEED_KEYS:
            known = len(matcher.state.key_count)
            wanted = int(self.state.cursor[live_layout.NEEDED_FOR]) + 1
            matcher.grow_keys(max(wanted - known, known))
        elif status == protocol.OUTPUT_FULL:
            if matcher.state.cursor[protocol.MATCHES]:
                chunk = matcher.take_output()
                chunks.setdefault(number, []).append(Matches.of(chunk, self._keys_at(number, chunk.origins)))
                self.state.matches[number] += len(chunk)
            limits.check_matches(sum(map(len, chunks.get(number, ()))))
            make_room(matcher, max(2 * len(matcher.state.ends), int(matcher.state.cursor[protocol.PENDING])))
        elif status != protocol.PAUSED:
            matcher.provide(status, matcher.one)

    def _check_matches(self) -> None:
        """Stop the queries that have completed more matches than they may."""
        for number in self.state.completed[: int(self.state.cursor[live_layout.COMPLETED])].tolist():
            own = self.state.queries[number].cursor
            try:
                self.members.engines[number].options.limits.check_matches(int(own[protocol.MATCHES]))
            except LimitError as error:
                own[protocol.MATCHES] = own[protocol.VALUES] = 0
                self.stop(self.members.names[number], error)

    def _keys_at(self, number: int, rows: Int64) -> Int64:
        """The partitions of some events, for one query."""
        frame = self.members.frames_of[number][0]
        return self.state.keys[frame][rows].astype(np.int64) if frame >= 0 else np.zeros(len(rows), np.int64)

    def _take_all(self, chunks: Chunks) -> Found:
        state = self.state
        matches, values = live.measure_output(state)
        if matches > self.members.fewest:
            self._check_matches()
            matches, values = live.measure_output(state)
        state.update(
            out_values=np.empty(values, np.int64),
            out_ends=np.empty(matches, np.int64),
            out_origins=np.empty(matches, np.int64),
            out_keys=np.empty(matches, np.int64),
        )
        live.collect_output(state)
        count = int(state.cursor[live_layout.COMPLETED])
        queries, counts = state.completed[:count].copy(), state.out_counts[:count].copy()
        return Found(queries, counts, state.out_values, state.out_ends, state.out_origins, state.out_keys, chunks)


def make_room(matcher: Direct, matches: int) -> None:
    """For the output of a query."""
    matcher.replace_output(min(4 * matches, max(_MANY_VALUES, 2 * matches)), min(matches, _MANY_VALUES))
