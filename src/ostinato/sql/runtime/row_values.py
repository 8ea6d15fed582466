"""Expressions that look at rows by place, evaluated by DuckDB over whole columns."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ostinato.core.arrays import UInt8
from ostinato.sql.plan.row_terms import step_of
from ostinato.sql.runtime.errors import quote
from ostinato.sql.runtime.input import OrderedRows, literal, one_chunk, plain_text, select
from ostinato.sql.syntax import nodes as n

_COLUMN = re.compile(r"[a-z_]\w*|\([a-z_]\w*\)", re.IGNORECASE)


class RowValues:
    """Expressions over each row in order. `PREV(price)` becomes a column of the prices one row before."""

    def __init__(self, match: n.MatchRecognize, rows: OrderedRows) -> None:
        self.match = match
        self.rows = rows
        self.shifted: dict[tuple[str, int], str] = {}
        self.columns: dict[str, pa.Array] = {}
        self.known_types: dict[str, str] = {}

    def over(self, rows: OrderedRows) -> RowValues:
        """The same expressions over other rows of the same columns."""
        return RowValues.known(self.match, rows, self.shifted, self.known_types)

    @staticmethod
    def known(
        match: n.MatchRecognize, rows: OrderedRows, shifted: dict[tuple[str, int], str], types: dict[str, str]
    ) -> RowValues:
        """With what is known of the expressions from other rows of the same columns."""
        found = RowValues(match, rows)
        found.shifted, found.known_types = shifted, types
        for (text, step), name in shifted.items():
            found.columns[name] = shift(found._value(text), step, rows)
        return found

    def render(self, value: n.Sql, variable: str) -> str:
        """The text of an expression over rows that are mapped to `variable`."""
        return value.render(lambda term: self.term(term, variable))

    def term(self, term: n.Term, variable: str) -> str:
        assert isinstance(term, n.Navigation)
        step = step_of(self.match, variable, term)
        assert step is not None
        if step == 0:
            return f"({term.value.render(lambda inner: literal(variable))})"
        key = (plain_text(term.value), step)
        name = self.shifted.get(key)
        if name is None:
            name = self.shifted[key] = f"#shift{len(self.shifted)}"
            self.columns[name] = shift(self._value(key[0]), step, self.rows)
        return quote(name)

    def evaluate(self, items: Sequence[str]) -> list[pa.Array]:
        """The values of rendered expressions, in order."""
        if not items:
            return []
        named = [f"{item} AS c{place}" for place, item in enumerate(items)]
        found = select(self.rows.source.connection, named, self._table(items), self.rows.source.alias)
        return [one_chunk(column) for column in found.columns]

    def types(self, items: Sequence[str]) -> list[str]:
        """The types of rendered expressions, or of aggregates over them, as DuckDB names them."""
        new = [item for item in dict.fromkeys(items) if item not in self.known_types]
        if new:
            self.known_types |= zip(new, self._ask_types(new), strict=True)
        return [self.known_types[item] for item in items]

    def _ask_types(self, items: Sequence[str]) -> list[str]:
        source = self.rows.source
        source.connection.register("#table", self._table(items).slice(0, 0))
        try:
            listed = ", ".join(f"{item} AS c{place}" for place, item in enumerate(items))
            query = f'DESCRIBE SELECT {listed} FROM "#table" AS {quote(source.alias)}'
            return [kind for _, kind, *_ in source.connection.sql(query).fetchall()]
        finally:
            source.connection.unregister("#table")

    def stored(self, text: str, type_name: str) -> pa.Array | None:
        """The values of an expression that is a column of numbers or times and has this type of DuckDB."""
        if not _COLUMN.fullmatch(text) or self.types([text]) != [type_name]:
            return None
        wanted = text.strip("()").lower()
        name = next((each for each in self.rows.columns if each.lower() == wanted), None)
        if name is None:
            return None
        kind = self.rows.table.schema.field(name).type
        numbers = pa.types.is_integer(kind) or pa.types.is_float64(kind) or pa.types.is_timestamp(kind)
        return self.rows.column(name) if numbers else None

    def constants(self, items: Sequence[str]) -> list[pa.Array]:
        """The values of expressions that name no column, one each."""
        if not items:
            return []
        table = select(self.rows.source.connection, items, pa.table({"#nothing": pa.nulls(1)}))
        return [one_chunk(column) for column in table.columns]

    def _value(self, text: str) -> pa.Array:
        name = next((each for each in self.rows.columns if each.lower() == text.strip().lower()), None)
        if name is not None:
            return self.rows.column(name)
        return self.evaluate([f"({text})"])[0]

    def _table(self, items: Sequence[str]) -> pa.Table:
        text = " , ".join(items)
        columns: dict[str, pa.Array] = {name: self.rows.column(name) for name in self.rows.named_in(text)}
        columns |= {name: column for name, column in self.columns.items() if quote(name) in text}
        return pa.table(columns) if columns else pa.table({"#nothing": pa.nulls(self.rows.size)})


def shift(values: pa.Array, step: int, rows: OrderedRows) -> pa.Array:
    """By row: the value so many rows on in its partition, NULL where there is none."""
    size, far = len(values), min(abs(step), len(values))
    if step < 0:
        moved = pa.concat_arrays([pa.nulls(far, values.type), values.slice(0, size - far)])
    else:
        moved = pa.concat_arrays([values.slice(far), pa.nulls(far, values.type)])
    if rows.bounds.size <= 2 or far == 0:
        return moved
    crosses = rows.partitions.copy()
    if step < 0:
        crosses[far:] -= rows.partitions[: size - far]
    else:
        crosses[: size - far] -= rows.partitions[far:]
    outside = crosses != 0
    if step < 0:
        outside[:far] = True
    else:
        outside[size - far :] = True
    return mask_values(moved, outside)


def mask_values(values: pa.Array, outside: np.ndarray) -> pa.Array:
    """The values, NULL where told."""
    return pc.if_else(pa.array(~outside), values, pa.scalar(None, values.type))


def to_bytes(values: pa.Array) -> UInt8:
    """0 or 1 for each truth value; 0 for NULL."""
    bits = np.frombuffer(values.buffers()[1], np.uint8) if len(values) else np.empty(0, np.uint8)
    found = np.unpackbits(bits, bitorder="little", count=values.offset + len(values))[values.offset :]
    if values.null_count:
        valid = np.frombuffer(values.buffers()[0], np.uint8)
        found &= np.unpackbits(valid, bitorder="little", count=values.offset + len(values))[values.offset :]
    return found
