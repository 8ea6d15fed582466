"""Keys go to the same bucket whoever works it out."""

from __future__ import annotations

import numpy as np
import pytest

from ostinato.spark.buckets import Buckets, pattern_buckets, unit_buckets


def test_the_bucket_of_a_hash_is_its_positive_remainder() -> None:
    """As Spark's pmod, which found it before: checkpoints know keys by their buckets."""
    hashes = np.array([0, 7, -7, 2**63 - 1, -(2**63)], np.int64)
    assert Buckets(4).of(hashes).tolist() == [0, 3, 1, 3, 0]
    assert Buckets(1).of(hashes).tolist() == [0] * 5


class FakeTask:
    def __init__(self, **settings: str) -> None:
        self.settings = {f"spark.sql.{name.replace('__', '.')}": value for name, value in settings.items()}

    def getLocalProperty(self, name: str) -> str | None:
        return self.settings.get(name)


def test_tasks_count_by_the_parts_of_the_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark import TaskContext

    begun = FakeTask(streaming__internal__stateStore__partitions="3", shuffle__partitions="200")
    monkeypatch.setattr(TaskContext, "get", lambda: begun)
    assert (pattern_buckets(None).count(), unit_buckets(None).count(), pattern_buckets(5).count()) == (12, 6, 5)
