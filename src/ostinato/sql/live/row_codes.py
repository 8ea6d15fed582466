"""What conditions say of rows by place, and the values that programs read of them, batch by batch."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt
import pyarrow as pa

from ostinato.core.arrays import Int32, Int64
from ostinato.sql.live.arrow_conditions import PlainExpression, plain_column, plain_condition
from ostinato.sql.live.bound_clause import BoundClause
from ostinato.sql.live.code_book import CodeBook
from ostinato.sql.live.text_order import Renumbered, TextOrder
from ostinato.sql.runtime.input import OrderedRows, one_chunk
from ostinato.sql.runtime.kinds import Kind
from ostinato.sql.runtime.registers import fill_columns
from ostinato.sql.runtime.row_values import to_bytes
from ostinato.sql.runtime.search import texts_of

Values = dict[str, npt.NDArray[Any]]  # codes, and by name of a field the columns of registers


class RowCodes:
    """Attributes
    ----------
    written : dict
        What `evaluate` found: codes, and arrays by register and row.
    """

    def __init__(self, bound: BoundClause) -> None:
        self.bound = bound
        conditions, registers = bound.conditions, bound.conditions.registers
        places = {name: place for place, name in enumerate(conditions.local)}
        self.condition = [places.get(name, -1) for name in bound.automaton.variables]
        self.book = CodeBook(len(places))
        self.kinds: list[Kind] = [kind for _, kind, _ in registers.columns]
        self.numbers = list(registers.columns.values())
        self.text_columns = [
            number for kind, number in zip(self.kinds, self.numbers, strict=True) if kind.name == "text"
        ]
        self.items = [f"CAST(({text}) AS BOOLEAN)" for text in conditions.local.values()]
        self.items += [f"CAST(({text}) AS {kind.type})" for text, kind, _ in registers.columns]
        self.plain = [self._plain(item) for item in conditions.local.values()]
        self.columns_of = [self._column(text, kind) for text, kind, _ in registers.columns]
        # Whether programs read all that they need from columns of the input, and say what conditions by place say.
        self.direct = len(conditions.by_place) == len(conditions.local) and None not in self.columns_of
        self.direct = self.direct and not self.text_columns
        self.texts = TextOrder()
        self.texts.add(texts_of(conditions, bound.automaton))
        self.written: Values = {}
        self.constants = bound.values.constants(
            [f"CAST(({text}) AS {kind.type})" for _, kind, text in registers.columns]
        )
        self._add_texts(self.constants)

    def evaluate(self, rows: OrderedRows, chosen: Int64) -> Renumbered | None:
        """Evaluate rows, of which only some are new; tells when the numbers of texts have changed."""
        found = self._values(rows)
        if chosen.size != rows.size:
            found = [column.take(pa.array(chosen)) for column in found]
        local = len(self.bound.conditions.local)
        codes: Int32 = self.book.encode([to_bytes(column) for column in found[:local]], chosen.size)
        columns = found[local:]
        renumbered = self._add_texts(columns)
        self.written = {"codes": codes, **self.columns(columns, chosen.size)}
        return renumbered

    def read(self, rows: pa.Table) -> Values:
        """The columns that programs read, of rows in the order of their places."""
        columns = [one_chunk(rows[name]) for name in self.columns_of if name is not None]
        return self.columns(columns, len(rows))

    def _types(self) -> dict[str, pa.DataType]:
        """Of the columns that expressions over a row name."""
        values = self.bound.values
        schema = values.rows.table.schema
        kept = {name: schema.field(name).type for name in schema.names if name in values.rows.columns}
        return kept | {name: column.type for name, column in values.columns.items()}

    def _plain(self, text: str) -> PlainExpression | None:
        return plain_condition(text, self._types(), self.bound.alias)

    def _column(self, text: str, kind: Kind) -> str | None:
        """The column that a register holds as it is."""
        name = plain_column(text, self._types(), self.bound.alias)
        simple = name is not None and not pa.types.is_dictionary(self._types()[name])
        return name if simple and self.bound.values.types([text]) == [kind.type] else None

    def _values(self, rows: OrderedRows) -> list[pa.Array]:
        """The values of all items: DuckDB evaluates those that are not plain."""
        if not self.items:
            return []
        values = self.bound.values.over(rows)
        found: list[pa.Array | None] = [None] * len(self.items)
        needed = {name for plain in self.plain if plain is not None for name in plain.names}
        arrays = values.columns | {name: rows.column(name) for name in needed if name not in values.columns}
        for place, plain in enumerate(self.plain):
            found[place] = None if plain is None else plain(arrays)
        for place, name in enumerate(self.columns_of, len(self.plain)):
            if name is not None:
                found[place] = values.columns[name] if name in values.columns else rows.column(name)
        left = [place for place, column in enumerate(found) if column is None]
        for place, column in zip(left, values.evaluate([self.items[place] for place in left]), strict=True):
            found[place] = column
        return [column for column in found if column is not None]

    def _add_texts(self, columns: list[pa.Array]) -> Renumbered | None:
        new: set[str] = set()
        for kind, column in zip(self.kinds, columns, strict=True):
            if kind.name == "text":
                new.update(text for text in column.unique().to_pylist() if text is not None)
        return self.texts.add(new)

    def columns(self, columns: list[pa.Array], size: int) -> Values:
        """The values of registers, as fields of the search hold them."""
        given = zip(self.kinds, self.numbers, ([column] for column in columns), strict=True)
        filled = fill_columns(self.bound.conditions.registers, given, size, self.texts.encode)
        return dict(zip(("ints", "floats", "int_nulls", "float_nulls"), filled, strict=True))
