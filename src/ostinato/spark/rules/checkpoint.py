"""What a stream of rules keeps in Spark's state store: for each bucket of a unit a snapshot of its
engine, and what the checkpoint was started with."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.core.snapshot_format import Snapshot
from ostinato.errors import DataError
from ostinato.spark.checkpoint_header import schema_text

_LAYOUT = 2  # since many rules share a unit


def checkpoint_header(
    buckets: int, text: str, output: object, schema: pa.Schema, reads: Sequence[str], *, late: bool
) -> dict[str, Any]:
    """What a checkpoint must have been started with to go on from it, as plain data.

    `schema` has the columns that come, and `reads` names those that rules read. `late`: whether rows that come too late
    are given in a column of their own.
    """
    rules = {"text": text, "language": "rules", "answer": str(output), "columns": list(reads)}
    header = {"layout": _LAYOUT, "buckets": buckets, "late": late, "queries": {"rules": rules}}
    return header | {"schema": schema_text(schema)}


def check_keys(before: bytes | None, now: Mapping[str, Any]) -> None:
    """Raises DataError where a column that came lets the same rules split the stream otherwise."""
    kept = json.loads(before) if before is not None else {}
    if "keys" not in kept or kept["queries"]["rules"]["text"] != now["queries"]["rules"]["text"]:
        return
    if kept["keys"] != now["keys"]:
        raise DataError(
            "the rules split the stream by other columns than when the checkpoint was begun",
            fix="leave out the new columns, or start with a new checkpointLocation",
        )


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
