"""Events as Python values: which of them a column takes as they are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import UTC, datetime, timedelta
from math import nan
from struct import Struct
from typing import Any

import pyarrow as pa

from ostinato.core.arrow import is_text
from ostinato.core.clock import MAX_TICK, Clock

_EPOCH, _EPOCH_UTC, _MICROSECOND = datetime(1970, 1, 1), datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
_FLOAT, _INTEGER = Struct("=d"), Struct("=q")
_EXACT = 2**53  # whole numbers up to here are floats
Check = Callable[[Any], bool]
# Of types whose arrays take no other values than plain ones, if these are the types of the values.
_NOTHING = type(None)
_TYPES: dict[pa.DataType, set[type]] = {
    pa.int64(): {int, _NOTHING},
    pa.float64(): {float, int, _NOTHING},
    pa.string(): {str, _NOTHING},
    pa.large_string(): {str, _NOTHING},
    pa.bool_(): {bool, _NOTHING},
}


def plain_check(kind: pa.DataType) -> Check | None:
    """Whether a value is NULL or of this type, without conversion; None for types that need Arrow to say so."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_null(kind):
        return lambda value: value is None
    if pa.types.is_integer(kind):
        bits, signed = kind.bit_width, pa.types.is_signed_integer(kind)
        low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        return lambda value: value is None or (type(value) is int and low <= value <= high)
    if pa.types.is_float64(kind):
        return lambda value: (
            value is None or type(value) is float or (type(value) is int and -_EXACT <= value <= _EXACT)
        )
    if is_text(kind):
        return lambda value: value is None or (type(value) is str and (value.isascii() or _is_encodable(value)))
    if pa.types.is_boolean(kind):
        return lambda value: value is None or type(value) is bool
    if pa.types.is_timestamp(kind) and kind.unit == "us" and kind.tz in (None, "UTC"):
        zone = UTC if kind.tz else None
        return lambda value: value is None or (type(value) is datetime and value.tzinfo is zone)
    return None


class PlainTables:
    """Makes tables with the columns `names` of a schema, and NULL in its others; one that is `known` has no NULL."""

    def __init__(self, schema: pa.Schema, names: Collection[str], known: str | None) -> None:
        self.schema = schema
        checks = [(field, plain_check(field.type)) for field in schema]
        self._plain = all(check is not None for field, check in checks if field.name in names)
        self._columns = [
            (
                field.name,
                field.type,
                check if field.name in names else None,
                _TYPES.get(field.type),
                field.name == known,
            )
            for field, check in checks
        ]

    def table(self, rows: Sequence[dict[str, Any]]) -> pa.Table | None:
        """None where a value is not plain."""
        if not self._plain:
            return None
        columns: list[pa.Array] = []
        for name, kind, check, types, known in self._columns:
            if check is None:
                columns.append(pa.nulls(len(rows), kind))
                continue
            values = [row.get(name) for row in rows]
            if not (types.issuperset(map(type, values)) if types is not None else all(map(check, values))):
                return None
            if known and None in values:
                return None
            try:
                columns.append(pa.array(values, kind))
            except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeError):
                return None
        return pa.Table.from_arrays(columns, schema=self.schema)


def _is_encodable(text: str) -> bool:
    """Whether it has no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def plain_ticks(clock: Clock) -> Callable[[Any], int] | None:
    """The tick of a value that passes `plain_check` and is not NULL; None where only the clock itself can tell."""
    if clock.kind == "integer" and not pa.types.is_uint64(clock.type):
        return int
    if clock.kind == "moment" and pa.types.is_timestamp(clock.type):
        epoch = _EPOCH_UTC if clock.type.tz else _EPOCH
        return lambda value: (value - epoch) // _MICROSECOND
    return _float_tick if clock.kind == "float" and pa.types.is_float64(clock.type) else None


def _float_tick(value: float) -> int:
    bits = float_bits(value)
    return bits ^ ((bits >> 63) & MAX_TICK)


def float_bits(value: float) -> int:
    """The same for 0.0 and -0.0, and for all NaN."""
    (bits,) = _INTEGER.unpack(_FLOAT.pack(value + 0.0 if value == value else nan))
    return int(bits)
