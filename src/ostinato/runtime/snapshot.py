"""An engine's whole state as bytes and back: the restored engine goes on exactly where the saved one stopped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ostinato.automata.determinise import Config
from ostinato.automata.tables import Placed
from ostinato.compile import compile_cel
from ostinato.kernels import match
from ostinato.kernels.keys import KeyTable
from ostinato.plan.format import to_text
from ostinato.runtime.engine import Engine, Options
from ostinato.runtime.limits import Limits
from ostinato.runtime.matches import Matches
from ostinato.runtime.state import Snapshot

_MATCHER_ARRAYS = ("cursor", "key_config", "key_epoch", "key_count", "heads", "tails", "slots", "nodes", "records")
_COUNTERS = ("events", "read", "matches", "late")
_WAITING_ARRAYS = ("starts", "groups", "places")
_MATCH_ARRAYS = ("positions", "symbols", "offsets", "keys", "origins")


def save(engine: Engine) -> bytes:
    options = asdict(engine.options)
    meta: dict[str, Any] = {
        "query": engine.compiled.query.text or to_text(engine.compiled.query),
        "options": options,
        "stopped": engine.stopped,
    }
    meta |= {name: getattr(engine, name) for name in _COUNTERS} | {"bound": engine.bound}
    arrays: dict[str, npt.NDArray[Any]] = {}
    tables: dict[str, pa.Table] = {}
    if engine.bound:
        stream, matcher, history, reorder = engine.stream, engine.matcher, engine.history, engine.reorder
        meta["minterms"] = stream.encoder.minterms
        meta["placed"] = [[placed.config, placed.slots] for placed in matcher.tables.placed]
        meta["last_tick"], meta["watermark"] = stream.last_tick, int(reorder.watermark)
        arrays |= {f"matcher.{name}": getattr(matcher, name) for name in _MATCHER_ARRAYS}
        arrays["matcher.nodes"] = matcher.nodes[: 4 * int(matcher.cursor[match.USED])]
        arrays |= {"history": history.kept_positions, "reorder": reorder.positions}
        tables |= {"schema": stream.schema.empty_table(), "history": history.kept, "reorder": reorder.rows}
        if engine.late_rows:
            tables["late"] = engine.late_events()
        if stream.keys is not None:
            tables["keys"] = stream.keys.to_table()
        if stream.ties is not None:
            arrays["last_seen"] = stream.ties.last_seen
        if engine.waiting is not None:
            arrays |= {f"waiting.{name}": getattr(engine.waiting.matches, name) for name in _MATCH_ARRAYS}
            arrays |= {f"waiting.{name}": getattr(engine.waiting, name) for name in _WAITING_ARRAYS}
            meta["next_group"] = engine.waiting.next_group
        if engine.distinct is not None:
            meta["seen"] = [[str(key), position] for key, position in engine.distinct.seen.items()]
    return Snapshot(meta, arrays, tables).to_bytes()


def load(data: bytes) -> Engine:
    snapshot = Snapshot.from_bytes(data)
    meta, arrays, tables = snapshot.meta, snapshot.arrays, snapshot.tables
    options = dict(meta["options"])
    options["limits"] = Limits(**options["limits"])
    options["binding"]["order_by"] = tuple(options["binding"]["order_by"])
    engine = Engine(compile_cel(meta["query"]), Options(**options))
    if meta["bound"]:
        engine.bind(tables["schema"], minterms=meta["minterms"])
        _fill(engine, meta, arrays, tables)
    for name in _COUNTERS:
        setattr(engine, name, meta[name])
    engine.stopped = meta["stopped"]
    return engine


def _fill(
    engine: Engine, meta: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], tables: Mapping[str, pa.Table]
) -> None:
    stream, matcher = engine.stream, engine.matcher
    for config, slots in meta["placed"]:
        matcher.tables.place(Placed(_config(config), tuple(slots)))
    room = matcher.nodes
    for name in _MATCHER_ARRAYS:
        setattr(matcher, name, arrays[f"matcher.{name}"])
    used = len(matcher.nodes)
    size = len(room)
    while size < 2 * used or size < 8 * len(matcher.key_config):
        size *= 2
    matcher.nodes = np.zeros(size, np.int64)
    matcher.nodes[:used] = arrays["matcher.nodes"]
    matcher.marks = np.zeros(size // 4, np.int64)
    matcher.follow_tables()
    stream.last_tick = meta["last_tick"]
    engine.reorder.watermark = meta["watermark"]
    engine.reorder.rows, engine.reorder.positions = tables["reorder"], arrays["reorder"]
    engine.history.kept, engine.history.kept_positions = tables["history"], arrays["history"]
    engine.late_rows = [tables["late"]] if "late" in tables else []
    if stream.keys is not None:
        stream.keys = KeyTable.from_table(tables["keys"])
    if stream.ties is not None:
        stream.ties.read, stream.ties.last_seen = meta["read"], arrays["last_seen"]
    if engine.waiting is not None:
        engine.waiting.matches = Matches(*(arrays[f"waiting.{name}"] for name in _MATCH_ARRAYS))
        for name in _WAITING_ARRAYS:
            setattr(engine.waiting, name, arrays[f"waiting.{name}"])
        engine.waiting.next_group = meta["next_group"]
    if engine.distinct is not None:
        engine.distinct.seen = {int(key): position for key, position in meta["seen"]}


def _config(cells: list[list[int]]) -> Config:
    return tuple(tuple(cell) for cell in cells)
