"""The state of a clause's engine as plain data, for snapshots."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ostinato.core.snapshot_format import Snapshot
from ostinato.sql.kernels.layout import DEPTH, START
from ostinato.sql.live.clause_engine import ClauseEngine
from ostinato.sql.live.code_book import CodeBook
from ostinato.sql.live.found_matches import FoundMatches
from ostinato.sql.live.kept_rows import KeptRows
from ostinato.sql.live.partitions import PLACES, stretches
from ostinato.sql.live.text_order import TextOrder

Parts = tuple[dict[str, Any], dict[str, npt.NDArray[Any]], dict[str, pa.Table]]
_MATCHES = ("parts", "starts", "lengths", "numbers", "reads", "path")


def save(engine: ClauseEngine) -> Parts:
    """Rows that are needed, and what is known of them."""
    partitions, count = engine.partitions, engine.partitions.count
    engine.shrink()
    needed, last = partitions["needed"][:count], partitions["last"][:count]
    rows = stretches(needed, last - needed)
    depths = np.maximum(partitions.attempts[:count, DEPTH] + 1, 0)
    frames = stretches(partitions["base"][:count], depths)
    arrays: dict[str, npt.NDArray[Any]] = {
        f"rows.{name}": array[..., rows] for name, array in partitions.of_rows.items() if name != "ids"
    }
    arrays |= {f"frames.{name}": array[frames] for name, array in partitions.of_frames.items()}
    arrays |= {f"places.{name}": partitions[name][:count] for name in PLACES}
    arrays["attempts"] = partitions.attempts[:count]
    arrays |= {f"waiting.{name}": getattr(engine.waiting, name) for name in _MATCHES}
    arrays["codes"] = engine.codes.book.holds
    arrays["deadlines"] = np.array(engine.deadlines, np.int64).reshape(-1, 2)
    texts = engine.codes.texts
    arrays["numbers"] = np.array(texts.numbers, np.int64)
    tables = {"kept": engine.kept.take(np.arange(engine.kept.size)), "texts": pa.table({"text": texts.texts})}
    return {"count": count, "registers": _registers(engine)}, arrays, tables


def _registers(engine: ClauseEngine) -> list[str]:
    """What the rows and frames of an engine hold, by name."""
    registers = engine.bound.conditions.registers
    columns = [f"{text} {kind.type} {without}" for text, kind, without in registers.columns]
    return [*columns, *map(str, registers.totals), *(str(sorted(each)) for each in registers.sets)]


def load(engine: ClauseEngine, meta: dict[str, Any], stored: Snapshot) -> None:
    """Into an engine that has read nothing yet."""
    arrays, count, partitions = stored.arrays, meta["count"], engine.partitions
    codes = engine.codes
    codes.texts = TextOrder(stored.tables["texts"]["text"].to_pylist(), arrays["numbers"].tolist())
    codes.book = CodeBook(codes.book.conditions, None if codes.book.packed else arrays["codes"])
    engine.step.renumber_constants()
    partitions.add(count)
    places = {name: arrays[f"places.{name}"] for name in PLACES}
    counts = places["last"] - places["needed"]
    if (moved := partitions.make_room(np.arange(count), counts)) is not None:
        engine.step.relocate(moved)
    base = partitions["base"][:count].copy()
    delta = base - places["needed"]
    for name in PLACES:
        gone = places[name] < 0 if name == "begun" else np.zeros(count, np.bool_)
        partitions[name][:count] = np.where(gone, -1, places[name] + delta)
    partitions["base"][:count] = base
    partitions.attempts[:count] = arrays["attempts"]
    partitions.attempts[:count, START] += delta
    rows = stretches(base, counts)
    engine.kept = KeptRows(stored.tables["kept"])
    partitions.kept = int(counts.sum())
    for name in ("row_ids", "deadlines"):
        if name in partitions.of_rows:
            partitions.of_rows[name][rows] = arrays[f"rows.{name}"]
    if meta.get("registers") == _registers(engine):
        for name in partitions.of_rows:
            if name != "ids":
                partitions.of_rows[name][..., rows] = arrays[f"rows.{name}"]
        frames = stretches(base, np.maximum(partitions.attempts[:count, DEPTH] + 1, 0))
        for name in partitions.of_frames:
            partitions.of_frames[name][frames] = arrays[f"frames.{name}"]
    else:  # another version held other columns: what it was in the middle of begins anew
        codes.book = CodeBook(codes.book.conditions)
        partitions.attempts[:count, DEPTH] = -1
        partitions["ready"][:count] = np.minimum(partitions["ready"][:count], partitions.attempts[:count, START])
        engine.read_columns(rows)
    engine.waiting = FoundMatches(*(arrays[f"waiting.{name}"] for name in _MATCHES))
    engine.waiting.shift(delta)
    engine.deadlines = [(int(tick), int(part)) for tick, part in arrays["deadlines"]]
    engine.queued = {part: tick for tick, part in engine.deadlines}
    engine.step.refresh()
    engine.step.write_codes()


def adopt(engine: ClauseEngine, before: ClauseEngine) -> None:
    """Take over what an engine keeps whose columns had other types: the same rows, of which conditions may now say
    something else. Matches that are sought are sought anew."""
    old, partitions, count = before.partitions, engine.partitions, before.partitions.count
    before.shrink()
    needed, start = old["needed"][:count], old.attempts[:count, START]
    counts = old["last"][:count] - needed
    partitions.add(count)
    if (moved := partitions.make_room(np.arange(count), counts)) is not None:
        engine.step.relocate(moved)
    base = partitions["base"][:count].copy()
    delta = base - needed
    for name in ("last", "shown", "covered"):
        partitions[name][:count] = old[name][:count] + delta
    gone = old["begun"][:count] < needed
    partitions["begun"][:count] = np.where(gone, -1, old["begun"][:count] + delta)
    partitions["ready"][:count] = np.minimum(old["ready"][:count], start) + delta
    partitions["needed"][:count] = base
    partitions.attempts[:count] = old.attempts[:count]
    partitions.attempts[:count, START] += delta
    partitions.attempts[:count, DEPTH] = -1
    places, rows = stretches(base, counts), stretches(needed, counts)
    if "deadlines" in old.of_rows:
        partitions.of_rows["deadlines"][places] = old.of_rows["deadlines"][rows]
    partitions.of_rows["row_ids"][places] = np.arange(places.size)
    partitions.kept = places.size
    kept = before.kept.take(np.arange(before.kept.size))
    engine.kept = KeptRows(kept.select(engine.kept.schema.names).cast(engine.kept.schema))
    engine.waiting = before.waiting
    engine.waiting.shift(delta)
    engine.deadlines, engine.queued = before.deadlines, before.queued
    engine.read_columns(places)
    engine.step.refresh()
