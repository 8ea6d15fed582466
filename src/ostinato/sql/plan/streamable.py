"""Which queries can run over a stream: one clause, and around it what looks at each row by itself."""

from __future__ import annotations

from typing import Any

import sqlglot
from sqlglot import exp

from ostinato.errors import QueryError, Span
from ostinato.sql.plan.tables import table_names
from ostinato.sql.syntax import nodes as n
from ostinato.sql.syntax.aggregates import AGGREGATES
from ostinato.sql.syntax.words import words

MATCHES = "#match0"  # what stands for the rows of the clause in the query around it
_OF_MANY_ROWS = {
    "joins": "joins tables", "group": "groups rows", "having": "groups rows", "order": "orders rows",
    "limit": "limits how many rows there are", "offset": "leaves rows out by their number", "distinct": "is DISTINCT",
    "qualify": "has window functions", "windows": "has window functions", "with_": "has common table expressions",
    "with": "has common table expressions", "laterals": "joins tables", "sample": "takes a sample",
}  # fmt: skip


def check_streamable(query: n.Query) -> n.Clause:
    """The clause of a query that can run over a stream; QueryError with the reason where it cannot."""
    first = query.clauses[0]
    if len(query.clauses) > 1:
        raise _refuse(query, query.clauses[1].place, "has several clauses", "run the first one, and read its rows")
    _check_key(query, first.match)
    names = table_names(query)
    if len(names) != 1:
        raise _refuse(query, first.input, f"reads {' and '.join(names) or 'no table'}", "join its rows afterwards")
    if first.scopes:
        raise _refuse(query, first.place, "has common table expressions", "write FROM (SELECT …) MATCH_RECOGNIZE (…)")
    inner = next((word for word in words(_clause_text(query, first)) if word.keyword == "SELECT"), None)
    if inner is not None:
        raise _refuse(query, first.match.span, "has a subquery in an expression", "compute it beforehand")
    _check_by_row(query, first.input, f"SELECT * FROM {input_text(query)}")
    text = rest_text(query)
    _check_by_row(query, Span(0, len(query.text)), text)
    return first


def input_text(query: n.Query) -> str:
    """What the clause reads."""
    return query.text[query.clauses[0].input.start : query.clauses[0].input.end]


def table_name(query: n.Query) -> str:
    """The table that it reads."""
    return table_names(query)[0]


def reads_table_itself(query: n.Query) -> bool:
    """Whether the clause reads the rows of its table as they are."""
    found = words(input_text(query))
    return found[0].name.lower() == table_name(query).lower() and all(word.is_name for word in found)


def rest_text(query: n.Query) -> str:
    """The query around the clause, which reads the table MATCHES instead."""
    place = query.clauses[0].place
    return f'{query.text[: place.start]}"{MATCHES}"{query.text[place.end :]}'.strip().rstrip(";")


def is_plain(query: n.Query) -> bool:
    """Whether the query around the clause gives its rows as they are."""
    return [word.text.upper() for word in words(rest_text(query))] in (
        ["SELECT", "*", "FROM", f'"{MATCHES.upper()}"'],
        ["FROM", f'"{MATCHES.upper()}"'],
    )


def _clause_text(query: n.Query, clause: n.Clause) -> str:
    return query.text[clause.match.span.start : clause.match.span.end]


def _check_key(query: n.Query, match: n.MatchRecognize) -> None:
    if match.order_by and match.order_by[0].descending:
        key = match.order_by[0]
        raise _refuse(query, key.span, "orders by time descending", "order by the time, without DESC")


def _check_by_row(query: n.Query, span: Span, text: str) -> None:
    """Only SELECT, FROM and WHERE, of expressions over one row."""
    try:
        tree: Any = sqlglot.parse_one(text, read="duckdb")
    except sqlglot.errors.SqlglotError:
        raise _refuse(query, span, "is not understood around its clause", "write SELECT … FROM … WHERE …") from None
    selects = []
    while isinstance(tree, exp.Select):
        selects.append(tree)
        source = tree.args.get("from_") or tree.args.get("from")
        tree = None if source is None else source.this
        while isinstance(tree, exp.Subquery):
            tree = tree.this
    if not isinstance(tree, exp.Table) or isinstance(tree.this, exp.Func):
        raise _refuse(query, span, "reads more than a table", "write SELECT … FROM … WHERE …")
    for select in selects:
        for name, reason in _OF_MANY_ROWS.items():
            if select.args.get(name):
                raise _refuse(query, _at_keyword(query, span, name), reason, "do that with the rows that it gives")
        named = [*select.expressions, *filter(None, [select.args.get("where")])]
        for node in (each for expression in named for each in expression.walk()):
            if isinstance(node, exp.Window | exp.Query):
                reason = "has window functions" if isinstance(node, exp.Window) else "has a subquery in an expression"
                raise _refuse(query, span, reason, "do that with the rows that it gives")
            if isinstance(node, exp.AggFunc) or (isinstance(node, exp.Anonymous) and node.name.lower() in AGGREGATES):
                raise _refuse(query, span, "aggregates rows", "do that with the rows that it gives")


def _at_keyword(query: n.Query, span: Span, name: str) -> Span:
    """Where a part of the query is written, outside the clause; the whole where no word is named after it."""
    clause, keyword = query.clauses[0].match.span, name.upper().strip("_").removesuffix("S")
    for word in words(query.text):
        inside = clause.start <= word.start < clause.end
        if word.keyword == keyword and span.start <= word.start < span.end and not inside:
            return word.span
    return span


def _refuse(query: n.Query, span: Span, reason: str, fix: str) -> QueryError:
    return QueryError(f"a stream has no end, and this query {reason}", text=query.text, span=span, fix=fix)
