"""Snapshots: a versioned, checked container of JSON, flat arrays and Arrow tables. Nothing in it is ever executed."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ostinato.errors import DataError

MAGIC = b"OSTINATO"
VERSION = 2
PATTERN, PATTERNS, RULES, SQL, SCORER = "query", "live", "program", "sql", "model"
# By the kind of a snapshot: whose state it is, and what restores it.
_OWNERS = {
    PATTERN: ("an Engine", "ostinato.Engine.restore"),
    PATTERNS: ("a LiveEngine", "ostinato.Engine.restore"),
    RULES: ("a RuleEngine", "ostinato.RuleEngine.restore"),
    SQL: ("a SqlEngine", "ostinato.SqlEngine.restore"),
    SCORER: ("a forecast's scorer", "restore of a scorer of the same model"),
}
_HEADER = struct.Struct("<8sHQI")  # magic, version, length of the JSON part, CRC-32 of all that follows the header


@dataclass(frozen=True)
class Snapshot:
    meta: Mapping[str, Any]
    arrays: Mapping[str, npt.NDArray[Any]]
    tables: Mapping[str, pa.Table]

    @property
    def kind(self) -> str:
        """Which engine took it; "" where that is none that a user can restore."""
        named = self.meta.get("kind")
        return named or next((kind for kind in (PATTERN, RULES, SCORER) if kind in self.meta), "")

    def check_kind(self, *kinds: str) -> None:
        """DataError where an engine of another kind took it."""
        if self.kind not in kinds:
            whose, restore = _OWNERS.get(self.kind, ("another engine", "the engine that took it"))
            raise DataError(f"this is a snapshot of {whose}", fix=f"restore it with {restore}")

    def to_bytes(self) -> bytes:
        parts: list[bytes] = []
        index = []
        for name, array in self.arrays.items():
            parts.append(np.ascontiguousarray(array).tobytes())
            index.append({"name": name, "dtype": array.dtype.str, "shape": list(array.shape), "size": len(parts[-1])})
        for name, table in self.tables.items():
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, table.schema) as writer:
                writer.write_table(table)
            parts.append(sink.getvalue().to_pybytes())
            index.append({"name": name, "size": len(parts[-1])})
        head = json.dumps({"meta": self.meta, "parts": index}).encode()
        body = b"".join([head, *parts])
        return _HEADER.pack(MAGIC, VERSION, len(head), zlib.crc32(body)) + body

    @staticmethod
    def from_bytes(data: object) -> Snapshot:
        if not isinstance(data, bytes) or len(data) < _HEADER.size or data[:8] != MAGIC:
            raise DataError("this is not an Ostinato snapshot", fix="pass the bytes that snapshot() returned")
        _, version, head_size, checksum = _HEADER.unpack_from(data)
        if version != VERSION:
            raise DataError(
                f"the snapshot has version {version}, this release reads version {VERSION}",
                fix="restore it with the release that wrote it",
            )
        body = memoryview(data)[_HEADER.size :]
        if zlib.crc32(body) != checksum:
            raise DataError("the snapshot is damaged: its checksum does not fit", fix="use an undamaged copy")
        head = json.loads(bytes(body[:head_size]))
        arrays: dict[str, npt.NDArray[Any]] = {}
        tables: dict[str, pa.Table] = {}
        at = head_size
        for part in head["parts"]:
            piece = body[at : at + part["size"]]
            at += part["size"]
            if "dtype" in part:
                arrays[part["name"]] = np.frombuffer(piece, np.dtype(part["dtype"])).reshape(part["shape"]).copy()
            else:
                tables[part["name"]] = pa.ipc.open_stream(pa.py_buffer(bytes(piece))).read_all()
        return Snapshot(head["meta"], arrays, tables)
