"""The columns of a stream, which its first batch sets: how later batches are fitted to them, and which other columns
may go on with what was kept of it."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from ostinato.core.arrow import is_list
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


def is_wider(kind: pa.DataType, before: pa.DataType) -> bool:
    """Whether a column may go on with this type: it holds every value of the type before, as the same value."""
    if kind == before or pa.types.is_null(before):
        return True
    if pa.types.is_struct(kind) and pa.types.is_struct(before):
        fields = {field.name: field.type for field in kind}
        return all(field.name in fields and is_wider(fields[field.name], field.type) for field in before)
    if is_list(kind) and is_list(before):
        return is_wider(kind.value_type, before.value_type)
    if pa.types.is_signed_integer(kind) and pa.types.is_signed_integer(before):
        return bool(kind.bit_width >= before.bit_width)
    if pa.types.is_floating(kind) and pa.types.is_floating(before):
        return bool(kind.bit_width >= before.bit_width)
    if pa.types.is_decimal(kind) and pa.types.is_decimal(before):
        return bool(kind.scale >= before.scale and kind.precision - kind.scale >= before.precision - before.scale)
    return False


def check_wider(before: pa.Schema, now: pa.Schema) -> None:
    """Raise DataError where what was kept of a column cannot go on in the type that it has now."""
    known = {field.name: field.type for field in now}
    for field in before:
        kind = known.get(field.name, field.type)
        if not is_wider(kind, field.type):
            raise DataError(
                f"the column `{field.name}` was {field.type} in the state to go on from, now it is {kind}",
                fix=f"cast it to {field.type}, or begin with a new state; only integers, floats and decimals may "
                "become wider, and structs gain fields",
            )
