"""What a clause gives: one row per match, or all rows of the matches (ISO/IEC 19075-5, sections 4.11 and 4.14)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import duckdb
import pyarrow as pa

from ostinato.sql.semantics.matches import Match, find_matches
from ostinato.sql.semantics.values import Place, Values, key_text
from ostinato.sql.syntax import nodes as n
from ostinato.sql.syntax.words import words


def evaluate(
    match: n.MatchRecognize,
    connection: duckdb.DuckDBPyConnection,
    source: str,
    alias: str = "#input",
    hidden: Sequence[str] = (),
) -> pa.Table:
    """The rows of a clause over what `source`, the text after FROM, names on the connection; `hidden` columns of it are
    read and not shown."""
    values = Values(connection, source, alias, match, hidden)
    found = [row for partition in values.partitions() for row in _partition(match, values, partition)]
    if found:
        return pa.concat_tables(found)
    measures = _measures(match, values, Place(Match(0, 1, ()), -1, ()))
    return _joined(match, values, -1, None if measures is None else measures.slice(0, 0))


def matches(
    match: n.MatchRecognize, connection: duckdb.DuckDBPyConnection, source: str, alias: str = "#input"
) -> list[tuple[Sequence[int], Match]]:
    """The matches, each with the numbers of the rows of its partition."""
    values = Values(connection, source, alias, match)
    return [(partition, found) for partition in values.partitions() for found in _matches(match, values, partition)]


def _partition(match: n.MatchRecognize, values: Values, partition: Sequence[int]) -> Iterator[pa.Table]:
    """The rows that a partition gives, in order."""
    found = _matches(match, values, partition)
    if match.rows == "ONE ROW":
        for each in found:
            place = Place(each, len(each.mapped) - 1, partition)
            yield _joined(match, values, partition[each.start], _measures(match, values, place))
        return
    taken = {row for each in found for row in range(each.start, max(each.end, each.start + 1))}
    unmatched = (row for row in range(len(partition)) if row not in taken)
    none = [Match(row, 0, ()) for row in unmatched if match.rows == "ALL ROWS WITH UNMATCHED"]
    for each in sorted([*found, *none], key=lambda each: each.start):
        if not each.number:
            yield _joined(match, values, partition[each.start], values.no_measures() if match.measures else None)
        elif each.mapped:
            for at, mapped in enumerate(each.mapped):
                if not mapped.excluded:
                    place = Place(each, at, partition)
                    yield _joined(match, values, partition[each.start + at], _measures(match, values, place))
        elif match.rows != "ALL ROWS OMIT EMPTY":
            place = Place(each, -1, partition)
            yield _joined(match, values, partition[each.start], _measures(match, values, place))


def _matches(match: n.MatchRecognize, values: Values, partition: Sequence[int]) -> list[Match]:
    conditions = {each.name: each.condition for each in match.definitions}
    return find_matches(match, len(partition), partial(_holds, match, values, partition, conditions))


def _holds(
    match: n.MatchRecognize, values: Values, partition: Sequence[int], conditions: dict[str, n.Sql], found: Match
) -> bool:
    place = Place(found, len(found.mapped) - 1, partition)
    condition = conditions.get(found.mapped[-1].variable)
    if condition is not None and not values.holds(condition, place):
        return False
    return match.within is None or values.within(match.within, place)


def _measures(match: n.MatchRecognize, values: Values, place: Place) -> pa.Table | None:
    return values.measures(place) if match.measures else None


def _joined(match: n.MatchRecognize, values: Values, number: int, measures: pa.Table | None) -> pa.Table:
    """One row of the answer: the columns of an input row in their places, and the measures among them.

    ONE ROW PER MATCH gives the keys of PARTITION BY and the measures; ALL ROWS PER MATCH the keys of PARTITION BY and
    ORDER BY, the measures, and the other columns.
    """
    keys = list(match.partition_by)
    if match.rows != "ONE ROW":
        shown = {_column(key) for key in keys}
        keys += [key for key in match.order_by if _column(key) not in shown]
    named = {name.lower() for key in keys if (name := _column(key)) is not None}
    others = [] if match.rows == "ONE ROW" else [name for name in values.columns if name.lower() not in named]
    parts = [
        values.row([key_text(key) for key in keys if _shown(match, key)], number),
        measures,
        values.row(['"' + name.replace('"', '""') + '"' for name in others], number),
    ]
    tables = [part for part in parts if part is not None]
    names = [name for table in tables for name in table.column_names]
    return pa.Table.from_arrays([column for table in tables for column in table.columns], names=names)


def _shown(match: n.MatchRecognize, key: n.Key) -> bool:
    """What ORDER BY computes is no column of the answer."""
    return key in match.partition_by or _column(key) is not None


def _column(key: n.Key) -> str | None:
    """The column that a key is; None where it computes something."""
    found = words(key_text(key))
    is_path = all(word.is_name if place % 2 == 0 else word.text == "." for place, word in enumerate(found))
    return found[-1].name if is_path else None
