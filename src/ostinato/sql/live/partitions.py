"""Where the rows of each partition lie in flat arrays: stretches with room for more, which move when they are full.

A row has a place in these arrays, from when it comes until no match can read it any more. Rows of a partition lie side
by side, in order; the frames of the search for its next match lie in the same places of arrays of their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ostinato.core.arrays import Int64
from ostinato.sql.kernels.layout import DEPTH, START

_SLACK, _FEW = 4, 1 << 16  # rows that a stretch has room for beyond twice its rows; where there are no more partitions
# Places, by partition: where its stretch and its known rows begin, where those end and where those that are evaluated
# do, which one is the first that is still needed, from which on it is not known whether they are in a match, how far
# matches reach, and where its first row is, if it is here.
PLACES = ("base", "last", "ready", "needed", "shown", "covered", "begun")


class Partitions:
    """Attributes
    ----------
    of_rows : dict
        Arrays by place; of those with two dimensions the last one is the place, and one place more stands for no row.
    of_frames : dict
        Arrays by place and word.
    attempts : array
        By partition; see layout.START and so on.
    """

    def __init__(self, of_rows: dict[str, npt.NDArray[Any]], of_frames: dict[str, npt.NDArray[Any]]) -> None:
        self.of_rows, self.of_frames = of_rows, of_frames
        self.count = self.tail = self.kept = 0
        self.capacity = 0
        self.places = {name: np.zeros(0, np.int64) for name in PLACES}
        self.room = np.zeros(0, np.int64)
        self.attempts = np.zeros((0, 3), np.int64)

    def __getitem__(self, name: str) -> Int64:
        return self.places[name]

    def add(self, count: int) -> bool:
        """Have so many partitions; whether the arrays by partition are others now."""
        grown = count > self.room.size
        if grown:
            more = max(count, 2 * self.room.size, 16) - self.room.size
            self.places = {name: np.concatenate([each, np.zeros(more, np.int64)]) for name, each in self.places.items()}
            self.room = np.concatenate([self.room, np.zeros(more, np.int64)])
            self.attempts = np.concatenate([self.attempts, np.zeros((more, 3), np.int64)])
            self.attempts[-more:, DEPTH] = -1
        self.count = max(self.count, count)
        return grown

    def need(self, parts: Int64, needed: Int64) -> None:
        """Say which row of some partitions is the first that is still needed."""
        self.kept -= int((needed - self["needed"][parts]).sum())
        self["needed"][parts] = needed

    def make_room(self, parts: Int64, more: Int64) -> Moved | None:
        """Room for so many more rows of some partitions, and for the frames of a match of all."""
        short = self["last"][parts] - self["base"][parts] + more + 1 > self.room[parts]
        if not short.any():
            return None
        wanted = 2 * (self["last"][parts] - self["needed"][parts] + more) + (_SLACK if self.count <= _FEW else 1)
        moving, rooms = parts[short], wanted[short]
        if self.tail + int(rooms.sum()) <= self.capacity:
            bases = self.tail + np.cumsum(rooms) - rooms
            self.tail += int(rooms.sum())
            return self._move(moving, bases, rooms, None)
        everyone = np.arange(self.count)
        all_rooms = self["last"][: self.count] - self["needed"][: self.count] + 2
        all_rooms[parts] = wanted
        return self._move(everyone, np.cumsum(all_rooms) - all_rooms, all_rooms, 2 * int(all_rooms.sum()) + 256)

    def _move(self, parts: Int64, bases: Int64, rooms: Int64, capacity: int | None) -> Moved:
        needed, counts = self["needed"][parts], self["last"][parts] - self["needed"][parts]
        source, target = stretches(needed, counts), stretches(bases, counts)
        depths = np.maximum(self.attempts[parts, DEPTH] + 1, 0)
        frames, new_frames = stretches(self["base"][parts], depths), stretches(bases, depths)
        self._copy(source, target, frames, new_frames, capacity)
        delta = bases - needed
        begun = self["begun"][parts]
        gone = (begun < needed) | (begun < 0)
        for name in ("last", "ready", "shown", "covered"):
            self[name][parts] += delta
        self["begun"][parts] = np.where(gone, -1, begun + delta)
        self["needed"][parts] = self["base"][parts] = bases
        self.attempts[parts, START] += delta
        self.room[parts] = rooms
        if capacity is not None:
            self.capacity, self.tail = capacity, int(rooms.sum())
        by_partition = np.zeros(self.count, np.int64)
        by_partition[parts] = delta
        return Moved(by_partition, capacity is not None)

    def _copy(self, source: Int64, target: Int64, frames: Int64, new_frames: Int64, capacity: int | None) -> None:
        for name, array in self.of_rows.items():
            to = array
            if capacity is not None:
                to = np.zeros((*array.shape[:-1], capacity + array.ndim - 1), array.dtype)
                if array.ndim > 1:
                    to[..., -1] = array[..., -1]
            to[..., target] = array[..., source]
            self.of_rows[name] = to
        for name, array in self.of_frames.items():
            to = array if capacity is None else np.zeros((capacity, array.shape[1]), array.dtype)
            to[new_frames] = array[frames]
            self.of_frames[name] = to


class Moved:
    """How far the rows of each partition have moved; whether all of them are in other arrays now."""

    def __init__(self, delta: Int64, everything: bool) -> None:
        self.delta, self.everything = delta, everything


def stretches(starts: Int64, counts: Int64) -> Int64:
    """All places of stretches, one after the other."""
    if starts.size == 1:
        return np.arange(starts[0], starts[0] + counts[0])
    total = int(counts.sum())
    return np.repeat(starts - np.cumsum(counts) + counts, counts) + np.arange(total)
