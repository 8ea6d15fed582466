"""A state store, timers and a watermark of plain Python, for stateful steps without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Store:
    """What Spark keeps for one bucket, and its clock; both a handle, a state and the values of timers."""

    value: Any = None
    timers: set[int] = field(default_factory=set)
    watermark: int = 0  # milliseconds

    def getValueState(self, name: str, schema: Any) -> Store:
        return self

    def get(self) -> Any:
        return self.value

    def update(self, value: Any) -> None:
        self.value = value

    def clear(self) -> None:
        self.value = None

    def registerTimer(self, timer: int) -> None:
        assert timer > self.watermark
        self.timers.add(timer)

    def deleteTimer(self, timer: int) -> None:
        self.timers.discard(timer)

    def listTimers(self) -> Iterator[int]:
        return iter(sorted(self.timers))

    def getCurrentWatermarkInMs(self) -> int:
        return self.watermark
