"""The times of events as whole ticks that can be calculated with, and back.

A tick is the unit of a timestamp, or a microsecond where times are numbers of seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ostinato.core.arrays import Int64
from ostinato.core.clock import Clock
from ostinato.core.events import DEFAULT_TIME, column_kinds
from ostinato.errors import ANY, DataError, Message, Option, did_you_mean
from ostinato.rules.relational.operators import MAX_TICK

_UNITS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
MICRO = 1_000_000
BEGIN, END = "begin", "end"
DEFAULT_TIME_TYPE = pa.timestamp("us", "UTC")


@dataclass(frozen=True)
class TimeColumns:
    """Which columns say when an event began and ended, and what they hold. `begin` is `end` where events are points."""

    begin: str
    end: str
    type: pa.DataType
    ticks_per_second: int

    @classmethod
    def resolve(
        cls,
        schema: pa.Schema,
        *,
        begin: str | None,
        end: str | None,
        time: str | None,
        default: pa.DataType = DEFAULT_TIME_TYPE,
    ) -> TimeColumns:
        """Columns by name; by default `begin` and `end` where both are there, else `ts` for both.

        `default` is their type where they hold no values, as in a file with a header alone.
        """
        for option, name in (("begin", begin), ("end", end), ("time", time)):
            if name is not None and name not in schema.names:
                raise DataError(
                    Message(Option(option, None), f" is `{name}`, but there is no such column"),
                    fix=did_you_mean(name, schema.names),
                    option=option,
                )
        if time is not None and (begin is not None or end is not None):
            raise DataError(
                Message(
                    Option("time", None),
                    " is for events that happen at once, ",
                    Option("begin", None),
                    " and ",
                    Option("end", None),
                    " for others",
                ),
                fix=Message("give ", Option("time"), ", or both ", Option("begin"), " and ", Option("end")),
            )
        if time is None and begin is None and end is None:
            if BEGIN in schema.names and END in schema.names:
                begin, end = BEGIN, END
            elif DEFAULT_TIME in schema.names:
                time = DEFAULT_TIME
            elif END in schema.names:
                time = END
        if (begin is None) != (end is None):
            raise DataError(
                "an event has a begin and an end",
                fix=Message("give both ", Option("begin"), " and ", Option("end"), ", or only ", Option("time")),
            )
        first, last = begin or time, end or time
        if first is None or last is None:
            likely = [name for name, kind in column_kinds(schema).items() if kind in ("timestamp", "date", "number")]
            time_option = Option("time", likely[0] if likely else ANY)
            fix = Message("name it: ", time_option, ", or ", Option("begin"), " and ", Option("end"))
            raise DataError("rules need to know when events happened: there is no `begin` and `end`, nor `ts`", fix=fix)
        return cls(first, last, *_common(schema, first, last, default))

    @property
    def points(self) -> bool:
        return self.begin == self.end

    def ticks(self, rows: pa.Table, *, first_row: int = 0) -> tuple[Int64, Int64]:
        """Begins and ends. Raises DataError at the first row without them, or that ends before it begins."""
        ends = self._ticks(rows, self.end, first_row)
        begins = ends if self.points else self._ticks(rows, self.begin, first_row)
        if (wrong := begins > ends).any():
            place = int(np.argmax(wrong))
            times = f"`{self.begin}` is {rows[self.begin][place].as_py()}, `{self.end}` {rows[self.end][place].as_py()}"
            raise DataError(
                f"the event ends before it begins: {times}", row=first_row + place, fix="correct or drop the row"
            )
        return begins, ends

    def _ticks(self, rows: pa.Table, name: str, first_row: int) -> Int64:
        column = rows[name]
        if pa.types.is_temporal(self.type) or pa.types.is_null(column.type):
            if column.type != self.type:
                column = column.cast(self.type)
            return Clock(name, self.type).ticks(column, first_row=first_row)
        Clock(name, column.type).ticks(column, first_row=first_row)  # says what is missing, and where
        if pa.types.is_decimal(column.type):
            column = column.cast(pa.float64())
        values = column.to_numpy()
        beyond = (values >= MAX_TICK / MICRO) | (values <= -MAX_TICK / MICRO)  # the least integer has no absolute value
        if beyond.any():
            place = int(np.argmax(beyond))
            raise DataError(
                f"`{name}` is {values[place]}, beyond what times of rules can be (they count seconds)",
                row=first_row + place,
                fix="give seconds, or timestamps",
            )
        if values.dtype.kind in "iu":
            return np.asarray(values.astype(np.int64) * MICRO, np.int64)
        return np.asarray(np.rint(values * MICRO), np.int64)

    def tick(self, moment: Any) -> int:
        """The tick of a time that a user gives."""
        if pa.types.is_temporal(self.type):
            return Clock(self.end, self.type).tick(moment)
        number = moment.as_py() if isinstance(moment, pa.Scalar) else moment
        if isinstance(number, np.number):
            number = number.item()
        if isinstance(number, bool) or not isinstance(number, int | float) or number != number:
            raise DataError(f"{moment!r} is not a point in the time of this stream", fix="give a number of seconds")
        if abs(number) * MICRO >= MAX_TICK:
            return MAX_TICK if number > 0 else -MAX_TICK
        return int(Fraction(number) * MICRO // 1)

    def values(self, ticks: pa.Array, *, whole: bool) -> pa.Array:
        """Ticks as times in the type of the answer; `whole`: no timer of the program leads between whole seconds."""
        if pa.types.is_temporal(self.type):
            return ticks.view(self.type) if ticks.type == pa.int64() else ticks.cast(pa.int64()).cast(self.type)
        if self._gives_integers(whole):
            return pc.divide(ticks, MICRO)
        return pc.divide(ticks.cast(pa.float64()), float(MICRO))

    def scalar(self, *, whole: bool) -> Callable[[int], Any] | None:
        """From one tick to what Arrow makes a time of the answer of; None where that takes an array."""
        if pa.types.is_temporal(self.type):
            return int if pa.types.is_timestamp(self.type) else None
        return MICRO.__rfloordiv__ if self._gives_integers(whole) else MICRO.__rtruediv__

    def answer_ticks(self, column: pa.ChunkedArray) -> Int64:
        """The ticks of a column that `values` made."""
        if pa.types.is_temporal(self.type):
            return np.asarray(column.cast(pa.int64()).to_numpy(), np.int64)
        return np.asarray(np.rint(column.to_numpy() * MICRO), np.int64)

    def answer_type(self, *, whole: bool) -> pa.DataType:
        if pa.types.is_temporal(self.type):
            return self.type
        return pa.int64() if self._gives_integers(whole) else pa.float64()

    def _gives_integers(self, whole: bool) -> bool:
        return whole and pa.types.is_integer(self.type)


def _common(schema: pa.Schema, first: str, last: str, default: pa.DataType) -> tuple[pa.DataType, int]:
    """One type for both columns, and its ticks in a second."""
    typed = [name for name in (first, last) if not pa.types.is_null(schema.field(name).type)]
    types = [Clock.of(schema, name).type for name in typed] or [default]
    one, other = types[0], types[-1]
    if pa.types.is_temporal(one) != pa.types.is_temporal(other):
        raise DataError(f"`{first}` is {one}, and `{last}` is {other}", fix="make both timestamps, or both numbers")
    if not pa.types.is_temporal(one):
        whole = pa.types.is_integer(one) and pa.types.is_integer(other)
        return (pa.int64() if whole else pa.float64()), MICRO
    if any(pa.types.is_time(kind) or pa.types.is_duration(kind) for kind in (one, other)):
        raise DataError(f"`{first}` is {one}, which is not a point in time", fix="give timestamps")
    if pa.types.is_timestamp(one) and pa.types.is_timestamp(other) and (one.tz is None) != (other.tz is None):
        zoned, bare = (first, last) if one.tz is not None else (last, first)
        raise DataError(
            f"`{zoned}` has a time zone, and `{bare}` has none", fix=f"give `{bare}` its zone, or read both in UTC"
        )
    moments = [kind if pa.types.is_timestamp(kind) else pa.timestamp("ms") for kind in (one, other)]
    finest = max(moments, key=lambda kind: _UNITS[kind.unit])
    return finest, _UNITS[finest.unit]
