"""What a stream keeps in Spark's state store: for each bucket of keys, a snapshot of one engine for all queries that
are split alike; and a header that says what the checkpoint was started with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.core.snapshot_format import Snapshot
from ostinato.errors import DataError, Message, Option
from ostinato.spark.checkpoint_header import another_query, schema_text
from ostinato.spark.columns import hash_type
from ostinato.spark.patterns.shipped_query import ShippedQuery

_LAYOUT = 2  # of the state; before there were numbers, each query had a snapshot of its own


def checkpoint_header(
    buckets: int,
    splits: Mapping[str, tuple[ShippedQuery, ...]],
    schema: pa.Schema,
    *,
    late: bool,
    columns: Mapping[str, Any],
) -> dict[str, Any]:
    """The header as plain data. `schema` has the columns that are read. `late`: whether rows that come too late are
    given in a column of their own; `columns`: the options that name columns."""
    queries = {
        query.name: {
            "text": query.plain_text,
            "language": query.language,
            "answer": str(query.answer),
            "columns": list(query.columns),
        }
        for group in splits.values()
        for query in group
    }
    header = {"layout": _LAYOUT, "buckets": buckets, "late": late, "columns": dict(columns), "queries": queries}
    # How values are hashed, by the columns that split the stream.
    keys = {name: hash_type(schema.field(name).type) for split in splits for name in json.loads(split)}
    return header | {"schema": schema_text(schema), "hashed": {name: str(kind) for name, kind in keys.items()}}


def check_keys(before: bytes | None, now: Mapping[str, Any], schema: pa.Schema) -> None:
    """Raises DataError where keys would be hashed into other buckets than those that have their state."""
    if before is None:
        return
    # Before it was noted, values were hashed in the type that they had.
    known = json.loads(before).get("hashed") or {name: str(schema.field(name).type) for name in now["hashed"]}
    for name, hashed in now["hashed"].items():
        if (first := known.get(name, hashed)) != hashed:
            fix = "start with a new checkpointLocation"
            raise DataError(
                f"`{name}` splits the stream, and its values were hashed as {first} when the checkpoint was begun, "
                f"now as {hashed}",
                fix=fix if hash_type(schema.field(name).type) != schema.field(name).type else f"cast it back, or {fix}",
            )


@dataclass(frozen=True)
class SplitState:
    """The engine of one bucket for queries that are split alike.

    `running` has the texts of the queries in it. `begins` has those that were added while rows of before waited, each
    with the tick of the last of them: they begin after it. `stopped` has those that reached a limit, with the reason
    and the limits. `due` is when time alone changes something, in milliseconds.
    """

    snapshot: bytes | None = None
    running: Mapping[str, str] = field(default_factory=dict)
    begins: Mapping[str, int] = field(default_factory=dict)
    stopped: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    due: int | None = None

    def of(self, queries: Mapping[str, ShippedQuery]) -> SplitState:
        """Without the queries that are gone, and those that stopped at limits that are others now."""
        for name, text in self.running.items():
            if name in queries and text != queries[name].plain_text:
                raise another_query(name, text)
        return replace(
            self,
            running={name: text for name, text in self.running.items() if name in queries},
            begins={name: tick for name, tick in self.begins.items() if name in queries},
            stopped={
                name: why
                for name, why in self.stopped.items()
                if name in queries and why["limits"] == asdict(queries[name].limits)
            },
        )

    def new_queries(self, queries: Mapping[str, ShippedQuery]) -> list[str]:
        return [
            name for name in queries if not any(name in known for known in (self.running, self.begins, self.stopped))
        ]


@dataclass(frozen=True)
class BucketState:
    """The engines of one bucket, by how their queries are split. Keys are hashed into `buckets` parts; `timer` is the
    one that is set, in milliseconds."""

    splits: Mapping[str, SplitState]
    buckets: int
    timer: int | None = None

    @staticmethod
    def load(state: bytes | None, buckets: int) -> BucketState:
        """The state that was saved, which is empty at first. A checkpoint cannot change its number of buckets."""
        if state is None:
            return BucketState({}, buckets)
        stored = Snapshot.from_bytes(state)
        splits = {
            name: SplitState(stored.arrays[name].tobytes() if name in stored.arrays else None, **about)
            for name, about in stored.meta["splits"].items()
        }
        loaded = BucketState(splits, stored.meta["buckets"], stored.meta["timer"])
        if loaded.buckets != buckets:
            raise DataError(
                Message("the checkpoint was begun with ", Option("buckets", loaded.buckets), f", now it is {buckets}"),
                fix=Message(
                    "go on with ", Option("buckets", loaded.buckets), ", or start with a new checkpointLocation"
                ),
                option="buckets",
            )
        return loaded

    def dump(self) -> bytes:
        arrays = {
            name: np.frombuffer(split.snapshot, np.uint8)
            for name, split in self.splits.items()
            if split.snapshot is not None
        }
        about = {
            name: {"running": split.running, "begins": split.begins, "stopped": split.stopped, "due": split.due}
            for name, split in self.splits.items()
        }
        return Snapshot({"buckets": self.buckets, "timer": self.timer, "splits": about}, arrays, {}).to_bytes()
