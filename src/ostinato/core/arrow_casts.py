"""Casts of nested Arrow values, part by part: Arrow's own fail on parts of nested arrays and on lists of NULLs."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ostinato.core.arrow import is_list


def cast_nested(values: pa.Array | pa.ChunkedArray, kind: pa.DataType) -> pa.Array | pa.ChunkedArray:
    """Cast the values at any depth; a field that only `kind` has is NULL.

    Values that are all NULL can be cast to any type. Raises what Arrow's `cast` raises where a value does not fit.
    """
    if values.type == kind:
        return values
    if isinstance(values, pa.ChunkedArray):
        return pa.chunked_array([cast_nested(chunk, kind) for chunk in values.chunks], kind)
    if values.null_count == len(values):
        return pa.nulls(len(values), kind)
    if pa.types.is_struct(kind) and pa.types.is_struct(values.type):
        parts = dict(zip((field.name for field in values.type), values.flatten(), strict=True))
        missing = pa.nulls(len(values))
        fields = [cast_nested(parts.get(field.name, missing), field.type) for field in kind]
        return pa.StructArray.from_arrays(fields, fields=list(kind), mask=values.is_null())
    if pa.types.is_list(kind) and is_list(values.type):
        ends = np.cumsum(pc.list_value_length(values).fill_null(0).to_numpy())
        offsets = pa.array(np.concatenate([[0], ends]), pa.int32())
        items = cast_nested(values.flatten(), kind.value_type)
        return pa.ListArray.from_arrays(offsets, items, type=kind, mask=values.is_null())
    return values.cast(kind)


def cast_column(rows: pa.Table, field: pa.Field) -> pa.Array | pa.ChunkedArray:
    """The column that the field names, cast to its type; all NULL if the rows have no such column."""
    if field.name not in rows.column_names:
        return pa.nulls(len(rows), field.type)
    return cast_nested(rows[field.name], field.type)
