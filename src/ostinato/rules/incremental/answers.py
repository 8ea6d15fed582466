"""Derived events as the table of an answer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int64
from ostinato.rules.incremental.codes import decode_column
from ostinato.rules.incremental.head_values import display_text
from ostinato.rules.incremental.interned import Interned
from ostinato.rules.kernels.layout import NULL
from ostinato.rules.relational.kinds import TERM
from ostinato.rules.runtime.bound_program import BoundProgram

Derived = Sequence[tuple[str, Int64]]  # label; rows of begin, end and the attributes of the label


def build_answer(bound: BoundProgram, found: Derived, interned: Interned) -> pa.Table:
    """The rows in the columns of the answer, sorted."""
    if not found:
        return bound.answer_schema.empty_table()
    tables = [_table(bound, label, rows, interned) for label, rows in found]
    return bound.answer(tables[0] if len(tables) == 1 else pa.concat_tables(tables))


def _table(bound: BoundProgram, label: str, rows: Int64, interned: Interned) -> pa.Table:
    kinds = bound.sql.plan_types.derived[label]
    places = {name: place for place, name in enumerate(kinds, 2)}
    columns = [pa.array([label] * len(rows), pa.string()), pa.array(rows[:, 0]), pa.array(rows[:, 1])]
    names = ["type", "begin", "end"]
    for field in bound.sql.output:
        names.append(field.name)
        if field.name not in places:
            columns.append(pa.nulls(len(rows), field.type))
            continue
        kind, codes = kinds[field.name], np.ascontiguousarray(rows[:, places[field.name]])
        if kind is TERM:
            values = interned.values
            texts = [None if code == NULL else display_text(values[code]) for code in codes.tolist()]
            columns.append(pa.array(texts, pa.string()))
        else:
            made = decode_column(codes, kind, interned)
            columns.append(made if made.type == field.type else made.cast(field.type))
    return pa.table(columns, names=names)
