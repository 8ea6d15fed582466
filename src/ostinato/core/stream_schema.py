"""The columns of a stream, which its first batch sets: how later batches are fitted to them."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from ostinato.errors import DataError


def types_of_empty_columns(schema: pa.Schema, later: pa.Schema) -> dict[str, pa.DataType]:
    """The types that a later batch gives to columns that held only NULL so far."""
    empty = [field.name for field in schema if pa.types.is_null(field.type) and field.name in later.names]
    return {name: later.field(name).type for name in empty if not pa.types.is_null(later.field(name).type)}


def with_types(schema: pa.Schema, types: Mapping[str, pa.DataType]) -> pa.Schema:
    return pa.schema([pa.field(field.name, types.get(field.name, field.type)) for field in schema])


_FIX = "push values of one type, or set the types by pushing an empty table of them first"


def align_rows(batch: pa.Table, schema: pa.Schema, *, fix: str = _FIX) -> pa.Table:
    """A later batch with the columns and types of the first; where its types differ, `fix` says what to do."""
    missing = [name for name in schema.names if name not in batch.schema.names]
    if missing:
        raise DataError(
            f"this batch has no column `{missing[0]}`, which earlier ones had", fix="push batches of one schema"
        )
    batch = batch.select(schema.names)
    if batch.schema.equals(schema):
        return batch
    try:
        return batch.cast(schema)
    except _UNFIT:
        raise _misfit(batch, schema, fix) from None


_UNFIT = (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError)


def _misfit(batch: pa.Table, schema: pa.Schema, fix: str) -> DataError:
    """Says which column does not have the type that the first batch set."""
    reason = "the column types of this batch differ from those of earlier ones"
    for field in schema:
        try:
            batch[field.name].cast(field.type)
        except _UNFIT as error:
            reason = f"`{field.name}` is {field.type} in this stream, which does not fit this batch: {error}"
            break
    return DataError(reason, fix=fix)
