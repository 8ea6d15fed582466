"""The queries that run together, by number: their places in the arrays that the kernel reads."""

from __future__ import annotations

from ostinato.patterns.runtime.direct import Direct
from ostinato.patterns.runtime.engine import Engine

FramesOf = tuple[int, int, int, int]  # of one query: see Frames


class Members:
    """Numbers are used again once their queries are gone.

    Attributes
    ----------
    engines, names : dict
        Of the queries that the kernel runs. Replaced, not changed: matches that were given read them later.
    slots : dict
        Their matchers.
    watched : dict
        Name and engine of those that have engines of their own, and are only told what to read.
    frames_of : list
        Where events stand for each query, by number.
    fewest : int
        Matches at once that some query may have.
    """

    def __init__(self) -> None:
        self.engines: dict[int, Engine] = {}
        self.names: dict[int, str] = {}
        self.slots: dict[int, Direct] = {}
        self.watched: dict[int, tuple[str, Engine]] = {}
        self.frames_of: list[FramesOf] = []
        self.fewest = 1 << 62
        self._free: list[int] = []

    def take_number(self, frames: FramesOf) -> int:
        number = self._free.pop() if self._free else len(self.frames_of)
        if number == len(self.frames_of):
            self.frames_of.append(frames)
        self.frames_of[number] = frames
        return number

    def add(self, number: int, name: str, engine: Engine, matcher: Direct) -> None:
        self.slots[number] = matcher
        self.fewest = min(self.fewest, engine.options.limits.matches)
        self.engines, self.names = self.engines | {number: engine}, self.names | {number: name}

    def remove(self, number: int) -> None:
        self.watched.pop(number, None)
        self.slots.pop(number, None)
        self.engines = {other: engine for other, engine in self.engines.items() if other != number}
        self.names = {other: name for other, name in self.names.items() if other != number}
        self._free.append(number)

    def in_frame(self, frame: int) -> list[int]:
        """The queries that the kernel runs over these partitions."""
        return [number for number in self.engines if self.frames_of[number][0] == frame]
