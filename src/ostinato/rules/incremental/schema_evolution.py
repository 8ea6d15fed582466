"""The columns of a live stream, as batches bring them: later ones may have more columns, more fields, wider numbers.

What two batches have in common is what they would have as one list of rows, so that how events are cut into batches
changes nothing.
"""

from __future__ import annotations

import pyarrow as pa

from ostinato.core.arrow_casts import cast_column, cast_nested
from ostinato.errors import DataError
from ostinato.rules.relational.kinds import TERM, Attributes, is_list, logical_type, map_leaf_types, type_family

_MISFITS = (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError)
_MOST_DIGITS = 38  # of a decimal, in SQL
_FIX = "give every column values of one type: convert them, or use another column for the others"


def widen_schema(known: pa.Schema, given: pa.Schema) -> pa.Schema:
    """The columns that were known, wide enough for those that are given, and then the new ones.

    Raises DataError where a column cannot hold both.
    """
    types = {field.name: field.type for field in known}
    for field in given:
        types[field.name] = _wider(field.name, types.get(field.name, pa.null()), field.type)
    return pa.schema(list(types.items()))


def _wider(name: str, known: pa.DataType, given: pa.DataType) -> pa.DataType:
    if known == given or pa.types.is_null(given):
        return known
    if pa.types.is_null(known):
        return given
    if pa.types.is_struct(known) and pa.types.is_struct(given):
        fields = {field.name: field.type for field in known}
        for field in given:
            fields[field.name] = _wider(f"{name}.{field.name}", fields.get(field.name, pa.null()), field.type)
        return pa.struct(list(fields.items()))
    if is_list(known) and is_list(given):
        return pa.list_(_wider(name, known.value_type, given.value_type))
    if (
        pa.types.is_map(known)
        and pa.types.is_map(given)
        and logical_type(known.key_type) == logical_type(given.key_type)
    ):
        return pa.map_(known.key_type, _wider(name, known.item_type, given.item_type))
    one, other = logical_type(known), logical_type(given)
    if type_family(one) == type_family(other) == "number" and one != other:
        return _number(name, one, other)
    # Times are cast to the unit and the zone that were there first: they are the same times.
    if one == other or type_family(one) == type_family(other) in ("timestamp", "date") or one.id == other.id:
        return known
    raise _clash(name, *(_type_name(kind) for kind in (other, one)))


def _number(name: str, known: pa.DataType, given: pa.DataType) -> pa.DataType:
    # Arrow would make floats of decimals, but not in one list.
    if any(map(pa.types.is_floating, (known, given))) and any(map(pa.types.is_decimal, (known, given))):
        raise _clash(name, str(given), str(known))
    if any(map(pa.types.is_decimal, (known, given))):
        return _decimal(name, known, given)
    both = [pa.schema([(name, kind)]) for kind in (known, given)]
    return pa.unify_schemas(both, promote_options="permissive").field(0).type


def _decimal(name: str, known: pa.DataType, given: pa.DataType) -> pa.DataType:
    """Decimals that hold all of both. (Arrow's are too narrow for integers.)"""
    scale = max(kind.scale for kind in (known, given) if pa.types.is_decimal(kind))
    precision = scale + max(map(_digits, (known, given)))
    if precision > _MOST_DIGITS:
        reason = f"`{name}` is {given} in this batch, and was {known} before: decimals of {precision} digits hold both"
        raise DataError(reason, fix=f"use at most {_MOST_DIGITS} digits, before and after the point")
    return pa.decimal128(precision, scale)


def _digits(kind: pa.DataType) -> int:
    """How many digits a number may have before the point."""
    if pa.types.is_decimal(kind):
        return int(kind.precision - kind.scale)
    return len(str(2 ** (kind.bit_width if pa.types.is_unsigned_integer(kind) else kind.bit_width - 1)))


def _clash(name: str, given: str, known: str) -> DataError:
    return DataError(f"`{name}` is a {given} in this batch, and was a {known} before", fix=_FIX)


def _type_name(kind: pa.DataType) -> str:
    if is_list(kind):
        return "list"
    return "struct" if pa.types.is_struct(kind) else "map" if pa.types.is_map(kind) else type_family(kind)


def conform_rows(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """The rows in these columns, which are wide enough for them; missing columns are NULL."""
    if rows.schema.equals(schema):
        return rows
    columns = [_conform(rows, field) for field in schema]
    return pa.table(columns, schema=schema)


def _conform(rows: pa.Table, field: pa.Field) -> pa.ChunkedArray | pa.Array:
    try:
        return cast_column(rows, field)
    except _MISFITS as error:
        raise DataError(f"`{field.name}` does not fit {field.type}, which it was before: {error}", fix=_FIX) from error


def widen_column(column: pa.ChunkedArray, kind: pa.DataType, name: str) -> pa.ChunkedArray:
    """Values that were kept, in the wider type that this batch brings."""
    try:
        return cast_nested(column, kind)
    except _MISFITS as error:
        reason = f"`{name}` would be a {kind} from this batch on, and has had values that do not fit: {error}"
        raise DataError(reason, fix=_FIX) from error


def signed_type(kind: pa.DataType) -> pa.DataType:
    """The type as rules compute with it: SQL has signed integers of 64 bits."""
    return map_leaf_types(kind, lambda leaf: pa.int64() if pa.types.is_uint64(leaf) else leaf)


def check_signed(column: pa.ChunkedArray, name: str) -> None:
    """Raise DataError where a number is too large for rules."""
    try:
        cast_nested(column, signed_type(column.type))
    except _MISFITS as error:
        reason = f"`{name}` has a number over {2**63 - 1}, the largest that rules compute with"
        raise DataError(reason, fix="make the column decimals or text, or leave it out") from error


def widen_events(events: pa.Table, before: Attributes, after: Attributes) -> pa.Table:
    """Events as `Columns.read` gives them, in the columns of wider attributes."""
    own = [name for name in events.column_names if name not in before.columns.values()]
    columns = {name: events[name] for name in own}
    for name, kind in after.types.items():
        wanted = pa.string() if kind is TERM else kind
        if name in before.types:
            columns[after.columns[name]] = widen_column(events[before.columns[name]], wanted, name)
        else:
            columns[after.columns[name]] = pa.nulls(len(events), wanted)
    return pa.table(columns)
