"""What the programs of a clause read: columns of values, rows of the match, totals; each once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ostinato.core.arrays import Float64, Int64, UInt8
from ostinato.core.arrow import raw_values
from ostinato.sql.kernels import opcodes as p
from ostinato.sql.runtime.kinds import Kind
from ostinato.sql.runtime.row_values import RowValues, to_bytes

T = TypeVar("T")
NOW = -1  # the place that is the current row
ALL_ROWS = -1  # the set of all variables


@dataclass(frozen=True)
class Text:
    """A text in a program, which becomes its place among all texts when these are known."""

    value: str


@dataclass(frozen=True)
class Operand:
    """Of a call: the step that loads it, and its kind."""

    kind: Kind
    op: int
    what: int
    place: int

    @property
    def is_of_row(self) -> bool:
        return self.op in (p.LOAD_INT, p.LOAD_FLOAT)


@dataclass(frozen=True)
class Call:
    """A function of several rows that only DuckDB has: its text over operands, and their names in it."""

    text: str
    names: tuple[str, ...]
    operands: tuple[Operand, ...]
    kind: Kind


@dataclass
class Registers:
    """Filled while conditions are compiled.

    Attributes
    ----------
    columns : dict
        Expressions over a row, as rendered for RowValues, with how they are held and what stands for them where there
        is no row -> number among ints or floats.
    sets : list
        Sets of variables, by number.
    places : list
        Set, whether from the first row, rows inwards, rows onwards.
    totals : list
        Set, function, column or -1, whether of floats.
    calls : list
        Functions that DuckDB evaluates.
    lasting : bool
        Whether the constants of programs are the same whenever they are evaluated, and over whatever tables.
    """

    variables: tuple[str, ...]
    columns: dict[tuple[str, Kind, str], int] = field(default_factory=dict)
    ints: int = 0
    floats: int = 0
    sets: list[frozenset[int]] = field(default_factory=list)
    places: list[tuple[int, int, int, int]] = field(default_factory=list)
    totals: list[tuple[int, int, int, int]] = field(default_factory=list)
    constants: list[float] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    lasting: bool = True

    def column(self, text: str, kind: Kind, without: str) -> int:
        number = self.columns.get((text, kind, without))
        if number is None:
            number = self.columns[text, kind, without] = self.floats if kind.is_float else self.ints
            if kind.is_float:
                self.floats += 1
            else:
                self.ints += 1
        return number

    def constant(self, value: float) -> int:
        self.constants.append(value)
        return len(self.constants) - 1

    def set(self, members: frozenset[str]) -> int:
        numbers = frozenset(number for number, name in enumerate(self.variables) if name in members)
        if len(numbers) == len(self.variables):
            return ALL_ROWS
        return _place_of(self.sets, numbers)

    def place(self, chosen: int, from_first: bool, inwards: int, onwards: int) -> int:
        return _place_of(self.places, (chosen, int(from_first), inwards, onwards))

    def total(self, chosen: int, function: int, column: int, of_floats: bool) -> int:
        return _place_of(self.totals, (chosen, function, column, int(of_floats)))

    def call(self, call: Call) -> int:
        return _place_of(self.calls, call)


def _place_of(known: list[T], wanted: T) -> int:
    if wanted not in known:
        known.append(wanted)
    return known.index(wanted)


@dataclass(frozen=True)
class Columns:
    """The values of all columns by row; after those of the rows the value where there is no row. Texts are numbers,
    which `texts` says of those of programs, and `decode` reads."""

    ints: Int64
    floats: Float64
    int_nulls: UInt8
    float_nulls: UInt8
    texts: dict[str, int]
    decode: Callable[[Int64], pa.Array]


def read_columns(registers: Registers, values: RowValues, texts: set[str]) -> Columns:
    """Evaluate the columns over all rows. `texts` are those of programs, beside those of the rows."""
    kinds = [kind for _, kind, _ in registers.columns]
    found = {number: values.stored(text, kind.type) for number, (text, kind, _) in enumerate(registers.columns)}
    items = [f"CAST(({text}) AS {kind.type})" for text, kind, _ in registers.columns]
    left = [number for number, column in found.items() if column is None]
    found |= zip(left, values.evaluate([items[number] for number in left]), strict=True)
    without = _without_rows(registers, found, values)
    every = [*found.values(), *without]
    strings = [column for kind, column in zip([*kinds, *kinds], every, strict=True) if kind.name == "text"]
    order = _texts_in_order([*strings, pa.array(sorted(texts), pa.string())])
    numbers = list(registers.columns.values())
    filled = fill_columns(
        registers,
        zip(kinds, numbers, zip(found.values(), without, strict=True), strict=True),
        values.rows.size + 1,
        lambda column: pc.index_in(column, order).fill_null(0),
    )
    known = {text: place for place, text in enumerate(order.to_pylist())} if texts else {}
    return Columns(*filled, {text: known[text] for text in texts}, lambda numbers: order.take(pa.array(numbers)))


def _without_rows(registers: Registers, found: dict[int, pa.Array], values: RowValues) -> list[pa.Array]:
    """Of each column, what stands for its value where there is no row."""
    given = [(text, kind) for _, kind, text in registers.columns]
    computed = values.constants([f"CAST(({text}) AS {kind.type})" for text, kind in given if text != "NULL"])
    left = iter(computed)
    return [pa.nulls(1, found[number].type) if text == "NULL" else next(left) for number, (text, _) in enumerate(given)]


def fill_columns(
    registers: Registers,
    columns: Iterable[tuple[Kind, int, Iterable[pa.Array]]],
    size: int,
    encode: Callable[[pa.Array], Any],
) -> tuple[Int64, Float64, UInt8, UInt8]:
    """Values as ints and floats, by number, and which of each are NULL. Each column comes in pieces. `encode` gives the
    places of texts."""
    ints, floats = np.zeros((registers.ints, size), np.int64), np.zeros((registers.floats, size), np.float64)
    int_nulls, float_nulls = np.zeros(ints.shape, np.uint8), np.zeros(floats.shape, np.uint8)
    for kind, number, pieces in columns:
        values, nulls = (floats[number], float_nulls[number]) if kind.is_float else (ints[number], int_nulls[number])
        first = 0
        for piece in pieces:
            chosen = slice(first, first + len(piece))
            first += len(piece)
            if piece.null_count:
                nulls[chosen] = ~np.asarray(piece.is_valid().to_numpy(zero_copy_only=False))
            if kind.is_float:
                values[chosen] = raw_values(piece)
            elif kind.name == "text":
                values[chosen] = np.asarray(encode(piece))
            else:
                values[chosen] = to_bytes(piece) if kind.name == "bool" else stored_ints(piece)
    return ints, floats, int_nulls, float_nulls


def stored_ints(column: pa.Array) -> Int64:
    """The numbers that are stored, of a decimal without its point; anything may stand at a NULL."""
    if pa.types.is_decimal128(column.type):
        stored = np.frombuffer(column.buffers()[1], np.int64).reshape(-1, 2)
        return stored[column.offset : column.offset + len(column), 0]
    return raw_values(column)


def _texts_in_order(columns: list[pa.Array]) -> pa.Array:
    """All texts that occur, by their bytes."""
    every = pc.unique(pa.chunked_array([column.cast(pa.string()) for column in columns]))
    every = every.drop_null()
    return every.take(pc.sort_indices(every))
