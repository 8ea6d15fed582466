"""SQL with MATCH_RECOGNIZE inside of event rules: what such a query may be, and its text as engines run it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import sqlglot
from sqlglot import exp

from ostinato.errors import QueryError, Span
from ostinato.sql.automaton.decided import check_decided
from ostinato.sql.plan import streamable
from ostinato.sql.query import SqlQuery
from ostinato.sql.syntax import nodes as s
from ostinato.sql.syntax.words import words

BEGIN, END = "#begin", "#end"  # columns of rows: when an event began and ended; and of matches: of all their rows
_TIME = "end"  # what ORDER BY may name


@dataclass(frozen=True)
class RowPattern:
    """A query over the events of `label`. `text` orders them by END and shows the times of matches; `columns` are those
    that matches have besides, and `reads` those of events that it reads."""

    text: str
    label: str
    columns: tuple[str, ...]
    reads: frozenset[str]


@lru_cache(maxsize=256)
def read_row_pattern(text: str) -> RowPattern:
    """The query that a text states. Raises QueryError, with its place in it, where a rule cannot have it."""
    query = SqlQuery(text).query
    clause = streamable.check_streamable(query)
    match = clause.match
    if not streamable.reads_table_itself(query):
        raise QueryError("an SQL pattern reads the events of one label", span=clause.input, fix="FROM label …")
    if match.rows != "ONE ROW":
        fix = "leave ALL ROWS PER MATCH out, and collect the rows: while p: collect …"
        raise QueryError("an event of a rule is a match, not each of its rows", span=match.span, fix=fix)
    if len(match.order_by) > 1 or any(_key_text(key) != _TIME for key in match.order_by):
        reason = "events are read in the order of time"
        raise QueryError(reason, span=match.order_by[-1].span, fix=f"leave ORDER BY out, or write ORDER BY {_TIME}")
    check_decided(match)
    outer = _outer_select(query)
    own = [_column_name(key) for key in match.partition_by] + [each.name for each in match.measures]
    is_star = outer is None or any(isinstance(each, exp.Star) or each.is_star for each in outer.expressions)
    shown = [] if outer is None else [each.alias_or_name for each in outer.expressions if not each.is_star]
    columns = tuple(dict.fromkeys([*(own if is_star else []), *shown]))
    values = [key.value for key in match.partition_by] + [each.value for each in match.measures]
    values += [each.condition for each in match.definitions]
    reads = frozenset().union(*map(_columns, values))
    return RowPattern(_with_times(query, clause, is_star), streamable.table_name(query), columns, reads)


def _columns(value: s.Sql) -> frozenset[str]:
    """The columns that an expression reads, also inside of its terms."""
    parts: list[s.Sql] = [value]
    found: set[str] = set()
    for part in parts:
        for term in part.terms:
            parts += [term.value] if isinstance(term, s.Navigation) else []
            parts += [term.call] if isinstance(term, s.Aggregate) else []
        tree: Any = sqlglot.parse_one(part.render(lambda term: "NULL"), read="duckdb")
        found |= {column.name for column in tree.find_all(exp.Column)}
    return frozenset(found)


def _outer_select(query: s.Query) -> Any:
    """SELECT around the clause; None where the query is the clause alone."""
    tree: Any = sqlglot.parse_one(streamable.rest_text(query), read="duckdb")
    source = tree.args.get("from_") or tree.args.get("from")
    if source is None or not isinstance(source.this, exp.Table):
        fix = "write SELECT … FROM label MATCH_RECOGNIZE (…)"
        raise QueryError("an SQL pattern has no subqueries", span=query.clauses[0].place, fix=fix)
    return tree if tree.expressions else None


def _with_times(query: s.Query, clause: s.Clause, is_star: bool) -> str:
    """The text, in which rows are ordered by time, and matches have the times of their first and last row."""
    text, match = query.text, clause.match
    times = f'FIRST("{BEGIN}") AS "{BEGIN}", LAST("{END}") AS "{END}"'
    opening = text.index("(", match.span.start) + 1
    after_keys = match.partition_by[-1].span.end if match.partition_by else opening
    edits: list[tuple[Span, str]] = []
    if match.order_by:
        edits.append((match.order_by[0].span, f'"{END}"'))
        after_keys = match.order_by[0].span.end
    ordered = "" if match.order_by else f' ORDER BY "{END}"'
    if match.measures:
        edits.append((Span(match.measures[0].span.start, match.measures[0].span.start), f"{times}, "))
        times = ""
    edits.append((Span(after_keys, after_keys), f"{ordered} {f'MEASURES {times} ' if times else ''}"))
    if not is_star:
        *_, before = (word for word in words(text) if word.keyword == "FROM" and word.end <= clause.place.start)
        edits.append((Span(before.start, before.start), f', "{BEGIN}", "{END}" '))
    for span, written in sorted(edits, key=lambda edit: edit[0].start, reverse=True):
        text = text[: span.start] + written + text[span.end :]
    return text


def _key_text(key: s.Key) -> str:
    return key.value.render(str).strip('" ').lower()


def _column_name(key: s.Key) -> str:
    """The column that a key is, or is called."""
    return words(key.value.render(str))[-1].name
