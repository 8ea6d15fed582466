"""The rows that a clause reads, partition by partition and in order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import duckdb
import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int32, Int64
from ostinato.core.arrow import raw_values
from ostinato.core.clock import to_ordered_ints
from ostinato.core.columns.keys import KeyTable
from ostinato.errors import DataError
from ostinato.sql.kernels.grouping import are_in_order, count_rows, group_rows
from ostinato.sql.runtime.as_given import columns_as_given
from ostinato.sql.runtime.errors import quote
from ostinato.sql.runtime.source import Source
from ostinato.sql.syntax import nodes as n
from ostinato.sql.syntax.words import Word, words


@dataclass
class OrderedRows:
    """Attributes
    ----------
    table : pyarrow.Table
        The rows as they are given: columns of the input that the clause names, and its computed keys.
    order : array
        The places of the rows in the table, in order; None where they are given in order.
    bounds : array
        Where each partition ends in that order, from 0 on.
    keys : dict
        The names that the keys of the clause have in the table.
    """

    source: Source
    table: pa.Table
    columns: list[str]  # of the input
    keys: dict[n.Key, str]
    order: Int64 | None
    bounds: Int64
    _in_order: dict[str, pa.Array] = field(default_factory=dict)

    @property
    def size(self) -> int:
        return int(self.table.num_rows)

    def column(self, name: str) -> pa.Array:
        """A column, in order."""
        if name not in self._in_order:
            whole = one_chunk(self.table.column(name))
            self._in_order[name] = whole if self.order is None else whole.take(pa.array(self.order))
        return self._in_order[name]

    def at(self, name: str, rows: Int64) -> pa.Array:
        """The values of a column at rows; NULL at those below 0."""
        places = rows
        if self.order is not None:
            places = self.order[rows]
        taken = pa.array(places, mask=rows < 0) if rows.size and rows.min() < 0 else pa.array(places)
        return one_chunk(self.table.column(name)).take(taken)

    def named_in(self, text: str) -> list[str]:
        """The columns of the input that an expression may name."""
        return named_columns(text, self.columns, self.source.alias)

    @cached_property
    def partitions(self) -> Int32:
        """The partition of each row."""
        return np.repeat(np.arange(self.bounds.size - 1, dtype=np.int32), np.diff(self.bounds))


def read_rows(match: n.MatchRecognize, source: Source, used: Iterable[str] | None) -> OrderedRows:
    """Read the input; of its columns those that the texts in `used` name, or all."""
    text = f"(SELECT * FROM {source.text}) AS {quote(source.alias)}"
    columns = _column_names(source, text)
    keys: dict[n.Key, str] = {}
    items = []
    for key in (*match.partition_by, *match.order_by):
        name = column_of(key, columns, source.alias)
        if name is None:
            name = f"#key{len(keys)}"
            items.append(f"({key_text(key)}) AS {quote(name)}")
        keys[key] = name
    kept = columns
    if used is not None:
        named = {name for each in used for name in named_columns(each, columns, source.alias)} | set(keys.values())
        kept = [name for name in columns if name in named]
    table = columns_as_given(source.table, kept) if source.table is not None and not items else None
    if table is None:
        selected = [*map(quote, kept), *items] or ['1 AS "#nothing"']
        table = to_table(source.connection.sql(f"SELECT {', '.join(selected)} FROM {text}"))
    order, bounds = _ordered(match, source.connection, table, keys)
    return OrderedRows(source, table, columns, keys, order, bounds)


def _column_names(source: Source, text: str) -> list[str]:
    if source.table is not None:
        return list(source.table.column_names)
    return [name for name, *_ in source.connection.sql(f"DESCRIBE SELECT * FROM {text}").fetchall()]


def _ordered(
    match: n.MatchRecognize, connection: duckdb.DuckDBPyConnection, table: pa.Table, keys: dict[n.Key, str]
) -> tuple[Int64 | None, Int64]:
    size = table.num_rows
    order: Int64 | None = None
    partitions = np.zeros(size, np.int32)
    bounds = np.array([0, size] if size else [0], np.int64)
    if match.partition_by and size:
        partitions = _partition_numbers(connection, [table.column(keys[key]) for key in match.partition_by])
        count = int(partitions.max()) + 1
        bounds = np.zeros(count + 1, np.int64)
        grouped = count_rows(partitions, bounds[1:])
        np.cumsum(bounds, out=bounds)
        if not grouped:
            order = np.empty(size, np.int64)
            group_rows(partitions, bounds[:-1].copy(), order)
    if match.order_by and size and not _in_order(match, table, keys, partitions):
        order = sort_rows(match, connection, table, keys, partitions)
    return order, bounds


def _partition_numbers(connection: duckdb.DuckDBPyConnection, columns: Sequence[pa.ChunkedArray]) -> Int32:
    try:
        return KeyTable().encode(columns)
    except (DataError, KeyError, TypeError, pa.ArrowException):  # of a nested type, an interval
        given = pa.table(list(columns), names=[f"k{place}" for place in range(len(columns))])
        items = [f"CAST({name} AS VARCHAR) AS {name}" for name in given.column_names]
        return KeyTable().encode(select(connection, items, given).columns)


def _in_order(match: n.MatchRecognize, table: pa.Table, keys: dict[n.Key, str], partitions: Int32) -> bool:
    """Whether the rows are in order, as far as that can be seen fast."""
    if len(match.order_by) > 1:
        return False
    (key,) = match.order_by
    ticks = _ticks(one_chunk(table.column(keys[key])))
    if ticks is None:
        return False
    if key.descending:
        ticks = ~ticks
    return bool(are_in_order(ticks, partitions, np.full(int(partitions.max()) + 1, np.iinfo(np.int64).min)))


def _ticks(column: pa.Array) -> Int64 | None:
    """Integers in the order of the values; None for values that are not stored as numbers, and where there is NULL."""
    kind = column.type
    if column.null_count:
        return None
    if pa.types.is_floating(kind):
        values = raw_values(column).astype(np.float64)
        return None if bool(np.isnan(values).any()) else to_ordered_ints(values)
    if pa.types.is_integer(kind) or pa.types.is_temporal(kind):
        if pa.types.is_uint64(kind) or pa.types.is_interval(kind) or kind.bit_width > 64:
            return None
        return np.ascontiguousarray(raw_values(column), np.int64)
    return None


def sort_rows(
    match: n.MatchRecognize,
    connection: duckdb.DuckDBPyConnection,
    table: pa.Table,
    keys: dict[n.Key, str],
    parts: Int32,
) -> Int64:
    """The order of rows: by their partitions, then as ORDER BY says, then as they come."""
    given = pa.table(
        {
            "#partition": parts,
            "#row": np.arange(parts.size),
            **{keys[key]: table.column(keys[key]) for key in match.order_by},
        }
    )
    ordered = (
        quote(keys[key]) + (" DESC" if key.descending else "") + (f" NULLS {key.nulls}" if key.nulls else "")
        for key in match.order_by
    )
    items = ", ".join(['"#partition"', *ordered, '"#row"'])
    found = select(connection, ['"#row"'], given, tail=f"ORDER BY {items}")
    return np.asarray(one_chunk(found.column(0)).to_numpy())


# Names and queries ----------------------------------------------------------------------------------------------------


def select(
    connection: duckdb.DuckDBPyConnection, items: Sequence[str], table: pa.Table, alias: str = "#rows", tail: str = ""
) -> pa.Table:
    """The values of expressions over each row of a table, which `alias` names."""
    connection.register("#table", table)
    try:
        return to_table(connection.sql(f'SELECT {", ".join(items)} FROM "#table" AS {quote(alias)} {tail}'))
    finally:
        connection.unregister("#table")


def to_table(relation: duckdb.DuckDBPyRelation) -> pa.Table:
    return relation.to_arrow_table()


def one_chunk(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def column_of(key: n.Key, columns: Sequence[str], alias: str) -> str | None:
    """The column of the input that a key is; None where it computes something, or reads a table of a join."""
    path = path_of(key)
    if not path or (len(path) > 1 and [name.lower() for name in path[:-1]] != [alias.lower()]):
        return None
    return next((name for name in columns if name.lower() == path[-1].lower()), None)


def path_of(key: n.Key) -> list[str]:
    """The names of `table.column`; none where a key computes something."""
    found = words(key_text(key))
    if all(word.is_name if place % 2 == 0 else word.text == "." for place, word in enumerate(found)):
        return [word.name for word in found[::2]]
    return []


def key_text(key: n.Key) -> str:
    return plain_text(key.value)


def plain_text(value: n.Sql) -> str:
    """The text of an expression over the columns of a row alone, which holds no terms."""
    return "".join(part for part in value.parts if isinstance(part, str))


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def named_columns(text: str, columns: Sequence[str], alias: str) -> list[str]:
    """The columns that an expression may name."""
    return list(_named_columns(text, tuple(columns), alias))


@lru_cache(maxsize=256)
def _named_columns(text: str, columns: tuple[str, ...], alias: str) -> list[str]:
    found = words(text)
    names = {word.name.lower() for word in found if word.is_name}
    if _reads_all(found) or any(_is_whole_row(found, place, alias) for place in range(len(found))):
        return list(columns)
    return [name for name in columns if name.lower() in names]


def _reads_all(found: Sequence[Word]) -> bool:
    """Whether there is a `*` that stands for columns, not for a product or for the rows of count(*)."""
    for place, word in enumerate(found):
        if word.keyword == "COLUMNS" or (word.text == "*" and place and found[place - 1].text == "."):
            return True
        if word.text == "*" and (place == 0 or found[place - 1].text in ("(", ",")):
            counted = place > 1 and found[place - 2].keyword == "COUNT"
            if not counted:
                return True
    return False


def _is_whole_row(found: Sequence[Word], place: int, alias: str) -> bool:
    """The name of the table where a value stands is the row."""
    word = found[place]
    following = found[place + 1].text if place + 1 < len(found) else ""
    return word.is_name and word.name.lower() == alias.lower() and following != "."
