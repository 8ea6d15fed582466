"""Saves the whole state of an engine as bytes and restores it: the restored engine continues exactly there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ostinato.core.arrow import plain_type
from ostinato.core.arrow_casts import cast_column
from ostinato.core.columns.keys import KeyTable
from ostinato.core.snapshot_format import Snapshot
from ostinato.errors import DataError
from ostinato.patterns.compile import CompiledPattern, compile_text
from ostinato.patterns.limits import Limits
from ostinato.patterns.runtime.absence import NEVER
from ostinato.patterns.runtime.history import PLACE
from ostinato.patterns.runtime.matches import Matches
from ostinato.patterns.runtime.state import EngineOptions, EngineState
from ostinato.patterns.syntax.format import to_text

E = TypeVar("E", bound=EngineState)

# Engines of one query are restored many times where its keys are spread over tasks.
_compiled = lru_cache(maxsize=64)(compile_text)
_COUNTERS = ("events", "read", "matches", "late", "low", "newest")
_WAITING_ARRAYS = ("starts", "ends", "groups", "places", "branches", "deciding")
_MATCH_ARRAYS = ("positions", "symbols", "offsets", "keys", "origins")


def save(engine: EngineState) -> bytes:
    meta: dict[str, Any] = describe_query(engine) | {"options": asdict(engine.options), "stopped": engine.stopped}
    meta |= {name: getattr(engine, name) for name in _COUNTERS} | {"bound": engine.bound}
    arrays: dict[str, npt.NDArray[Any]] = {}
    tables: dict[str, pa.Table] = {}
    if engine.bound:
        stream, history, reorder = engine.stream, engine.history, engine.reorder
        meta["minterms"], meta["numbers"] = stream.encoder.minterms, sorted(stream.numbers)
        meta["watermark"], meta["plan"] = int(reorder.watermark), _plan(engine)
        meta["matcher"], matcher_arrays = engine.matcher.save()
        arrays |= {f"matcher.{name}": array for name, array in matcher_arrays.items()}
        arrays |= {"history": history.kept_positions, "reorder": reorder.positions}
        arrays["last_tick"] = stream.last_tick.values
        tables |= {"schema": stream.schema.empty_table(), "history": history.kept, "reorder": reorder.rows}
        if engine.late_rows:
            tables["late"] = engine.late_events()
        if stream.keys is not None:
            tables["keys"] = stream.keys.to_table()
        tables |= {f"recent.{number}": recent.kept for number, recent in enumerate(stream.recent)}
        if stream.ties is not None:
            arrays["last_seen"] = stream.ties.last_seen.values
        if engine.waiting is not None:
            arrays |= {f"waiting.{name}": getattr(engine.waiting.matches, name) for name in _MATCH_ARRAYS}
            arrays |= {f"waiting.{name}": getattr(engine.waiting, name) for name in _WAITING_ARRAYS}
            meta["next_group"] = engine.waiting.next_group
        if engine.first is not None:
            arrays["given"] = engine.first.given
        if engine.skips is not None:
            arrays["bars"] = engine.skips.bars
        if engine.distinct is not None:
            meta["seen"] = engine.distinct.save()
        if engine.identity is not None:
            meta["ordinals"] = engine.ordinals.save()
    return Snapshot(meta, arrays, tables).to_bytes()


def describe_query(engine: EngineState) -> dict[str, Any]:
    """The text of a query, and its language."""
    query = engine.compiled.query
    return {"query": query.text or to_text(query), "language": query.language}


def compile_saved(meta: Mapping[str, Any]) -> CompiledPattern:
    return _compiled(meta["query"], meta.get("language", "cel"))


def _plan(engine: EngineState) -> list[Any]:
    """What the numbers of states in the arrays depend on beside the query: how this release evaluates it."""
    registers = engine.stream.registers
    return [engine.compiled.strategy, registers.transducer.states if registers is not None else 0]


def _check_plan(engine: EngineState, meta: Mapping[str, Any]) -> None:
    compiled, registers = engine.compiled, engine.stream.registers
    # Releases that did not save it ran these queries in another way.
    changed = compiled.finds_first and compiled.query.items is not None
    changed |= compiled.query.strategy == "MAX" and compiled.strategy == "NXT"
    changed |= registers is not None and registers.transducer.states != compiled.transducer.states
    if meta.get("plan") != _plan(engine) and (changed or "plan" in meta):
        raise DataError(
            "the snapshot was taken by a release that evaluates this query in another way",
            fix="restore it with the release that wrote it, or begin anew",
        )


def load_options(saved: Mapping[str, Any]) -> EngineOptions:
    options = dict(saved)
    options["limits"] = Limits(**options["limits"])
    options["binding"]["order_by"] = tuple(options["binding"]["order_by"])
    if options.get("identity") is not None:
        options["identity"] = tuple(options["identity"])
    return EngineOptions(**options)


def load(snapshot: Snapshot, kind: type[E], like: E | None = None) -> E:
    """The engine of this kind that was saved; or with its state one `like` another, which has the same query, but
    perhaps other columns and options."""
    meta, arrays, tables = snapshot.meta, dict(snapshot.arrays), dict(snapshot.tables)
    if like is None or not meta["bound"]:
        engine = kind(compile_saved(meta), load_options(meta["options"]))
    else:
        engine = like.twin(meta["minterms"], meta.get("numbers"))
        for name, columns in (("reorder", engine.stream.schema), ("history", engine.history.schema)):
            tables[name] = conform_table(tables[name], columns)
        if "keys" in tables:
            tables["keys"] = conform_keys(tables["keys"], engine.stream.schema)
        for number, recent in enumerate(engine.stream.recent):
            tables[f"recent.{number}"] = conform_table(tables[f"recent.{number}"], recent.kept.schema)
    if meta["bound"]:
        if like is None:
            engine.bind(tables["schema"], minterms=meta["minterms"], numbers=meta.get("numbers"))
        _check_plan(engine, meta)
        if "waiting.starts" in arrays and "waiting.ends" not in arrays:
            _to_pulses(engine, arrays, tables)
        if "waiting.starts" in arrays and "waiting.branches" not in arrays:  # before there was more than one branch
            arrays["waiting.branches"] = np.zeros_like(arrays["waiting.starts"])
            arrays["waiting.deciding"] = np.full_like(arrays["waiting.starts"], NEVER)
        _fill(engine, meta, arrays, tables)
    for name in _COUNTERS:
        setattr(engine, name, meta.get(name, getattr(engine, name)))
    engine.stopped = meta["stopped"]
    return engine


def conform_table(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Saved rows with the columns of now, NULL where there are more."""
    return rows if rows.schema.equals(schema) else pa.table([cast_column(rows, f) for f in schema], schema=schema)


