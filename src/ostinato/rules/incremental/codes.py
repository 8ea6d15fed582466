"""Values as 64-bit codes, and back: whole numbers, truth values and times as they are, floats by their bits.

All else has a number (interned.py). NULL has a code that no value at hand has (null_code.py).
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int64
from ostinato.rules.incremental.interned import Interned, float_bits, microseconds
from ostinato.rules.incremental.null_code import NullTakenError
from ostinato.rules.relational.kinds import TERM, Kind
from ostinato.rules.runtime.map_columns import has_map, maps_to_dicts

WHOLE, FLOAT, TRUTH, MOMENT, NUMBERED, NOTHING = "whole", "float", "truth", "moment", "numbered", "nothing"
_MICROSECONDS = pa.timestamp("us")
_FEW = 1_000  # texts that are looked up one by one: to find the distinct ones first would take longer


def code_kind(kind: Kind) -> str:
    """How values of a type are coded."""
    if kind is TERM:
        return NUMBERED
    if pa.types.is_null(kind):
        return NOTHING
    if pa.types.is_integer(kind):
        return WHOLE
    if pa.types.is_floating(kind):
        return FLOAT
    if pa.types.is_boolean(kind):
        return TRUTH
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return MOMENT
    return NUMBERED


# To codes -------------------------------------------------------------------------------------------------------------


def encode_column(column: pa.Array | pa.ChunkedArray, kind: Kind, interned: Interned) -> Int64:
    """A column of values of the type."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    coded = code_kind(kind)
    if coded == NOTHING or pa.types.is_null(column.type):
        return np.full(len(column), interned.null)
    if coded == WHOLE:
        return _filled(column if column.type == pa.int64() else column.cast(pa.int64()), interned)
    if coded == FLOAT:
        if column.type != pa.float64():
            column = column.cast(pa.float64())
        floats = column.fill_null(np.nan).to_numpy(zero_copy_only=False) if column.null_count else column.to_numpy()
        codes: Int64 = (floats + 0.0).view(np.int64)
        missing = np.isnan(floats)
        codes[missing] = interned.null
        return codes
    if coded == TRUTH:
        return _filled(column.cast(pa.int8()).cast(pa.int64()), interned)
    if coded == MOMENT:
        unit = column.type.unit if pa.types.is_timestamp(column.type) else None
        if unit != "us":
            column = column.cast(pa.timestamp("us", getattr(column.type, "tz", None)), safe=False)
        return _filled(column.view(pa.int64()), interned)
    if kind is not TERM and (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return _texts(column, interned)
    values = column.to_pylist()
    if kind is not TERM and has_map(kind):
        values = [maps_to_dicts(value, kind) for value in values]
    return np.array([interned.null if value is None else interned.number(value) for value in values], np.int64)


def _filled(column: pa.Array, interned: Interned) -> Int64:
    missing = column.null_count
    codes = np.asarray((column.fill_null(interned.null) if missing else column).to_numpy(), np.int64)
    return interned.check_codes(codes, missing)


def _texts(column: pa.Array, interned: Interned) -> Int64:
    if len(column) <= _FEW:
        number, null = interned.number, interned.null
        return np.array([null if text is None else number(text) for text in column.to_pylist()], np.int64)
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    known = np.array([*interned.all_of(column.dictionary.to_pylist()), interned.null], np.int64)
    places = column.indices
    if places.null_count:
        places = places.fill_null(len(known) - 1)
    return np.asarray(known[places.to_numpy()])


def encode_value(value: Any, coded: str, interned: Interned) -> int:
    """One value, as Python has it, as `coded` says."""
    if value is None or value != value or coded == NOTHING:
        return interned.null
    if coded == NUMBERED:
        return interned.number(value)
    if coded == FLOAT:
        return float_bits(float(value))
    code = microseconds(value) if coded == MOMENT else int(value)
    if code == interned.null:
        raise NullTakenError
    return code


# From codes -----------------------------------------------------------------------------------------------------------


def decode_column(codes: Int64, kind: pa.DataType, interned: Interned) -> pa.Array:
    """An array of the type."""
    coded = code_kind(kind)
    if coded == NOTHING:
        return pa.nulls(len(codes), kind)
    missing = codes == interned.null
    mask = missing if missing.any() else None
    if coded == NUMBERED:
        values, null = interned.values, interned.null
        found = [None if code == null else values[code] for code in codes.tolist()]
        if pa.types.is_decimal(kind):
            found = [Decimal(str(value)) if isinstance(value, float) else value for value in found]
        return pa.array(found, kind)
    if coded == FLOAT:
        made = pa.array(codes.view(np.float64), pa.float64(), mask=mask)
    elif coded == TRUTH:
        made = pa.array(codes == 1, mask=mask)
    else:
        made = pa.array(codes, pa.int64(), mask=mask)
        if coded == MOMENT:
            made = made.view(_MICROSECONDS)
    if coded == MOMENT and pa.types.is_timestamp(kind) and kind.unit == "us":
        return made.view(kind)
    return made if made.type == kind else made.cast(kind)


def decode_value(code: int, kind: Kind, interned: Interned) -> Any:
    """The value as Python has it."""
    if code == interned.null:
        return None
    coded = code_kind(kind)
    if coded == NUMBERED:
        return interned.values[code]
    if coded == FLOAT:
        return float(np.int64(code).view(np.float64))
    if coded == TRUTH:
        return code == 1
    if coded == MOMENT:
        return _moment(code, kind)
    return code


def _moment(code: int, kind: pa.DataType) -> date:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=code)
    if pa.types.is_date(kind):
        return moment.date()
    return moment if kind.tz is not None else moment.replace(tzinfo=None)


def constant_code(value: Any, coded: str, interned: Interned) -> int | None:
    """The code of a constant of the program among values coded like that; None where none equals it."""
    if coded == WHOLE:
        if isinstance(value, float | Decimal):
            return int(value) if value == int(value) else None
        return int(value) if -(2**63) <= value < 2**63 else None
    if coded == FLOAT:
        return float_bits(float(value))
    return interned.pin(value) if coded == NUMBERED else int(value)
