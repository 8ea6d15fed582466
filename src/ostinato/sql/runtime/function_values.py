"""Functions of DuckDB over several rows of the match: what they give by their operands, for many operands at once.

The search comes back for a value that it does not know. DuckDB then computes it together with those that are likely to
be asked for next: with the rows that follow, and with the operands as far away from those as they are now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ostinato.core.arrays import Int64, UInt8
from ostinato.core.arrow import raw_values
from ostinato.sql.kernels import opcodes as p
from ostinato.sql.kernels.function_values import rehash, remember_values
from ostinato.sql.kernels.layout import (
    ASKED,
    BAD,
    DEPTH,
    FRAME_WORDS,
    NULL,
    PARTITION,
    START,
    SUM,
    THERE,
    TOP,
    Search,
)
from ostinato.sql.runtime.errors import VALUE_ERRORS
from ostinato.sql.runtime.input import one_chunk, select
from ostinato.sql.runtime.kinds import Kind
from ostinato.sql.runtime.registers import NOW, Call, Operand, stored_ints
from ostinato.sql.runtime.row_values import to_bytes

Decode = Callable[[Int64], pa.Array]  # the texts that numbers stand for
_FIRST_REACH, _LONGEST_REACH = 128, 8192  # rows that follow
_TOTALS = (p.LOAD_COUNT, p.LOAD_TOTAL, p.LOAD_NUMBER)
_FIRST_KNOWN, _MOST_KNOWN = 1 << 12, 1 << 20


def call_fields(calls: list[Call]) -> dict[str, npt.NDArray[np.generic]]:
    floats = [sum(1 << place for place, each in enumerate(call.operands) if each.kind.is_float) for call in calls]
    rows = [(len(call.operands), mask, call.kind.is_float) for call, mask in zip(calls, floats, strict=True)]
    return {
        "calls": np.array(rows, np.int64).reshape(-1, 3),
        "known": np.zeros((_FIRST_KNOWN if calls else 1, 2), np.uint64),
        "known_values": np.zeros((_FIRST_KNOWN if calls else 1, 2), np.int64),
    }


@dataclass(frozen=True)
class Operands:
    """Rows of operands, as whole numbers or the bits of floats, and which of them are NULL."""

    values: Int64
    nulls: UInt8

    @staticmethod
    def of(columns: list[tuple[Int64, UInt8]]) -> Operands:
        return Operands(
            np.ascontiguousarray(np.stack([values for values, _ in columns], axis=1)),
            np.ascontiguousarray(np.stack([nulls for _, nulls in columns], axis=1)),
        )

    def __add__(self, other: Operands) -> Operands:
        return Operands(np.concatenate([self.values, other.values]), np.concatenate([self.nulls, other.nulls]))

    def __len__(self) -> int:
        return len(self.values)


class FunctionValues:
    def __init__(self, calls: list[Call], connection: duckdb.DuckDBPyConnection, decode: Decode) -> None:
        """`decode` gives texts for their numbers."""
        self.calls, self.connection, self.decode = calls, connection, decode
        self.reach = [_FIRST_REACH] * len(calls)
        self.types: dict[str, pa.DataType] = {}

    def find(self, search: Search) -> None:
        """Let the search know the value that it asks for, and some more."""
        number = int(search.state[ASKED])
        call = self.calls[number]
        asked = _asked(search, call)
        operands = asked
        for guess in _guesses(search, call, asked, self.reach[number]):
            operands += guess
        try:
            kinds, values = self._evaluate(call, operands)
            if all(each.is_of_row for each in call.operands):  # of others few guesses are right
                self.reach[number] = min(2 * self.reach[number], _LONGEST_REACH)
        except VALUE_ERRORS:  # perhaps of what nobody asks for
            self.reach[number] = 1
            operands = asked
            try:
                kinds, values = self._evaluate(call, operands)
            except VALUE_ERRORS:
                kinds, values = np.array([BAD], np.uint8), np.zeros(1, np.int64)
        _make_room(search, len(operands))
        remember_values(search, number, operands.values.reshape(-1), operands.nulls.reshape(-1), kinds, values)

    def _evaluate(self, call: Call, operands: Operands) -> tuple[UInt8, Int64]:
        given = {
            name: self._column(each.kind, operands.values[:, place], operands.nulls[:, place])
            for place, (name, each) in enumerate(zip(call.names, call.operands, strict=True))
        }
        found = select(self.connection, [f"CAST(({call.text}) AS {call.kind.type}) AS c"], pa.table(given))
        column = one_chunk(found.column(0))
        kinds = np.full(len(column), THERE, np.uint8)
        if column.null_count:
            kinds[np.asarray(column.is_null().to_numpy(zero_copy_only=False))] = NULL
        if call.kind.is_float:
            return kinds, raw_values(column).astype(np.float64).view(np.int64)
        return kinds, (to_bytes(column) if call.kind.name == "bool" else stored_ints(column)).astype(np.int64)

    def _column(self, kind: Kind, values: Int64, nulls: UInt8) -> pa.Array:
        """The values that numbers stand for."""
        missing = nulls.astype(np.bool_)
        if kind.name == "text":
            places = np.zeros(values.size, np.int64)
            distinct, places[~missing] = np.unique(values[~missing], return_inverse=True)
            return self.decode(distinct).take(pa.array(places, mask=missing))
        if kind.name == "bool":
            return pa.array(values != 0, mask=missing)
        if kind.is_float:
            floats = np.ascontiguousarray(values).view(np.float64)
            return pa.array(floats if kind.name == "float" else floats.astype(np.float32), mask=missing)
        stored = self._type(kind)
        valid = pa.array(~missing).buffers()[1]
        if pa.types.is_decimal(stored):
            written = np.stack([values, values >> 63], axis=1)  # 128 bits, the low ones first
        else:
            written = values.astype(f"u{stored.bit_width // 8}" if stored.bit_width < 64 else np.int64)
        return pa.Array.from_buffers(stored, values.size, [valid, pa.py_buffer(np.ascontiguousarray(written))])

    def _type(self, kind: Kind) -> pa.DataType:
        if kind.type not in self.types:
            self.types[kind.type] = self.connection.sql(f"SELECT CAST(NULL AS {kind.type})").to_arrow_table()[0].type
        return self.types[kind.type]


def _asked(search: Search, call: Call) -> Operands:
    """What lies on the stack."""
    count, top = len(call.operands), int(search.state[TOP])
    places = slice(top - count + 1, top + 1)
    floats = np.array([each.kind.is_float for each in call.operands])
    values = np.where(floats, search.float_stack[places].view(np.int64), search.stack[places, 1])
    return Operands(values.reshape(1, -1), (search.stack[places, 0] == NULL).astype(np.uint8).reshape(1, -1))


def _guesses(search: Search, call: Call, asked: Operands, reach: int) -> Iterator[Operands]:
    """What may be asked for next."""
    partition = int(search.touched[search.state[PARTITION]])
    now = int(search.attempts[partition, START] + search.attempts[partition, DEPTH])
    end = search.codes.size if search.bases.size == 1 else int(search.ready[partition])  # of a stream, its own rows
    end = min(end, now + 1 + reach)
    following = np.arange(now + 1, end)
    if not following.size:
        return
    fixed, moving = [], []
    for place, each in enumerate(call.operands):
        constant = np.repeat(asked.values[:, place], following.size), np.repeat(asked.nulls[:, place], following.size)
        onwards = constant
        if each.op in _TOTALS:
            onwards = _go_on(search, each, asked.values[0, place], following)
        elif each.is_of_row and (row := now if each.place == NOW else _row_of(search, each.place)) >= 0:
            onwards = _read(search, each, following - (now - row))
        moving.append(onwards)
        fixed.append(constant if each.is_of_row and each.place != NOW else onwards)
    yield Operands.of(moving)
    yield Operands.of(fixed)
    distinct = [np.unique(values[nulls == 0]) for values, nulls in moving]
    if np.prod([values.size for values in distinct]) <= 4 * reach:
        every = np.meshgrid(*distinct)
        yield Operands.of([(values.reshape(-1), np.zeros(values.size, np.uint8)) for values in every])


def _go_on(search: Search, operand: Operand, value: np.int64, rows: Int64) -> tuple[Int64, UInt8]:
    """A count or a sum, as if all of these rows were counted."""
    nulls = np.zeros(rows.size, np.uint8)
    if operand.op != p.LOAD_TOTAL:
        return value + np.arange(1, rows.size + 1), nulls
    _, function, column, of_floats = search.totals[operand.what].tolist()
    if function != SUM:
        return np.repeat(value, rows.size), nulls
    if of_floats:
        added = np.where(search.float_nulls[column, rows] != 0, 0.0, search.floats[column, rows])
        floats = np.cumsum(np.concatenate([np.array([value]).view(np.float64), added]))[1:]
        return floats.view(np.int64), nulls
    return value + np.cumsum(np.where(search.int_nulls[column, rows] != 0, 0, search.ints[column, rows])), nulls


def _read(search: Search, operand: Operand, rows: Int64) -> tuple[Int64, UInt8]:
    """The values of a column at rows, the last of which there may be."""
    rows = np.minimum(rows, search.codes.size - 1)
    if operand.kind.is_float:
        return search.floats[operand.what, rows].view(np.int64), search.float_nulls[operand.what, rows]
    return search.ints[operand.what, rows], search.int_nulls[operand.what, rows]


def _row_of(search: Search, place: int) -> int:
    """The row that a place of a program is, in the match with the row that is tried; -1 where there is none."""
    partition = int(search.touched[search.state[PARTITION]])
    start, depth = int(search.attempts[partition, START]), int(search.attempts[partition, DEPTH]) + 1
    base = int(search.bases[min(partition, search.bases.size - 1)])
    chosen, from_first, inwards, onwards = (int(word) for word in search.places[place])
    known = depth if chosen < 0 else int(search.frames[base + depth, FRAME_WORDS + chosen])
    if inwards >= known:
        return -1
    at = inwards if from_first else known - 1 - inwards
    if chosen >= 0:
        at = int(search.frames[base + at, FRAME_WORDS + search.members.shape[0] + chosen])
    row = start + at + onwards
    return row if search.firsts[partition] <= row < search.lasts[partition] else -1


def _make_room(search: Search, count: int) -> None:
    """For so many values more, each in a table that is at most half full."""
    size = search.known.shape[0]
    if 2 * (int(search.counts[1]) + count) <= size:
        return
    before, values = search.known, search.known_values
    while 2 * (int(search.counts[1]) + count) > size and size < _MOST_KNOWN:
        size *= 4
    search.update(known=np.zeros((size, 2), np.uint64), known_values=np.zeros((size, 2), np.int64))
    if size > len(before):
        rehash(search, before.reshape(-1), values.reshape(-1))
    else:
        search.counts[1] = 0


def forget(search: Search) -> None:
    """Numbers that stood for texts stand for others now."""
    search.known[:] = 0
    search.counts[1] = 0