def conform_keys(keys: pa.Table, schema: pa.Schema) -> pa.Table:
    """Saved keys in the types of now, with the same ids."""
    fields = [schema.field(name).with_type(plain_type(schema.field(name).type)) for name in keys.column_names]
    return conform_table(keys, pa.schema(fields)) if fields else keys


def _to_pulses(engine: EngineState, arrays: dict[str, npt.NDArray[Any]], tables: dict[str, pa.Table]) -> None:
    """Older snapshots hold the ticks of events whose matches wait, and only those of the first ones."""
    clock, history = engine.stream.clock, tables["history"]
    assert clock is not None
    arrays["waiting.starts"] = arrays["waiting.ends"] = clock.to_pulses(arrays["waiting.starts"])
    times = pa.array(clock.to_pulses(history["#tick"].to_numpy()))
    at = history.column_names.index("#tick")
    tables["history"] = history.set_column(at, engine.history.schema.field(at).name, times)


def _fill(
    engine: EngineState, meta: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], tables: Mapping[str, pa.Table]
) -> None:
    stream = engine.stream
    matcher_arrays = {name: arrays[f"matcher.{name}"] for name in engine.matcher.ARRAYS}
    engine.matcher.load(meta["matcher"], matcher_arrays)
    stream.last_tick.values = arrays["last_tick"]
    engine.reorder.watermark = meta["watermark"]
    engine.reorder.load(tables["reorder"], arrays["reorder"])
    engine.history.load(tables["history"], arrays["history"])
    engine.late_rows = [tables["late"]] if "late" in tables else []
    if stream.keys is not None:
        stream.keys = KeyTable.from_table(tables["keys"])
    for number, recent in enumerate(stream.recent):
        recent.kept = tables[f"recent.{number}"]
    if stream.ties is not None:
        stream.ties.read, stream.ties.last_seen.values = meta["read"], arrays["last_seen"]
    if engine.waiting is not None:
        engine.waiting.matches = Matches(*(arrays[f"waiting.{name}"] for name in _MATCH_ARRAYS))
        for name in _WAITING_ARRAYS:
            setattr(engine.waiting, name, arrays[f"waiting.{name}"])
        engine.waiting.next_group = meta["next_group"]
    if engine.first is not None:
        engine.first.given = arrays["given"]
    if engine.skips is not None:
        engine.skips.bars = arrays["bars"]
        engine.in_place = np.array_equal(tables["history"][PLACE].to_numpy(), arrays["history"])
    if engine.distinct is not None:
        engine.distinct.load(meta["seen"])
    engine.ordinals.load(meta.get("ordinals"))
