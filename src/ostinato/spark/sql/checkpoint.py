"""What a stream of MATCH_RECOGNIZE keeps in Spark's state store: for each bucket a snapshot of its engine, and what the
checkpoint was started with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ostinato.core.snapshot_format import Snapshot


def checkpoint_header(buckets: int, text: str, output: object) -> dict[str, Any]:
    """What a checkpoint must have been started with to go on from it, as plain data."""
    query = {"text": text, "language": "sql", "answer": str(output)}
    return {"buckets": buckets, "late": False, "queries": {"query": query}}


@dataclass(frozen=True)
class SavedBucket:
    """`snapshot` is None at first; `timer` is the one that is set, in milliseconds."""

    snapshot: bytes | None = None
    timer: int | None = None

    @staticmethod
    def load(state: bytes | None) -> SavedBucket:
        if state is None:
            return SavedBucket()
        stored = Snapshot.from_bytes(state)
        return SavedBucket(stored.arrays["engine"].tobytes(), stored.meta["timer"])

    def dump(self) -> bytes:
        assert self.snapshot is not None
        return Snapshot({"timer": self.timer}, {"engine": np.frombuffer(self.snapshot, np.uint8)}, {}).to_bytes()
