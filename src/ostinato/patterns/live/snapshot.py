"""Saves the whole state of an engine for many queries as bytes, and restores it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ostinato.core.columns.keys import KeyTable
from ostinato.core.snapshot_format import Snapshot
from ostinato.errors import DataError
from ostinato.patterns.limits import Limits
from ostinato.patterns.live.shared_queries import SharedQueries
from ostinato.patterns.live.state import LiveState
from ostinato.patterns.live.statistics import QueryStatistics
from ostinato.patterns.runtime.engine import Engine
from ostinato.patterns.runtime.snapshot import compile_saved, describe_query, load, load_options, save

L = TypeVar("L", bound=LiveState)

_KIND = "live"
_COUNTERS = ("events", "late")


def save_live(live: LiveState) -> bytes:
    shared = live.shared if live.front is not None else None
    meta: dict[str, Any] = {
        "kind": _KIND,
        "options": asdict(live.options),
        "ended": live.ended,
        "stopped": {name: asdict(stats) for name, stats in live.stopped.items()},
        "queries": [],
    }
    meta |= {name: getattr(live, name) for name in _COUNTERS}
    arrays: dict[str, npt.NDArray[Any]] = {}
    tables: dict[str, pa.Table] = {}
    for place, (name, engine) in enumerate(live.engines.items()):
        about = {"name": name} | describe_query(engine) | {"limits": asdict(engine.options.limits)}
        if shared is not None and (number := live.numbers.get(name)) is not None:
            about |= {"minterms": engine.stream.encoder.minterms} | shared.counters(number)
            about["matcher"], own = engine.matcher.save()
            arrays |= {f"{place}.{field}": array for field, array in own.items()}
        elif shared is not None:
            arrays[f"{place}.engine"] = np.frombuffer(save(engine), np.uint8)
            if (watched := live.separate.numbers.get(name)) is not None:
                about["watched"] = shared.counters(watched)
        meta["queries"].append(about)
    if live.late_rows:
        tables["late"] = live.late_events()
    if live.front is not None and shared is not None:
        reorder = live.front.reorder
        meta |= {"watermark": int(reorder.watermark), "read": shared.frames.read, "frames": []}
        tables |= {"schema": live.front.schema.empty_table(), "reorder": reorder.rows, "history": shared.history.kept}
        arrays |= {"reorder": reorder.positions, "history": shared.history.kept_positions}
        for place, frame in enumerate(shared.frames.keys):
            meta["frames"].append([list(frame.columns), frame.tied])
            tables[f"keys.{place}"], arrays[f"counts.{place}"] = frame.table.to_table(), frame.counts
    return Snapshot(meta, arrays, tables).to_bytes()


def load_live(data: bytes, kind: type[L]) -> L:
    snapshot = Snapshot.from_bytes(data)
    meta, arrays, tables = snapshot.meta, snapshot.arrays, snapshot.tables
    if meta.get("kind") != _KIND:
        raise DataError("this is the snapshot of one query's engine", fix="restore it with ostinato.Engine.restore")
    live = kind(load_options(meta["options"]))
    for about in meta["queries"]:
        live.add_compiled(about["name"], compile_saved(about), Limits(**about["limits"]))
    for name in _COUNTERS:
        setattr(live, name, meta[name])
    live.ended = meta["ended"]
    live.stopped = {name: QueryStatistics(**stats) for name, stats in meta["stopped"].items()}
    live.late_rows = [tables["late"]] if "late" in tables else []
    if "schema" in tables:
        _fill(live, meta, arrays, tables)
    return live


def _fill(
    live: LiveState, meta: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], tables: Mapping[str, pa.Table]
) -> None:
    saved = {about["name"]: (place, about) for place, about in enumerate(meta["queries"])}
    alone = {
        name: load(arrays[f"{place}.engine"].tobytes(), Engine)
        for name, (place, about) in saved.items()
        if "minterms" not in about
    }
    minterms = {name: about["minterms"] for name, (_, about) in saved.items() if "minterms" in about}
    front = live.bind_to(tables["schema"], minterms, alone)
    front.reorder.watermark = meta["watermark"]
    front.reorder.load(tables["reorder"], arrays["reorder"])
    shared = live.shared
    for name, number in live.numbers.items():
        place, about = saved[name]
        matcher = live.engines[name].matcher
        matcher.load(about["matcher"], {field: arrays[f"{place}.{field}"] for field in matcher.ARRAYS})
        shared.set_counters(number, about)
    for name, number in live.separate.numbers.items():
        if (watched := saved[name][1].get("watched")) is not None:
            shared.set_counters(number, watched)
    _fill_frames(shared, meta, arrays, tables)
    shared.history.load(tables["history"].select(shared.history.schema.names), arrays["history"])


def _fill_frames(
    shared: SharedQueries,
    meta: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
    tables: Mapping[str, pa.Table],
) -> None:
    shared.frames.read = meta["read"]
    for place, (columns, tied) in enumerate(meta["frames"]):
        for frame in shared.frames.keys:
            if (list(frame.columns), frame.tied) == (columns, tied):
                frame.table, frame.counts = KeyTable.from_table(tables[f"keys.{place}"]), arrays[f"counts.{place}"]
    shared.follow_keys()
