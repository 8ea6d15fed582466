"""What a stream of rules keeps in Spark's state store: for each bucket of a unit a snapshot of its
engine, and what the checkpoint was started with."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from ostinato.core.snapshot_format import Snapshot

_LAYOUT = 2  # since many rules share a unit


def checkpoint_header(buckets: int, text: str, output: object, *, late: bool) -> dict[str, Any]:
    """What a checkpoint must have been started with to go on from it, as plain data.

    `late`: whether rows that come too late are given in a column of their own.
    """
    rules = {"text": text, "language": "rules", "answer": str(output)}
    return {"layout": _LAYOUT, "buckets": buckets, "late": late, "queries": {"rules": rules}}


@dataclass(frozen=True)
class SavedEngine:
    """`snapshot` is None at first; `timer` is the one that is set, in milliseconds."""

    snapshot: bytes | None
    timer: int | None = None

    @staticmethod
    def load(state: bytes | None) -> SavedEngine:
        if state is None:
            return SavedEngine(None)
        stored = Snapshot.from_bytes(state)
        engine = stored.arrays["engine"].tobytes()
        return SavedEngine(zlib.decompress(engine) if stored.meta.get("packed") else engine, stored.meta["timer"])

    def dump(self) -> bytes:
        assert self.snapshot is not None
        # Most of it is the text of the rules, in each bucket again.
        packed = np.frombuffer(zlib.compress(self.snapshot, 1), np.uint8)
        return Snapshot({"timer": self.timer, "packed": True}, {"engine": packed}, {}).to_bytes()
