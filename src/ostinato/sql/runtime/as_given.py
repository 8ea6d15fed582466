"""Where DuckDB would only hand on rows: a clause that reads a table as it is, a query that shows all a clause finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from ostinato.sql.syntax.words import words

# Types that come back from DuckDB as they went in. Of the others some do, and some become those.
_SAME = frozenset(
    (
        *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
        *(pa.float32(), pa.float64(), pa.bool_(), pa.date32()),
        *(pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("us"), pa.timestamp("ns")),
    )
)


def named_table(text: str, tables: Mapping[str, pa.Table]) -> pa.Table | None:
    """The table that a part of FROM names, with or without an alias; None for all else, and if its columns get other
    names in a query."""
    found = words(text)
    named = bool(found) and found[0].is_name and all(word.is_name for word in found[1:] if word.keyword != "AS")
    if not named or len(found) - sum(word.keyword == "AS" for word in found) > 2:
        return None
    alike = [table for name, table in tables.items() if name.lower() == found[0].name.lower()]
    return alike[0] if len(alike) == 1 and _keeps_names(alike[0]) else None


def shows_all_of(text: str, name: str) -> bool:
    """Whether a query is SELECT * FROM a table of that name."""
    found = [word.keyword or word.text for word in words(text)]
    return (found[:-1] if found[-1:] == [";"] else found) == ["SELECT", "*", "FROM", f'"{name}"']


def comes_back_alike(table: pa.Table) -> bool:
    """Whether `SELECT *` gives the same table."""
    return _keeps_names(table) and all(kind in _SAME for kind in table.schema.types)


def columns_as_given(table: pa.Table, names: Sequence[str]) -> pa.Table | None:
    """Columns of a table in one piece each; None where DuckDB would give them other types."""
    chosen = table.select(names)
    if not names or not all(kind in _SAME for kind in chosen.schema.types):
        return None
    return chosen.combine_chunks()


def _keeps_names(table: pa.Table) -> bool:
    names = [name.lower() for name in table.column_names]
    return len(set(names)) == len(names) and all(names)
