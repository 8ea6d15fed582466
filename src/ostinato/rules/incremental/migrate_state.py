"""The state of a program, carried over to the same program over wider columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int64
from ostinato.errors import DataError
from ostinato.rules.incremental.codes import NOTHING, code_kind, decode_column, decode_value, encode_column
from ostinato.rules.incremental.event_rows import (
    BEGIN,
    END,
    FIRST_ATTRIBUTE,
    LABEL_COLUMN,
    PRESENT,
    TERM_COLUMN,
    EventRows,
)
from ostinato.rules.incremental.interned import Interned
from ostinato.rules.incremental.schema_evolution import widen_column, widen_events
from ostinato.rules.incremental.steps import StepEvaluator
from ostinato.rules.kernels.layout import NULL
from ostinato.rules.relational.kinds import TERM, Kind

FROM_THE_START = "say what all columns hold from the start: rules.engine(schema=pyarrow.schema(…))"


def migrate_state(after: StepEvaluator, before: StepEvaluator, now: int) -> None:
    """Let `after` go on from `before`, whose interned values it has. Raises DataError where the kept state is not
    enough for that."""
    before.live.forget(now, all_of_it=True)
    points = {name: _point(name, after, before) for name in before.live.sizes()}
    after.restore(points, {}, now)
    _migrate_events(after, before)
    for stream, engine in before.engines.items():
        if engine.events:
            try:
                after.bound.patterns[stream].check_readable(engine)
            except DataError as error:
                raise DataError(error.reason, fix=FROM_THE_START) from None
            after.engines[stream] = engine


def _migrate_events(after: StepEvaluator, before: StepEvaluator) -> None:
    rows, old, new = before.waiting, before.live.events, after.live.events
    made = np.full((len(rows), new.width), NULL)
    names = {number: new.labels.get(name, 0) for name, number in old.labels.items()}
    made[:, 0] = [names.get(label, 0) for label in rows[:, 0].tolist()]
    made[:, 1:FIRST_ATTRIBUTE] = rows[:, 1:FIRST_ATTRIBUTE]
    known = {path: place for place, (path, _) in enumerate(old.kinds, FIRST_ATTRIBUTE)}
    for place, (path, kind) in enumerate(new.kinds, FIRST_ATTRIBUTE):
        if (column := known.get(path)) is not None:
            of = old.kinds[column - FIRST_ATTRIBUTE][1]
            if PRESENT in (of, kind):
                made[:, place] = np.where(rows[:, column] == NULL, NULL, 1) if kind is PRESENT else rows[:, column]
            else:
                made[:, place] = recode(rows[:, column], of, kind, after.interned, f"`{'.'.join(path)}`")
    for place in range(len(made)):
        reader = new.readers.get(int(made[place, LABEL_COLUMN]))
        if reader is not None and made[place, TERM_COLUMN] == NULL:
            made[place, TERM_COLUMN] = after.interned.number(reader(_values(rows[place], old, new)))
    after.live.room(len(made))[:] = made
    after.live.wait(len(made))
    if before.unseen is not None:
        after.unseen = widen_events(before.unseen, before.program.incoming, after.program.incoming)


def _values(row: Int64, old: EventRows, new: EventRows) -> dict[str, Any]:
    """What was read of an event, for its term: nothing else of it can match."""
    found: dict[str, Any] = dict.fromkeys(new.incoming.columns.values())
    found |= {"begin": int(row[BEGIN]), "end": int(row[END])}
    for place, (path, kind) in enumerate(old.kinds, FIRST_ATTRIBUTE):
        code = int(row[place])
        if code == NULL:
            continue
        value = True if kind is PRESENT else decode_value(code, kind, old.interned)
        inside, name = found, new.incoming.columns[path[0]]
        for below in path[1:]:
            if not isinstance(inside.get(name), dict):
                inside[name] = {}
            inside, name = inside[name], below
        if not (kind is PRESENT and isinstance(inside.get(name), dict)):
            inside[name] = value
    return found


def _point(name: str, after: StepEvaluator, before: StepEvaluator) -> Int64:
    """The tuples of a point in the columns that it has now: in the same order, for the plan is the same."""
    rows, old, new = before.live.tuples(name), before.live.points[name], after.live.points[name]
    if len(new.columns) != len(old.columns) and len(rows):
        reason = f"with a column that is new, or has a type only now, {name} matches events in another way"
        raise DataError(reason, fix=FROM_THE_START)
    made = np.full((len(rows), len(new.columns)), NULL)
    for place, (of, kind) in enumerate(zip(old.kinds, new.kinds, strict=False)):
        if len(rows):
            made[:, place] = recode(rows[:, place], of, kind, after.interned, new.columns[place])
    return made


def recode(codes: Int64, before: Kind, after: Kind, interned: Interned, name: str) -> Int64:
    """Values of a type in the codes of a wider one."""
    if code_kind(before) in (NOTHING, code_kind(after)):
        return codes
    codes = np.ascontiguousarray(codes)
    if after is TERM:
        values = decode_column(codes, before, interned).to_pylist()
        return np.array([NULL if value is None else interned.number(value) for value in values], np.int64)
    values = pa.chunked_array([decode_column(codes, before, interned)])
    return encode_column(widen_column(values, after, name), after, interned)
