"""Matches as columns, and what becomes of them: groups, order, rows without any value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ostinato.automata.walk_program import Answer, Column, Program
from ostinato.tree.tokens import Names, Tokens


@dataclass(frozen=True)
class Rows:
    """Some matches, one row each, with the operand of every column (string or double), not yet aggregated."""

    columns: list[pa.Array]
    key: pa.Array | None  # the partition of each match, where the query aggregates over all of them
    last: NDArray[np.int64]  # where in the document the last bound node is: its number among all tokens
    bound: list[pa.Array] = field(default_factory=list)  # what else orders rows, where they do not come in order


class Evaluator(Protocol):
    """Turns tokens into rows."""

    def push(self, tokens: Tokens, names: Names) -> Rows:
        """The matches that are certain now."""

    def finish(self) -> Rows:
        """The matches that are certain because the document is over."""

    @property
    def is_small(self) -> bool:
        """Whether it is worth to be kept for the next document."""

    def moved(self, by: int) -> None:
        """What was kept of the last buffer stands `by` bytes further to the front now."""

    @property
    def keep_from(self) -> int:
        """From where on the bytes of the last buffer are still needed (the `keep_from` of the next read)."""


def schema_of(program: Program) -> pa.Schema:
    return pa.schema([pa.field(column.name, _type(column)) for column in program.columns])


def _type(column: Column) -> pa.DataType:
    return {"": pa.string(), "int64": pa.int64(), "double": pa.float64()}[column.number]


def without_empty(table: pa.Table) -> pa.Table:
    """The rows that have a value in some column."""
    if not any(column.null_count for column in table.columns):
        return table
    some = None
    for column in table.columns:
        valid = pc.is_valid(column)
        some = valid if some is None else pc.or_(some, valid)
    return table.filter(some)


class Groups:
    """Aggregates over all matches, kept up as rows come in: one group per partition and values of the other columns."""

    def __init__(self, program: Program) -> None:
        self.columns = program.columns
        self.found: dict[tuple[Any, ...], list[list[float]]] = {}
        self.first: dict[tuple[Any, ...], int] = {}  # where the first match of each group ends

    def add(self, rows: Rows) -> None:
        plain = [rows.columns[n].to_pylist() for n, column in enumerate(self.columns) if column.over_all is None]
        folded = [(n, column) for n, column in enumerate(self.columns) if column.over_all is not None]
        values = [self._values(rows.columns[n], column) for n, column in folded]
        keys = rows.key.to_pylist() if rows.key is not None else [None] * len(rows.last)
        for place, key in enumerate(keys):
            group = (key, *(column[place] for column in plain))
            state = self.found.get(group)
            if state is None:
                state = self.found[group] = [[0.0, 0.0, np.inf, -np.inf] for _ in folded]
            self.first[group] = min(int(rows.last[place]), self.first.get(group, 1 << 62))
            for held, column in zip(state, values, strict=True):
                value = column[place]
                if value is not None:
                    held[0] += 1
                    held[1] += value
                    held[2] = min(held[2], value)
                    held[3] = max(held[3], value)

    @staticmethod
    def _values(array: pa.Array, column: Column) -> list[float | None]:
        if column.over_all == "count":
            return [1.0 if valid else None for valid in array.is_valid().to_pylist()]
        if pa.types.is_string(array.type):
            return [number(text) for text in array.to_pylist()]
        return array.to_pylist()  # type: ignore[no-any-return]

    def table(self, schema: pa.Schema) -> pa.Table:
        out: list[list[Any]] = [[] for _ in self.columns]
        for group in sorted(self.found, key=lambda group: self.first[group]):
            plain, folded = iter(group[1:]), iter(self.found[group])
            for column, values in zip(self.columns, out, strict=True):
                values.append(next(plain) if column.over_all is None else _folded(column.over_all, next(folded)))
        return pa.table([pa.array(values, kind.type) for values, kind in zip(out, schema, strict=True)], schema=schema)


def _folded(function: str, state: list[float]) -> float | int | None:
    count, total, least, most = state
    if function == "count":
        return int(count)
    if not count:
        return None
    return {"sum": total, "avg": total / count, "min": least, "max": most}[function]


def number(text: str | None) -> float | None:
    """What a text reads as, where it reads as a number."""
    from ostinato.kernels.values import read_number

    if text is None:
        return None
    data = np.frombuffer(text.encode(), np.uint8)
    known, value = read_number(data, 0, len(data))
    return value if known else None


def assemble(program: Program, blocks: Iterable[Rows], *, sort: bool) -> Iterable[pa.Table]:
    """Tables out of rows; with `sort` one table in the order that the language states, else as they come."""
    schema = schema_of(program)
    if program.answer is Answer.GROUPS:
        groups = Groups(program)
        for rows in blocks:
            groups.add(rows)
        yield without_empty(groups.table(schema))
        return
    held: list[pa.Table] = []
    order: list[pa.Table] = []
    for rows in blocks:
        if not len(rows.last):
            continue
        arrays = [array.cast(kind.type) for array, kind in zip(rows.columns, schema, strict=True)]
        table = pa.table(arrays, schema=schema)
        if sort:
            held.append(table)
            order.append(pa.table([rows.last, *rows.bound], names=[str(n) for n in range(1 + len(rows.bound))]))
        else:
            yield without_empty(table)
    if held:
        keys = pa.concat_tables(order)
        places = pc.sort_indices(keys, [(name, "ascending") for name in keys.column_names])
        yield without_empty(pa.concat_tables(held).take(places))
