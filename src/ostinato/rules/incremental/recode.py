"""Codes of one type as those of another."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int64
from ostinato.rules.incremental.codes import NOTHING, NUMBERED, WHOLE, code_kind, decode_column, encode_column
from ostinato.rules.incremental.event_rows import CONTENT, FIRST_ATTRIBUTE, PRESENT, EventRows
from ostinato.rules.incremental.interned import Interned
from ostinato.rules.incremental.schema_evolution import widen_column
from ostinato.rules.relational.kinds import TERM, Kind


def carry_columns(rows: Int64, old: EventRows, made: Int64, new: EventRows, first: int = FIRST_ATTRIBUTE) -> None:
    """Write the attributes of events that were read, from a column on, in the types in which they are read now.

    Where only their presence was read, they have no value.
    """
    places = list(enumerate(old.kinds, FIRST_ATTRIBUTE))
    known = {path: column for column, (path, kind) in places if kind is PRESENT or kind is CONTENT}
    known |= {path: column for column, (path, kind) in places if kind is not PRESENT and kind is not CONTENT}
    for column, (path, kind) in enumerate(new.kinds, FIRST_ATTRIBUTE):
        before = old.columns.get((path, str(kind)), known.get(path))
        if column < first or before is None or before >= rows.shape[1]:
            continue
        of = old.kinds[before - FIRST_ATTRIBUTE][1]
        if kind is PRESENT:
            made[:, column] = np.where(rows[:, before] == new.interned.null, new.interned.null, 1)
        elif kind is CONTENT or of is CONTENT:
            if kind is of:
                made[:, column] = rows[:, before]
        elif of is not PRESENT:
            made[:, column] = recode(rows[:, before], of, kind, new.interned, f"`{'.'.join(path)}`")


def recode(codes: Int64, before: Kind, after: Kind, interned: Interned, name: str) -> Int64:
    """Values of a type in the codes of a wider one."""
    if code_kind(before) in (NOTHING, code_kind(after)):
        return codes
    if code_kind(before) == NUMBERED and code_kind(after) == WHOLE:
        return codes  # of references: any numbers tell events apart
    codes = np.ascontiguousarray(codes)
    if after is TERM:
        values = decode_column(codes, before, interned).to_pylist()
        return np.array([interned.null if value is None else interned.number(value) for value in values], np.int64)
    values = pa.chunked_array([decode_column(codes, before, interned)])
    return encode_column(widen_column(values, after, name), after, interned)
