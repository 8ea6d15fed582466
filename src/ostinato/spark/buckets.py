"""Into how many buckets the keys of a stream are hashed: the number that the user gives, or so many for each part of
the state that Spark keeps.

A checkpoint knows how many parts of state it has, and Spark tells that to the tasks. So they work out the number of
buckets, not the session that starts the stream: it stays the same on another machine and under other settings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ostinato.spark.frames import SHUFFLE_PARTITIONS, shuffle_partitions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_STATE_PARTITIONS = "spark.sql.streaming.internal.stateStore.partitions"  # those of the checkpoint


@dataclass(frozen=True)
class Buckets:
    """`given` is the user's number, None: `each` for each part of the state."""

    given: int | None
    each: int = 1

    def count(self) -> int:
        """How many there are, in a task of the stream."""
        return self.given or self.each * _state_partitions()

    def planned(self, frame: DataFrame) -> int:
        """How many there are if the stream begins now."""
        return self.given or self.each * shuffle_partitions(frame)

    def of(self, hashes: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
        """The bucket of each key, by its hash, in a task of the stream."""
        return (hashes % self.count()).astype(np.int32)


def pattern_buckets(given: int | None) -> Buckets:
    """A few per task of the stateful step, so that tasks get about as many keys each. Also those of forecasts."""
    return Buckets(given, 4)


def unit_buckets(given: int | None) -> Buckets:
    """Fewer for engines that take longer to load: those of rules and of MATCH_RECOGNIZE."""
    return Buckets(given, 2)


def _state_partitions() -> int:
    from pyspark import TaskContext

    task = TaskContext.get()
    assert task is not None, "only tasks know the checkpoint"
    found = task.getLocalProperty(_STATE_PARTITIONS) or task.getLocalProperty(SHUFFLE_PARTITIONS)
    assert found is not None, "Spark tells tasks of a stream how many parts its state has"
    return int(found)
