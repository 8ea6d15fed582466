"""CAST over Arrow columns: the same as casts.py says of single values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ostinato.core.arrays import Bools
from ostinato.core.arrow import is_text
from ostinato.core.casts import cast_value
from ostinato.core.columns.arithmetic import as_float, is_decimal, is_float, is_int, is_null

_TYPES = {
    "int": pa.int64(),
    "float": pa.float64(),
    "text": pa.large_string(),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us"),
    "date": pa.date32(),
}
# Texts that Arrow reads as casts.py does; a column of nothing else is cast as a whole.
_USUAL = {
    "int": r"^-?[0-9]{1,18}$",
    "float": r"^-?[0-9]{1,300}(\.[0-9]+)?$",
    "timestamp": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?$",
}


def cast_column(value: pa.Array, kind: str) -> tuple[pa.Array, Bools | None]:
    """The values as one of CAST_TYPES, NULL where that cannot be; and where that is, if anywhere."""
    target = _TYPES[kind]
    if is_null(value):
        return value.cast(target), None
    if (cast := _cast_all(value, kind)) is not None:
        return cast, None
    cast = _cast_distinct(value, kind)
    failed = np.asarray(pc.and_(cast.is_null(), value.is_valid()).to_numpy(zero_copy_only=False), bool)
    return cast, failed if failed.any() else None


def _cast_all(value: pa.Array, kind: str) -> pa.Array | None:
    """At once, where no value can be beyond the type; None otherwise."""
    target = _TYPES[kind]
    if is_text(value.type):
        usual = kind in _USUAL and pc.all(pc.match_substring_regex(value, _USUAL[kind])).as_py() is not False
        try:
            return value.cast(target) if usual or kind == "text" else None
        except pa.ArrowInvalid:  # as of a 13th month
            return None
    if kind == "text":
        return None if is_float(value) or is_decimal(value) or pa.types.is_timestamp(value.type) else value.cast(target)
    if kind == "boolean" and not pa.types.is_boolean(value.type):
        return pc.not_equal(as_float(value), 0.0)
    if kind == "float":
        return as_float(value.cast(pa.int64()) if pa.types.is_boolean(value.type) else value)
    if kind == "int" and (is_float(value) or is_decimal(value)):
        try:
            return pc.trunc(value).cast(target)
        except pa.ArrowInvalid:
            return None
    if kind == "timestamp":
        return value if pa.types.is_timestamp(value.type) else value.cast(target)
    return value.cast(target) if not is_int(value) or kind != "int" else value


def _cast_distinct(value: pa.Array, kind: str) -> pa.Array:
    """One by one, each distinct value once."""
    if pa.types.is_timestamp(value.type):
        value = value.cast(pa.timestamp("us"), safe=False)
    coded = value.dictionary_encode()
    cast = pa.array([_try_cast(each, kind) for each in coded.dictionary.to_pylist()], _TYPES[kind])
    return cast.take(coded.indices)


def _try_cast(value: Any, kind: str) -> Any:
    try:
        return cast_value(value, kind)
    except (ValueError, OverflowError):
        return None
