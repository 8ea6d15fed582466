"""What expressions mean: each term is the value of SQL at a row, or over some rows, of the input (section 5).

Scalars and aggregates are the engine's, DuckDB: a term becomes a subquery over the rows it reads, named by number. It
is slow, and it says what is meant.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import duckdb
import pyarrow as pa

from ostinato.sql.semantics.matches import Match
from ostinato.sql.syntax import nodes as n

NUMBER = '"#"'  # the column that numbers the rows of the input
_ROWS = '"#rows"'


@dataclass(frozen=True)
class Place:
    """Where an expression is evaluated: a match, its current row, and the rows of the partition.

    In DEFINE the match goes no further than the current row. `current` is -1 in an empty match, which has none.
    """

    match: Match
    current: int  # a place in the match
    partition: Sequence[int]  # the numbers of its rows


@dataclass
class Values:
    """Evaluates the expressions of one clause over one input.

    Attributes
    ----------
    connection : DuckDBPyConnection
        Holds the tables that the expressions may name.
    source : str
        What stands after FROM, without the clause: `ticks`, `(SELECT …) AS t`.
    alias : str
        The name that expressions may qualify columns of the input with.
    hidden : Sequence of str
        Columns of the input that expressions may read, and that are not shown.
    """

    connection: duckdb.DuckDBPyConnection
    source: str
    alias: str
    match: n.MatchRecognize
    hidden: Sequence[str] = ()
    _known: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.connection.execute(
            f"CREATE OR REPLACE TEMP TABLE {_ROWS} AS SELECT row_number() OVER () - 1 AS {NUMBER}, * FROM {self.source}"
        )

    @cached_property
    def columns(self) -> list[str]:
        """Those of the input that are shown."""
        found = [name for name, *_ in self.connection.execute(f"DESCRIBE {_ROWS}").fetchall()]
        return [name for name in found[1:] if name not in self.hidden]

    def partitions(self) -> list[list[int]]:
        """The numbers of the rows of each partition, in order. Rows that ORDER BY does not tell apart stay as given."""
        keys = [key_text(key) for key in self.match.partition_by]
        partition = f"rank() OVER (ORDER BY {', '.join(keys)})" if keys else "1"
        order = ", ".join([*map(self._key, self.match.order_by), NUMBER])
        query = f"SELECT {partition}, {NUMBER} FROM {_ROWS} AS {self._alias} ORDER BY 1, {order}"
        found: dict[int, list[int]] = {}
        for group, number in self.connection.execute(query).fetchall():
            found.setdefault(group, []).append(number)
        return list(found.values())

    def holds(self, condition: n.Sql, place: Place) -> bool:
        return bool(self._value("coalesce(CAST(({}) AS BOOLEAN), false)", condition, place))

    def within(self, bound: n.Sql, place: Place) -> bool:
        """Whether the current row is less than that long after the first one, by the first key of ORDER BY."""
        time = key_text(self.match.order_by[0])
        first, row = (self._row_value(time, self._number(place, at)) for at in (0, place.current))
        return bool(self._value(f"coalesce({row} < {first} + ({{}}), false)", bound, place))

    def measures(self, place: Place) -> pa.Table:
        """One row: the measures of the match at its current row."""
        terms = _Terms()
        items = [f"{terms.name(each.value)} AS {_quote(each.name)}" for each in self.match.measures]
        return self._arrow(self._over_current(", ".join(items), terms, place))

    def no_measures(self) -> pa.Table:
        """One row: the measures of a row that no match has."""
        nothing = Place(Match(0, 1, ()), -1, ())
        names = ", ".join(f"NULL AS {_quote(each.name)}" for each in self.match.measures)
        empty = self.measures(nothing).schema
        return self._arrow(f"SELECT {names}").cast(empty)

    def row(self, items: Sequence[str], number: int) -> pa.Table | None:
        """One row: these expressions over an input row; None where there are none."""
        if not items:
            return None
        query = f"SELECT {', '.join(items)} FROM {_ROWS} AS {self._alias} WHERE {NUMBER} = {number}"
        return self._arrow(query)

    # Terms as SQL.

    def _term(self, term: n.Term, place: Place) -> str:
        if isinstance(term, n.MatchNumber):
            return f"CAST({place.match.number} AS BIGINT)"
        assert isinstance(term, n.Navigation | n.Aggregate)
        rows = self._rows(term.variable, term.mode, place)
        if isinstance(term, n.Aggregate):
            return self._aggregate(term, rows, place)
        if term.skip >= len(rows):
            return self._row_value(self._inner(term.value, place, None), None)
        at = rows[term.skip if term.end == "FIRST" else -1 - term.skip] + term.step
        return self._row_value(self._inner(term.value, place, at), self._number(place, at))

    def _rows(self, variable: str, mode: n.Mode, place: Place) -> list[int]:
        """The places in the match of the rows that are mapped to a variable."""
        members = self.match.members(variable)
        known = place.match.mapped if mode == "FINAL" else place.match.mapped[: place.current + 1]
        return [at for at, mapped in enumerate(known) if mapped.variable in members]

    def _aggregate(self, term: n.Aggregate, rows: Sequence[int], place: Place) -> str:
        numbers = [self._number(place, at) for at in rows]
        labels = [_text_literal(place.match.mapped[at].variable) for at in rows]
        listed = (
            f'SELECT unnest({numbers}::BIGINT[]) AS {NUMBER}, unnest([{", ".join(labels)}]::VARCHAR[]) AS "#label",'
            f' unnest({list(range(len(rows)))}::BIGINT[]) AS "#order"'
        )
        call = term.call.render(
            lambda inner: '"#label"' if isinstance(inner, n.Classifier) else self._term(inner, place)
        )
        ordered = f'SELECT * FROM {_ROWS} JOIN ({listed}) USING ({NUMBER}) ORDER BY "#order"'
        return f"(SELECT {call} FROM ({ordered}) AS {self._alias})"

    def _inner(self, value: n.Sql, place: Place, at: int | None) -> str:
        """An expression that a navigation reads at a place, where the match may have classified the row."""
        known = place.match.mapped
        label = _text_literal(known[at].variable) if at is not None and 0 <= at < len(known) else "NULL"
        return value.render(
            lambda inner: f"CAST({label} AS VARCHAR)" if isinstance(inner, n.Classifier) else self._term(inner, place)
        )

    def _row_value(self, expression: str, number: int | None) -> str:
        where = "false" if number is None else f"{NUMBER} = {number}"
        return f"(SELECT {expression} FROM {_ROWS} AS {self._alias} WHERE {where})"

    def _number(self, place: Place, at: int) -> int | None:
        """The number of the row at a place, which may lie outside the match, but not outside the partition."""
        index = place.match.start + at
        return place.partition[index] if 0 <= index < len(place.partition) else None

    def _key(self, key: n.Key) -> str:
        nulls = f" NULLS {key.nulls}" if key.nulls else ""
        return f"{key_text(key)}{' DESC' if key.descending else ''}{nulls}"

    # Queries.

    def _value(self, form: str, value: n.Sql, place: Place) -> Any:
        terms = _Terms()
        query = self._over_current(form.format(terms.name(value)), terms, place)
        if query not in self._known:
            [[self._known[query]]] = self.connection.execute(query).fetchall()
        return self._known[query]

    def _arrow(self, query: str) -> pa.Table:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a copy
            return self.connection.execute(query).to_arrow_table()

    def _over_current(self, items: str, terms: _Terms, place: Place) -> str:
        """The columns of the current row by their names, all NULL where there is none, and those of the terms."""
        number = self._number(place, place.current) if place.current >= 0 else None
        where = "false" if number is None else f"{NUMBER} = {number}"
        given = [f"{self._term(term, place)} AS {name}" for term, name in terms.names.items()]
        return (
            f'SELECT {items} FROM (SELECT {", ".join([*given, "1"])}) AS "#terms"'
            f" LEFT JOIN (SELECT * FROM {_ROWS} WHERE {where}) AS {self._alias} ON true"
        )

    @property
    def _alias(self) -> str:
        return _quote(self.alias)


@dataclass
class _Terms:
    """Terms by the names of the columns that hold their values."""

    names: dict[n.Term, str] = field(default_factory=dict)

    def name(self, value: n.Sql) -> str:
        """The text of an expression with those names in it."""
        return value.render(lambda term: self.names.setdefault(term, f'"#{len(self.names)}"'))


def key_text(key: n.Key) -> str:
    return _plain(key.value)


def _plain(value: n.Sql) -> str:
    """The text of an expression over the columns of a row alone, which holds no terms."""
    return "".join(part for part in value.parts if isinstance(part, str))


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text_literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
