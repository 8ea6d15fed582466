"""Aggregates over the events of a variable: exact where the numbers are, and an error where the result does not fit."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ostinato.core.arrays import Int64
from ostinato.core.expressions import COUNT_DISTINCT, Call, to_text
from ostinato.errors import DataError


def aggregate(call: Call, values: pa.Array, offsets: Int64) -> pa.Array:
    """One value for each slice of `values` between two offsets; NULL for an empty slice."""
    try:
        if call.op == "sum":
            return _sum(call, values, offsets)
        if call.op == "avg":
            return _mean(values, offsets)
        if call.op == COUNT_DISTINCT:
            values = pc.add(values, 0.0) if pa.types.is_floating(values.type) else values  # -0.0 + 0.0 is 0.0
            return pc.fill_null(_group("count_distinct", values, offsets), 0)
        if call.op == "count":
            return pc.fill_null(_group("count", values, offsets), 0)
        return _extreme(call.op, values, offsets)
    except pa.ArrowNotImplementedError:
        fix = f"convert the column, or select the values and take their {call.op} afterwards"
        raise DataError(f"cannot evaluate {to_text(call)}: its values are {values.type}", fix=fix) from None


def _group(function: str, values: pa.Array, offsets: Int64) -> pa.Array:
    count = len(offsets) - 1
    rows = np.repeat(np.arange(count), np.diff(offsets))
    totals = pa.table({"row": rows, "value": values}).group_by("row", use_threads=False)
    totals = totals.aggregate([("value", function)])
    place, present = np.zeros(count, np.int64), np.zeros(count, bool)
    found = totals["row"].to_numpy()
    place[found], present[found] = np.arange(len(found)), True
    return totals[f"value_{function}"].combine_chunks().take(pa.array(place, mask=~present))


def _extreme(op: str, values: pa.Array, offsets: Int64) -> pa.Array:
    """The least or greatest value, of any type: Arrow cannot group all of them."""
    kind = values.type
    if pa.types.is_duration(kind):
        values = values.cast(pa.int64())
    elif pa.types.is_float16(kind):
        values = values.cast(pa.float32())
    elif pa.types.is_decimal(kind) and kind.bit_width < 128:
        values = values.cast(pa.decimal128(kind.precision, kind.scale))
    return _group(op, values, offsets).cast(kind)


def _sum(call: Call, values: pa.Array, offsets: Int64) -> pa.Array:
    if not _is_exact(values.type):
        return _group("sum", values, offsets)
    total = _exact_sum(values, offsets)
    if total is None:
        decimal = pa.types.is_decimal(values.type)
        bound = f"{_widest(values.type).precision} digits" if decimal else "64-bit integers"
        fix = f"calculate with floats: {call.op}(1.0 * {to_text(call.args[0])})"
        raise DataError(f"{to_text(call)} is beyond {bound}", fix=fix)
    return total


def _mean(values: pa.Array, offsets: Int64) -> pa.Array:
    """A float64. For integers and decimals the exact sum is divided, so that only the result is rounded."""
    total = _exact_sum(values, offsets) if _is_exact(values.type) else None
    if total is None and _is_exact(values.type) and values.type.bit_width < 256:
        scale = values.type.scale if pa.types.is_decimal(values.type) else 0
        total = _exact_sum(values.cast(pa.decimal256(76, scale)), offsets)
    if total is None:
        return _group("mean", values.cast(pa.float64(), safe=False), offsets)
    divisor = _group("count", values, offsets).cast(pa.float64())
    if pa.types.is_decimal(total.type):
        # Arrow rounds more than once when it makes a float of a decimal: divide whole numbers instead.
        scale, whole = total.type.scale, _widest(total.type, scale=0)
        total = pa.Array.from_buffers(whole, len(total), total.buffers(), offset=total.offset)
        divisor = pc.multiply(divisor, float(10**scale))
    return pc.divide(total.cast(pa.float64(), safe=False), divisor)


def _is_exact(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_decimal(kind))


def _exact_sum(values: pa.Array, offsets: Int64) -> pa.Array | None:
    """Sums of integers or decimals in their widest type; None where one of them does not fit.

    Arrow's sums wrap around silently, so they are right only where the true sum fits.
    """
    wide = values.type
    least, bound = Fraction(-(2**63)), Fraction(2**63)
    if pa.types.is_decimal(wide):
        wide = _widest(wide)
        bound = Fraction(10) ** (wide.precision - wide.scale)
        least = -bound + Fraction(10) ** -wide.scale
    sizes = values.cast(pa.float64(), safe=False).fill_null(0.0).to_numpy(zero_copy_only=False)
    rows = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    near = np.bincount(rows, weights=np.abs(sizes), minlength=len(offsets) - 1) >= float(bound) / 2
    for row in np.flatnonzero(near):  # rare, so slow and exact
        found = values.slice(offsets[row], offsets[row + 1] - offsets[row]).drop_null().to_pylist()
        total = sum(map(Fraction, found), Fraction(0))
        if not least <= total < bound:
            return None
    return _group("sum", values.cast(wide), offsets)


def _widest(kind: pa.DataType, scale: int | None = None) -> pa.DataType:
    scale = kind.scale if scale is None else scale
    return pa.decimal256(76, scale) if kind.bit_width == 256 else pa.decimal128(38, scale)
