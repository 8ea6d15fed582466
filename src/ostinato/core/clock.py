"""Time, or any other attribute that never decreases, as int64 ticks in the same order.

Kernels compare ticks and nothing else. Which ticks are in one window is computed in window_bounds.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ostinato.core.arrays import Float64, Int64
from ostinato.core.arrow import raw_values
from ostinato.errors import DataError, Message, Option, did_you_mean

MIN_TICK, MAX_TICK = -(2**63), 2**63 - 1
SECOND = 10**9
_UNITS = {"s": SECOND, "ms": 10**6, "us": 10**3, "ns": 1}
_STORED = np.dtype(np.int64)
_EXACT_DIGITS = 18  # decimals of up to this many digits fit an int64 without their point


@dataclass(frozen=True)
class Clock:
    """How one column becomes ticks and back.

    A window along the time column is given in nanoseconds, and a plain number there counts seconds. With `attribute`
    it is a WITHIN … ON column: a window is given in the attribute's own unit (seconds, where its values are times).
    """

    column: str
    type: pa.DataType
    attribute: bool = False

    @classmethod
    def of(cls, schema: pa.Schema, column: str, *, attribute: bool = False) -> Clock:
        """Raises DataError where the column is missing or cannot be ordered in time."""
        if column not in schema.names:
            raise DataError(f"there is no column `{column}`", fix=did_you_mean(column, schema.names))
        kind = schema.field(column).type
        clock = cls(column, kind.value_type if pa.types.is_dictionary(kind) else kind, attribute)
        if clock.step is None:
            use = "measure a window along" if attribute else "order events by"
            raise DataError(
                f"cannot {use} `{column}`: its type is {kind}, not a timestamp, date or number",
                fix=Message(
                    "convert it to a timestamp or a number, or name another column with ",
                    "ON" if attribute else Option("time"),
                ),
            )
        return clock

    @cached_property
    def kind(self) -> Literal["moment", "integer", "decimal", "float"] | None:
        kind = self.type
        if (
            pa.types.is_timestamp(kind)
            or pa.types.is_date(kind)
            or pa.types.is_time(kind)
            or pa.types.is_duration(kind)
        ):
            return "moment"
        if pa.types.is_integer(kind):
            return "integer"
        if pa.types.is_decimal(kind) and kind.precision <= _EXACT_DIGITS:
            return "decimal"
        return "float" if pa.types.is_floating(kind) or pa.types.is_decimal(kind) else None

    @cached_property
    def step(self) -> Fraction | None:
        """What one tick is worth, in the unit that windows are given in; None where the type has no ticks."""
        window_unit = 1 if self.attribute else SECOND
        if self.kind == "moment":
            day = pa.types.is_date32(self.type)
            nanoseconds = 86_400 * SECOND if day else _UNITS["ms" if pa.types.is_date64(self.type) else self.type.unit]
            return Fraction(nanoseconds, SECOND if self.attribute else 1)
        if self.kind == "decimal":
            return Fraction(Decimal(window_unit).scaleb(-self.type.scale))
        return None if self.kind is None else Fraction(window_unit, 1)

    def ticks(self, column: pa.ChunkedArray | pa.Array, *, first_row: int = 0) -> Int64:
        """One tick per value, in the same order. NULL and NaN have no place in time: DataError with the row."""
        if isinstance(column, pa.ChunkedArray) and column.num_chunks == 1 and len(column):
            return self._chunk(column.chunk(0), first_row)
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        parts: list[Int64] = []
        for chunk in chunks:
            if len(chunk):
                parts.append(self._chunk(chunk, first_row))
            first_row += len(chunk)
        return parts[0] if len(parts) == 1 else np.concatenate(parts or [np.empty(0, np.int64)])

    @cached_property
    def _is_stored(self) -> bool:
        """Whether the column stores ticks as they are."""
        return pa.types.is_int64(self.type) or (self.kind == "moment" and self.type.bit_width == 64)

    def _chunk(self, chunk: pa.Array, first_row: int) -> Int64:
        if chunk.type != self.type:
            if pa.types.is_dictionary(chunk.type):
                chunk = chunk.cast(chunk.type.value_type)
            chunk = chunk.cast(self.type)
        if chunk.null_count:
            raise self._misplaced("NULL", first_row + pc.index(chunk.is_null(), True).as_py())
        if self._is_stored:
            return raw_values(chunk, _STORED)
        kind = self.kind
        if kind == "moment":
            return np.asarray(chunk.view(pa.int32()).to_numpy(), np.int64)
        if kind == "decimal":
            wide = chunk.cast(pa.decimal128(self.type.precision, self.type.scale))
            halves = np.frombuffer(wide.buffers()[1], np.int64).reshape(-1, 2)[wide.offset : wide.offset + len(wide)]
            return halves[:, 0].copy()  # the low half holds all of it
        values = chunk.cast(pa.float64()).to_numpy() if pa.types.is_decimal(chunk.type) else chunk.to_numpy()
        if kind == "integer":
            if values.dtype == np.uint64 and (values > MAX_TICK).any():
                place = int(np.argmax(values > MAX_TICK))
                raise DataError(
                    f"`{self.column}` is too large: {values[place]} is beyond {MAX_TICK}",
                    row=first_row + place,
                    fix="convert it to a float or a timestamp",
                )
            return np.asarray(values, np.int64)
        floats = values.astype(np.float64, copy=False)
        missing = np.isnan(floats)
        if missing.any():
            raise self._misplaced("NaN", first_row + int(np.argmax(missing)))
        return to_ordered_ints(floats)

    def _misplaced(self, what: str, row: int) -> DataError:
        use = f"WITHIN … ON {self.column}" if self.attribute else "the order of events"
        return DataError(
            f"`{self.column}` is {what}, but {use} needs its value",
            row=row,
            fix=f"drop or fill the rows where `{self.column}` is missing",
        )

    def measure(self, ticks: Int64) -> Float64:
        """Ticks as numbers in the unit that windows are given in: nanoseconds along the time column."""
        if self.kind == "float":
            return from_ordered_ints(ticks) * (1 if self.attribute else SECOND)
        assert self.step is not None
        return np.asarray(ticks * float(self.step))

    def distance(self, first: Int64, last: Int64) -> Float64:
        """How far each last tick lies after the first one, in the unit that windows are given in."""
        if self.kind == "float":
            with np.errstate(invalid="ignore"):
                return (from_ordered_ints(last) - from_ordered_ints(first)) * (1 if self.attribute else SECOND)
        assert self.step is not None
        # As an unsigned number the difference is right even where it does not fit an int64.
        return np.where(last < first, 0.0, (last - first).view(np.uint64) * float(self.step))

    def to_pulses(self, ticks: Int64) -> Int64:
        """Ticks as whole numbers that can be subtracted, each a `pulse`; floats to nine digits after the point."""
        if self.kind != "float":
            return ticks
        return np.rint(from_ordered_ints(ticks) * 1e9).clip(-(2.0**62), 2.0**62).astype(np.int64)

    @property
    def pulse(self) -> float:
        """How long a pulse is, in the unit that windows are given in."""
        assert self.step is not None
        return float(self.step if self.kind != "float" else Fraction(self.step, 10**9))

    def tick(self, value: Any, *, up: bool = False) -> int:
        """The tick of a time that a user gives: a datetime, date, number, or numpy, pandas or Arrow scalar.

        A time between two ticks counts as the earlier one: an event at noon may have been recorded with its date. With
        `up`, a number between two ticks counts as the later one: once it is reached, the earlier one has passed.
        """
        number = value.as_py() if isinstance(value, pa.Scalar) else value
        if isinstance(number, np.number):
            number = number.item()
        kind = self.kind
        if kind == "moment":
            return self._moment_tick(value)
        if isinstance(number, bool) or not isinstance(number, int | float | Decimal) or number != number:
            raise self._unfit(value)
        if kind == "float":
            return int(to_ordered_ints(np.array([float(number)]))[0])
        if number in (math.inf, -math.inf):
            return MAX_TICK if number > 0 else MIN_TICK
        exact = exact_fraction(number) * 10 ** (self.type.scale if kind == "decimal" else 0)
        return clamp(math.ceil(exact) if up else math.floor(exact))

    def _moment_tick(self, value: Any) -> int:
        if hasattr(value, "to_datetime64"):
            value = value.to_datetime64()  # pandas: Arrow would drop its nanoseconds
        try:
            scalar = value if isinstance(value, pa.Scalar) else pa.scalar(value)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
            raise self._unfit(value) from None
        if not scalar.is_valid or not (pa.types.is_timestamp(scalar.type) or pa.types.is_date(scalar.type)):
            raise self._unfit(value)
        given, mine = Clock(self.column, scalar.type).step, Clock(self.column, self.type).step
        assert given is not None and mine is not None
        count = scalar.cast(pa.int32() if scalar.type.bit_width == 32 else pa.int64()).as_py()
        return clamp(count * given // mine)

    def _unfit(self, value: Any) -> DataError:
        wanted = "a datetime or date" if self.kind == "moment" else "a number"
        return DataError(
            f"{value!r} is not a point in the time of this stream", fix=f"`{self.column}` is {self.type}: give {wanted}"
        )

    def values(self, ticks: Int64) -> pa.Array:
        """Ticks back as values of the column's type."""
        kind = self.kind
        if kind == "float":
            floats = from_ordered_ints(ticks)
            return (
                pa.array(floats).cast(self.type, safe=False)
                if pa.types.is_decimal(self.type)
                else pa.array(floats.astype(self.type.to_pandas_dtype()))
            )
        whole = pa.array(ticks)
        if kind == "decimal":
            return pc.multiply(whole.cast(pa.decimal128(19, 0)), pa.scalar(Decimal(1).scaleb(-self.type.scale))).cast(
                self.type
            )
        return whole.cast(pa.int32()).cast(self.type) if self.type.bit_width == 32 else whole.cast(self.type)


def find_step_back(ticks: Int64, before: int) -> int | None:
    """The first place where ticks go back behind the one before it, or behind `before`; None where they never do."""
    back = ticks < np.concatenate([np.array([before]), ticks])[:-1]
    return int(np.argmax(back)) if back.any() else None


def exact_fraction(amount: float | Decimal) -> Fraction:
    """A float as the number that was written: 0.1 is a tenth."""
    return Fraction(repr(float(amount))) if isinstance(amount, float) else Fraction(amount)


def clamp(tick: int) -> int:
    return max(MIN_TICK, min(MAX_TICK, tick))


def to_ordered_ints(values: Float64) -> Int64:
    """float64 as int64 in the same order; -0.0 becomes 0.0."""
    bits = (values + 0.0).view(np.int64)
    return bits ^ ((bits >> 63) & MAX_TICK)


def from_ordered_ints(ticks: Int64) -> Float64:
    return (ticks ^ ((ticks >> 63) & MAX_TICK)).view(np.float64)
