"""A few dicts as rows of codes, without a table between them: for events that come one at a time.

Only what is certain is read here: known columns with values of their very types. For anything else a table is made,
which says what is wrong, or goes on with wider columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int64
from ostinato.rules.incremental.codes import FLOAT, MOMENT, NUMBERED, TRUTH, WHOLE, code_kind
from ostinato.rules.incremental.event_rows import BEGIN, END, FIRST_ATTRIBUTE, LABEL_COLUMN, PRESENT
from ostinato.rules.incremental.interned import Interned, float_bits, microseconds
from ostinato.rules.incremental.state import LiveProgram
from ostinato.rules.incremental.stream_binding import StreamBinding
from ostinato.rules.runtime.times import MICRO

FEW = 16  # dicts at most
_SURE = 2**53
_LATEST = 2**41  # seconds
_UNITS = {"us": 1, "ms": 1_000, "s": 1_000_000}  # microseconds

Encode = Callable[[Any], int]


@dataclass(frozen=True)
class _Column:
    """Of which types values may be, and into which columns of a row they go."""

    types: frozenset[type]
    places: Sequence[tuple[int, Encode]]


class QuickReader:
    """Reads dicts of the columns of a binding."""

    def __init__(self, binding: StreamBinding, live: LiveProgram, longest: float) -> None:
        columns = binding.program.columns
        self.live, self.labels, self.width = live, live.events.labels, live.events.width
        self.times, self.type, self.label = columns.times, columns.type, self.labels.get(columns.label or "", 0)
        self.longest = longest
        self.tick = _ticks(columns.times.type)
        self.columns = {
            name: _column(kind, live, name)
            for name, kind in columns.attributes.types.items()
            if name in binding.seen.names
        }
        self.sure = all(self.columns.values()) and self.tick is not None

    @classmethod
    def of(cls, binding: StreamBinding, live: LiveProgram, options: Any) -> QuickReader | None:
        """None where tables have to be made anyway."""
        columns = binding.program.columns
        if columns.document is not None or live.events.readers or binding.missing:
            return None
        reader = cls(binding, live, options.longest)
        return reader if reader.tick is not None else None

    def read(self, batch: Sequence[Any], now: int) -> Int64 | None:
        """Let events wait; gives their rows. None where a table must be made of them, and nothing is taken."""
        made = []
        for event in batch:
            row = self._row(event) if type(event) is dict else None
            if row is None or row[END] <= now or row[BEGIN] > row[END]:
                return None
            if row[END] != row[BEGIN] and row[END] - row[BEGIN] > self.longest * self.times.ticks_per_second / 10**9:
                return None
            made.append(row)
        if not made:
            return None
        rows = self.live.room(len(made))
        rows[:] = made
        self.live.wait(len(made))
        return rows

    def _row(self, event: dict[Any, Any]) -> list[int] | None:
        try:
            return self._codes(event)
        except UnsureError:
            return None

    def _codes(self, event: dict[Any, Any]) -> list[int] | None:
        times, columns, null = self.times, self.columns, self.live.interned.null
        row = [null] * self.width
        seen = 0
        for name, value in event.items():
            if name == times.end or name == times.begin:
                assert self.tick is not None
                tick = self.tick(value)
                if tick is None or tick == null:
                    return None
                seen += 1
                if name == times.end:
                    row[END] = tick
                if name == times.begin:
                    row[BEGIN] = tick
            elif name == self.type:
                if type(value) is not str:
                    return None
                row[LABEL_COLUMN] = self.labels.get(value, 0)
            else:
                column = columns.get(name)
                if column is None:
                    return None
                if value is None:
                    continue
                if type(value) not in column.types:
                    return None
                for place, encode in column.places:
                    row[place] = encode(value)
        if row[LABEL_COLUMN] == null:
            if self.type is not None:
                return None
            row[LABEL_COLUMN] = self.label
        return row if seen == (1 if times.points else 2) else None


def _column(kind: Any, live: LiveProgram, name: str) -> _Column | None:
    events = live.events
    encode = _encoder(kind, live)
    if encode is None:
        return _Column(frozenset(), ())
    types, _ = encode
    places: list[tuple[int, Encode]] = []
    for place, (path, wanted) in enumerate(events.kinds, FIRST_ATTRIBUTE):
        if path == (name,):
            if wanted is PRESENT:
                places.append((place, _one))
            elif (known := _encoder(wanted, live)) is not None and code_kind(wanted) in (code_kind(kind), FLOAT):
                places.append((place, known[1]))
            else:
                return _Column(frozenset(), ())
        elif path[0] == name:
            return _Column(frozenset(), ())
    return _Column(types, places)


def _one(_: Any) -> int:
    return 1


def _encoder(kind: Any, live: LiveProgram) -> tuple[frozenset[type], Encode] | None:
    """The types whose values are surely of a type of Arrow, and how they are coded."""
    coded = code_kind(kind)
    if coded == WHOLE and pa.types.is_int64(kind):
        return frozenset((int,)), _apart(_whole, live.interned)
    if coded == FLOAT and pa.types.is_float64(kind):
        return frozenset((float, int)), _float(live.interned)
    if coded == TRUTH:
        return frozenset((bool,)), int
    if coded == NUMBERED and kind is not None and pa.types.is_string(kind):
        return frozenset((str,)), live.interned.number
    if coded == MOMENT and pa.types.is_timestamp(kind) and kind.unit == "us" and kind.tz == "UTC":
        return frozenset((datetime,)), _apart(_moment, live.interned)
    return None


class UnsureError(Exception):
    """A value that a table has to be made of."""


def _apart(encode: Encode, interned: Interned) -> Encode:
    """Not sure of a value whose code is that of NULL."""

    def apart(value: Any) -> int:
        code = encode(value)
        if code == interned.null:
            raise UnsureError
        return code

    return apart


def _whole(value: int) -> int:
    if not -(2**63) <= value < 2**63:
        raise UnsureError
    return value


def _float(interned: Interned) -> Encode:
    def encode(value: float) -> int:
        if type(value) is int and not -_SURE < value < _SURE:
            raise UnsureError
        return interned.null if value != value else float_bits(value)

    return encode


def _moment(value: datetime) -> int:
    if value.tzinfo is None:
        raise UnsureError
    return microseconds(value)


def _ticks(kind: pa.DataType) -> Callable[[Any], int | None] | None:
    """From a time to its tick; None for one that a table has to be made of."""
    if pa.types.is_integer(kind):
        return lambda value: value * MICRO if type(value) is int and -_LATEST < value < _LATEST else None
    if pa.types.is_floating(kind):
        return _float_tick
    if pa.types.is_timestamp(kind) and kind.unit in _UNITS:
        zoned, each = kind.tz is not None, _UNITS[kind.unit]

        def tick(value: Any) -> int | None:
            if type(value) is not datetime or (value.tzinfo is not None) != zoned:
                return None
            whole, rest = divmod(microseconds(value), each)
            return None if rest else whole

        return tick
    return None


def _float_tick(value: Any) -> int | None:
    if (type(value) is float or type(value) is int) and -_LATEST < value < _LATEST:
        return int(np.rint(value * MICRO))
    return None
