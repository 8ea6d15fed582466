"""What a stream of MATCH_RECOGNIZE keeps in Spark's state store: for each bucket a snapshot of its engine, and what the
checkpoint was started with."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.core.snapshot_format import Snapshot
from ostinato.errors import DataError
from ostinato.sql.syntax.words import words

_START = "start with a new checkpointLocation"


def checkpoint_header(buckets: int, text: str, answer: pa.Schema, source: pa.Schema, *, late: bool) -> dict[str, Any]:
    """What a checkpoint must have been started with to go on from it, as plain data; `source` are the columns that the
    clause reads."""
    query = {"text": plain_text(text), "language": "sql", "answer": str(answer)}
    columns = {field.name: str(field.type) for field in source}
    return {"buckets": buckets, "late": late, "source": columns, "queries": {"query": query}}


def check_source(before: bytes | None, now: dict[str, Any]) -> bytes | None:
    """Raises DataError where the same query reads, or gives, other columns now; what else is in the header is left to
    `check_header`. Headers of before columns were noted have none, and the text as it was written."""
    if before is None:
        return None
    kept = json.loads(before)
    known, query = kept["queries"]["query"], now["queries"]["query"]
    known["text"] = plain_text(known["text"])
    if known["text"] == query["text"]:
        source = kept.get("source", {})
        for name, kind in source.items():
            if (other := now["source"].get(name, kind)) != kind:
                reason = f"the column `{name}` was {kind} when the checkpoint was begun, now it is {other}"
                raise DataError(reason, fix=f"cast it to {kind} before the query, or {_START}")
        rows = {"its rows": (known["answer"].split("\n"), query["answer"].split("\n"))}
        if now["late"] and source:
            rows["late rows"] = (list(source), list(now["source"]))
        for what, (first, last) in rows.items():
            if first != last:
                columns = ", ".join(sorted({*first} ^ {*last})) or "in another order"
                reason = f"{what} had other columns when the checkpoint was begun: {columns}"
                raise DataError(reason, fix=f"give the query a frame of the same columns, or {_START}")
    return json.dumps(kept).encode()


def plain_text(text: str) -> str:
    """A query without comments, its words one space apart."""
    return " ".join(word.text for word in words(text)).removesuffix(" ;")


def read_columns(saved: Snapshot, schema: pa.Schema) -> Snapshot:
    """State of an engine for these columns: one from before may have more, which the clause does not read."""
    if not saved.meta["bound"] or saved.tables["schema"].schema.equals(schema):
        return saved
    gone = set(saved.tables["schema"].column_names) - set(schema.names)
    tables = {
        name: table.drop_columns([each for each in table.column_names if each in gone])
        if name in ("schema", "waiting", "late")
        else table
        for name, table in saved.tables.items()
    }
    return Snapshot(saved.meta, saved.arrays, tables)


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
