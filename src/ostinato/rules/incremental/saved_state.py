"""The state of a program as plain data: tuples of points as codes, and the interned values that they have.

Older snapshots hold tables of DuckDB instead; these are read as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ostinato.core.arrays import Int64
from ostinato.core.snapshot_format import Snapshot
from ostinato.rules.algebra.nodes import CelStream
from ostinato.rules.incremental.codes import NUMBERED, code_kind, encode_column
from ostinato.rules.incremental.event_rows import FIRST_ATTRIBUTE, LABEL_COLUMN
from ostinato.rules.incremental.interned import Interned
from ostinato.rules.incremental.steps import StepEvaluator
from ostinato.rules.kernels.layout import FIRST_NULL
from ostinato.rules.relational.kinds import TERM
from ostinato.rules.runtime.ingest import tag, untag

_POINT = "point "
_PATTERNS = {"cel": "pattern ", "srem": "srem ", "sql": "sql "}  # what begins the name of a pattern's state


def _saved_name(stream: CelStream) -> str:
    return _PATTERNS[stream.language] + stream.query


def save_state(
    steps: StepEvaluator, now: int
) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]], dict[str, pa.Table]]:
    """What is kept, as a header, arrays and tables."""
    live = steps.live
    live.forget(now, all_of_it=True)
    values = _Values(steps.interned)
    arrays: dict[str, npt.NDArray[Any]] = {}
    for name in live.sizes():
        rows = live.tuples(name)
        if len(rows):
            kinds = live.points[name].kinds
            columns = [place for place, kind in enumerate(kinds) if code_kind(kind) == NUMBERED]
            arrays[f"{_POINT}{name}"] = values.renumber(rows, columns)
    arrays["events"] = values.renumber(steps.waiting.copy(), live.events.numbered_columns())
    places = {number: place for place, number in enumerate(live.events.labels.values(), 1)}
    arrays["events"][:, LABEL_COLUMN] = [places.get(label, 0) for label in steps.waiting[:, LABEL_COLUMN].tolist()]
    for stream, engine in steps.engines.items():
        arrays[_saved_name(stream)] = np.frombuffer(engine.snapshot(), np.uint8)
    tables = {"values": pa.table({"value": pa.array(values.texts, pa.string())})}
    if steps.unseen is not None:
        tables["unseen"] = steps.unseen.combine_chunks()
    meta = {"labels": list(live.events.labels), "event columns": [list(key) for key in live.events.columns]}
    meta["null"] = steps.interned.null
    timers = steps.periodic
    if timers.done is not None:
        meta["periods"] = [timers.first, min(timers.done, now)]
    return meta, arrays, tables


def load_state(steps: StepEvaluator, saved: Snapshot, now: int) -> None:
    names = {stream: _saved_name(stream) for stream in steps.engines}
    patterns = {stream: saved.arrays[name].tobytes() for stream, name in names.items() if name in saved.arrays}
    if "values" not in saved.tables:
        steps.interned.with_null(lambda: _load_tables(steps, saved, patterns, now))
        return
    if "periods" in saved.meta:
        steps.periodic.first, steps.periodic.done = saved.meta["periods"]
    interned = steps.interned
    arrays = {name: rows for name, rows in saved.arrays.items() if name == "events" or name.startswith(_POINT)}
    arrays = interned.adopt(arrays, saved.meta.get("null", FIRST_NULL))
    texts = saved.tables["values"]["value"].to_pylist()
    numbers = np.array([*(interned.number(untag(text)) for text in texts), interned.null], np.int64)
    points = {name: np.zeros((0, len(steps.live.points[name].columns)), np.int64) for name in steps.live.sizes()}
    for name, rows in arrays.items():
        if name.startswith(_POINT):
            point = steps.live.points[name.removeprefix(_POINT)]
            columns = [place for place, kind in enumerate(point.kinds) if code_kind(kind) == NUMBERED]
            points[point.name] = _with_numbers(rows, columns, numbers)
    steps.restore(points, patterns, now)
    _load_events(steps, saved, arrays["events"], numbers)
    if "unseen" in saved.tables:
        steps.unseen = saved.tables["unseen"]


def _load_events(steps: StepEvaluator, saved: Snapshot, was: Int64, numbers: Int64) -> None:
    """The events that wait: their labels and columns may have other places now."""
    events = steps.live.events
    rows = np.full((len(was), events.width), steps.interned.null)
    labels = [0, *(events.labels.get(name, 0) for name in saved.meta["labels"])]
    rows[:, :FIRST_ATTRIBUTE] = was[:, :FIRST_ATTRIBUTE]
    rows[:, LABEL_COLUMN] = np.array(labels, np.int64)[was[:, LABEL_COLUMN]]
    for place, (path, kind) in enumerate(saved.meta["event columns"], FIRST_ATTRIBUTE):
        if (column := events.columns.get((tuple(path), kind))) is not None:
            rows[:, column] = was[:, place]
    steps.live.room(len(rows))[:] = _with_numbers(rows, events.numbered_columns(), numbers)
    steps.live.wait(len(rows))


def _with_numbers(rows: Int64, columns: list[int], numbers: Int64) -> Int64:
    """The last of `numbers` is NULL."""
    rows = rows.copy()
    for column in columns:
        codes = rows[:, column]
        rows[:, column] = numbers[np.where(codes == numbers[-1], len(numbers) - 1, codes)]
    return rows


class _Values:
    """The interned values that something has, as texts, numbered anew."""

    def __init__(self, interned: Interned) -> None:
        self.interned = interned
        self.texts: list[str] = []
        self.places: dict[int, int] = {}

    def renumber(self, rows: Int64, columns: list[int]) -> Int64:
        rows, null = rows.copy(), self.interned.null
        for column in columns:
            rows[:, column] = [null if code == null else self._place(code) for code in rows[:, column].tolist()]
        return rows

    def _place(self, number: int) -> int:
        if number not in self.places:
            self.places[number] = len(self.texts)
            self.texts.append(tag(self.interned.values[number]))
        return self.places[number]


def _load_tables(steps: StepEvaluator, saved: Snapshot, patterns: dict[CelStream, bytes], now: int) -> None:
    """A snapshot whose points are tables: columns of values, TERMs as texts."""
    interned, live = steps.interned, steps.live
    null, points = interned.null, {}
    for name in live.sizes():
        plan, table = live.points[name], saved.tables[f"{_POINT}{name}"]
        rows = np.empty((len(table), len(plan.columns)), np.int64)
        for place, (column, kind) in enumerate(zip(table.columns, plan.kinds, strict=True)):
            if kind is TERM:
                rows[:, place] = [null if text is None else interned.number(untag(text)) for text in column.to_pylist()]
            elif place in plan.serials:
                rows[:, place] = column.combine_chunks().dictionary_encode().indices  # digests were saved
            else:
                rows[:, place] = encode_column(column, kind, interned)
        points[name] = rows
    steps.restore(points, patterns, now)
    steps.wait(saved.tables["waiting"])
