"""Saves the whole state of an engine for many queries as bytes, and restores it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ostinato.core.columns.keys import KeyTable
from ostinato.core.snapshot_format import PATTERNS, Snapshot
from ostinato.core.stream_schema import check_wider
from ostinato.patterns.limits import Limits
from ostinato.patterns.live.front import Front
from ostinato.patterns.live.kept_state import load_query, rest_query, rests, save_query
from ostinato.patterns.live.shared_queries import SharedQueries
from ostinato.patterns.live.state import LiveState
from ostinato.patterns.live.statistics import QueryStatistics
from ostinato.patterns.runtime.engine import Engine
from ostinato.patterns.runtime.snapshot import (
    compile_saved,
    conform_keys,
    conform_table,
    describe_query,
    load,
    load_options,
    save,
)

L = TypeVar("L", bound=LiveState)

_COUNTERS = ("events", "late")
_BEGINNING: Mapping[str, Any] = {"events": 0, "late": 0, "ended": False, "stopped": {}, "queries": []}


def save_live(live: LiveState) -> bytes:
    shared = live.shared if live.front is not None else None
    meta: dict[str, Any] = {
        "kind": PATTERNS,
        "options": asdict(live.options),
        "ended": live.ended,
        "stopped": {name: asdict(stats) for name, stats in live.stopped.items()},
        "queries": [],
    }
    meta |= {name: getattr(live, name) for name in _COUNTERS}
    arrays: dict[str, npt.NDArray[Any]] = {}
    tables: dict[str, pa.Table] = {}
    if shared is not None and not live.ended:
        shared.forget()
    for place, (name, engine) in enumerate(live.engines.items()):
        about = {"name": name} | describe_query(engine) | {"limits": asdict(engine.options.limits)}
        if shared is not None and (number := live.numbers.get(name)) is not None:
            about |= {"minterms": engine.stream.encoder.minterms} | shared.counters(number)
            if engine.identity is not None:
                about["ordinals"] = engine.ordinals.save()
            if (state := save_query(shared, number)) is not None:
                about["matcher"], own = state
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
        meta["names"] = live.front.names
        tables |= {"schema": live.front.schema.empty_table(), "reorder": reorder.rows, "history": shared.history.kept}
        arrays |= {"reorder": reorder.positions, "history": shared.history.kept_positions}
        for place, frame in enumerate(shared.frames.keys):
            meta["frames"].append([list(frame.columns), frame.tied])
            tables[f"keys.{place}"], arrays[f"counts.{place}"] = frame.table.to_table(), frame.counts
    return Snapshot(meta, arrays, tables).to_bytes()


def load_live(data: bytes, kind: type[L]) -> L:
    meta, arrays, tables = _read(data)
    live = kind(load_options(meta["options"]))
    for about in meta["queries"]:
        live.add_compiled(about["name"], compile_saved(about), Limits(**about["limits"]))
    _fill(live, meta, tables)
    if "schema" in tables:
        saved = _saved(meta)
        alone = {
            name: load(_engine_of(arrays, place), Engine)
            for name, (place, about) in saved.items()
            if "minterms" not in about
        }
        minterms = {name: about["minterms"] for name, (_, about) in saved.items() if "minterms" in about}
        front = live.bind_to(tables["schema"], minterms, alone)
        front.names = meta.get("names", front.names)
        _fill_bound(live, front, meta, arrays, tables)
    return live


def holds_nothing(live: LiveState) -> bool:
    """Whether an engine, once its snapshot was taken, is as good as one that begins; where queries run each for itself,
    that is not looked up."""
    if live.front is None:
        return True
    return not live.separate.engines and not live.front.reorder.waiting and rests(live.shared)


def resume_live(live: LiveState, data: bytes | None) -> None:
    """Go on from a snapshot, of other queries and columns perhaps, in an engine that is bound to its columns."""
    meta, arrays, tables = _read(data) if data is not None else (_BEGINNING, {}, {})
    front = live.front
    assert front is not None
    if "schema" in tables:
        check_wider(tables["schema"].schema, front.schema)
    _fill(live, meta, tables)
    live.errors, live.stopped = {}, {name: stats for name, stats in live.stopped.items() if name not in live.engines}
    saved = _saved(meta)
    for name, engine in live.separate.engines.items():
        place, about = saved.get(name, (0, {"minterms": ()}))
        other = engine.twin() if "minterms" in about else load(_engine_of(arrays, place), Engine, engine)
        live.separate.replace(name, other)
        live.engines[name] = other
        if (number := live.separate.numbers.get(name)) is not None:
            live.shared.members.watched[number] = name, other
    if "schema" not in tables:  # it had read nothing
        meta = {**meta, "watermark": np.iinfo(np.int64).min, "read": 0, "frames": []}
        tables = {"reorder": front.schema.empty_table(), "history": live.shared.history.schema.empty_table()}
        arrays = {"reorder": np.zeros(0, np.int64), "history": np.zeros(0, np.int64)}
    _fill_bound(live, front, meta, arrays, tables)


def _read(data: bytes) -> tuple[Mapping[str, Any], Mapping[str, npt.NDArray[Any]], Mapping[str, pa.Table]]:
    snapshot = Snapshot.from_bytes(data)
    snapshot.check_kind(PATTERNS)
    return snapshot.meta, snapshot.arrays, snapshot.tables


def _saved(meta: Mapping[str, Any]) -> dict[str, tuple[int, dict[str, Any]]]:
    """By the name of a query: its place in the snapshot, and what that says of it."""
    return {about["name"]: (place, about) for place, about in enumerate(meta["queries"])}


def _engine_of(arrays: Mapping[str, npt.NDArray[Any]], place: int) -> Snapshot:
    """The state of a query that runs for itself."""
    return Snapshot.from_bytes(arrays[f"{place}.engine"].tobytes())


def _fill(live: LiveState, meta: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
    for name in _COUNTERS:
        setattr(live, name, meta[name])
    live.ended = meta["ended"]
    live.stopped = {name: QueryStatistics(**stats) for name, stats in meta["stopped"].items()}
    live.late_rows = [tables["late"]] if "late" in tables else []


def _fill_bound(
    live: LiveState,
    front: Front,
    meta: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
    tables: Mapping[str, pa.Table],
) -> None:
    front.reorder.watermark = meta["watermark"]
    front.reorder.load(conform_table(tables["reorder"], front.schema), arrays["reorder"])
    shared, saved = live.shared, _saved(meta)
    of_query: dict[str, dict[str, npt.NDArray[Any]]] = {}
    for field, array in arrays.items():
        place, _, name = field.partition(".")
        of_query.setdefault(place, {})[name] = array
    for name, number in live.numbers.items():
        at, about = saved.get(name, (0, {}))
        if "matcher" in about:
            load_query(shared, number, about["matcher"], of_query[str(at)])
        else:
            rest_query(shared, number)
        shared.set_counters(number, about)
        live.engines[name].ordinals.load(about.get("ordinals"))
    for name, number in live.separate.numbers.items():
        watched = saved[name][1].get("watched") if name in saved else {}
        if watched is not None:
            shared.set_counters(number, watched)
    _fill_frames(shared, meta, arrays, tables)
    shared.history.load_only(conform_table(tables["history"], shared.history.schema), arrays["history"])


def _fill_frames(
    shared: SharedQueries,
    meta: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
    tables: Mapping[str, pa.Table],
) -> None:
    shared.restart(meta["read"])
    for place, (columns, tied) in enumerate(meta["frames"]):
        for frame in shared.frames.keys:
            if (list(frame.columns), frame.tied) == (columns, tied):
                frame.table, frame.counts = (
                    KeyTable.from_table(conform_keys(tables[f"keys.{place}"], shared.frames.schema)),
                    arrays[f"counts.{place}"],
                )
    shared.follow_keys()
