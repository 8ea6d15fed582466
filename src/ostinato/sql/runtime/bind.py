"""Whether the expressions of a clause fit the columns that it reads, before any row is: names and types.

DuckDB binds each of them by itself, without running it, so that an error has its place.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import duckdb
import pyarrow as pa

from ostinato.errors import DataError, QueryError
from ostinato.sql.runtime.connect import fetch
from ostinato.sql.runtime.errors import binding_error, quote
from ostinato.sql.runtime.source import Source
from ostinato.sql.syntax import nodes as n
from ostinato.sql.syntax.columns import column_names

_OWN_NAME = re.compile(r"#(\d+|(term|shift|match)\d+|label|number|group|there|nothing)|@\d+", re.IGNORECASE)
# Types whose values are neither true nor false, nor become so by a cast.
_NEVER_TRUE = ("DATE", "TIME", "INTERVAL", "STRUCT", "MAP", "UNION", "BLOB", "BIT", "UUID")


def bind(match: n.MatchRecognize, source: Source, text: str) -> None:
    """Raise QueryError for the first expression that does not fit."""
    # What is wrong with the input is no fault of an expression.
    columns = _schema(source)
    _check_own_names(columns.names)
    if source.joined:
        _check_ambiguous(match, columns, source, text)
    if _fits(match, source):
        return
    for key in (*match.partition_by, *match.order_by):
        _bind(match, key.value, source, text)
    for definition in match.definitions:
        kind = _bind(match, definition.condition, source, text)
        if _is_never_true(kind):
            reason = f"the condition of {definition.name} is {kind}, not true or false"
            fix = "compare it with something, such as price > 10"
            raise QueryError(reason, text=text, span=definition.condition.span, fix=fix)
    if match.within is not None:
        _bind_within(match, match.within, source, text)
    for place, measure in enumerate(match.measures):
        _bind(match, measure.value, source, text, match.measures[:place])


def _schema(source: Source) -> pa.Schema:
    return fetch(source.connection, f"SELECT * FROM {source.text} LIMIT 0").schema


def _check_own_names(columns: Sequence[str]) -> None:
    """No column has a name that terms and programs have while they are computed."""
    for name in columns:
        if _OWN_NAME.fullmatch(name):
            fix = f"rename it in a subquery: FROM (SELECT {quote(name)} AS other, … FROM ticks) MATCH_RECOGNIZE (…)"
            raise DataError(f"MATCH_RECOGNIZE has uses of its own for the name {quote(name)}", fix=fix)


def _columns(source: Source) -> list[str]:
    """The columns that expressions may name."""
    return [name for name in _schema(source).names if name not in source.joined]


def _fits(match: n.MatchRecognize, source: Source) -> bool:
    """Whether all of them fit, asked at once: which one does not is only asked where there is one."""
    conditions = [each.condition for each in match.definitions]
    keys = [key.value for key in (*match.partition_by, *match.order_by)]
    within = [] if match.within is None else [_later(match, match.within)]
    unnamed = [(value, f"#{place}") for place, value in enumerate((*conditions, *keys, *within))]
    try:
        kinds = _describe([*unnamed, *((each.value, each.name) for each in match.measures)], source)
    except duckdb.Error:
        return False
    return not any(map(_is_never_true, kinds[: len(conditions)]))


def _is_never_true(kind: str) -> bool:
    return kind.endswith("[]") or kind.startswith(_NEVER_TRUE)


def _check_ambiguous(match: n.MatchRecognize, columns: pa.Schema, source: Source, text: str) -> None:
    """Columns that several tables of a join have are named with their table, unless USING made them one."""
    fields = Counter(field.name.lower() for table in source.joined for field in columns.field(table).type)
    shown = {name.lower() for name in columns.names}
    several = {name for name, count in fields.items() if count > 1 and f"{name}_1" in shown}  # as DuckDB renames them
    for value in _values(match) if several else ():
        for name in column_names(_plain_text(value)):
            if name in several:
                reason = f"`{name}` is a column of several tables"
                raise QueryError(reason, text=text, span=value.span, fix=f"write {source.joined[0]}.{name}")


def _values(match: n.MatchRecognize) -> list[n.Sql]:
    keys = [key.value for key in (*match.partition_by, *match.order_by)]
    return [*keys, *(each.condition for each in match.definitions), *(each.value for each in match.measures)]


def _plain_text(value: n.Sql) -> str:
    """With what the terms read in their places."""
    return value.render(
        lambda term: (
            f"({_plain_text(term.value if isinstance(term, n.Navigation) else term.call)})"
            if isinstance(term, n.Navigation | n.Aggregate)
            else "NULL"
        )
    )


def _bind_within(match: n.MatchRecognize, length: n.Sql, source: Source, text: str) -> None:
    """The length is one that can be added to a time."""
    time = match.order_by[0].value
    kinds = _bind(match, time, source, text), _bind(match, length, source, text)
    try:
        _bind(match, _later(match, length), source, text)
    except QueryError:
        reason = f"WITHIN {kinds[1]} cannot be added to the time, which is {kinds[0]}"
        fix = "give INTERVAL '10' MINUTE for timestamps, and a number for numbers"
        raise QueryError(reason, text=text, span=length.span, fix=fix) from None


def _later(match: n.MatchRecognize, length: n.Sql) -> n.Sql:
    time = match.order_by[0].value
    return n.Sql(("(", *time.parts, ") + (", *length.parts, ")"), length.span)


def _bind(match: n.MatchRecognize, value: n.Sql, source: Source, text: str, known: Sequence[n.Measure] = ()) -> str:
    """The type of an expression; `known` are the measures before it, which it may name."""
    try:
        return _describe([*((each.value, each.name) for each in known), (value, "#value")], source)[-1]
    except (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException) as error:
        columns = [*_columns(source), *(each.name for each in known)]
        raise binding_error(text, str(error), value.span, match.variables, columns) from None


def _describe(items: Sequence[tuple[n.Sql, str]], source: Source) -> list[str]:
    """The types of expressions, as columns of these names."""
    columns: dict[n.Term, str] = {}

    def name(term: n.Term) -> str:
        return columns.setdefault(term, f'"#term{len(columns)}"')

    written = [f"({value.render(name)}) AS {quote(column)}" for value, column in items]
    alias = quote(source.alias)
    terms = [f"{_term(term, source, alias)} AS {column}" for term, column in columns.items()]
    query = (
        f'DESCRIBE SELECT {", ".join(written)} FROM (SELECT {", ".join([*terms, "1"])}) AS "#terms",'
        f" (SELECT * FROM {source.text}) AS {alias}"
    )
    return [str(kind) for _, kind, *_ in source.connection.execute(query).fetchall()]


def _term(term: n.Term, source: Source, alias: str) -> str:
    """A column of the type of a term."""
    if isinstance(term, n.MatchNumber):
        return "CAST(NULL AS BIGINT)"
    if isinstance(term, n.Classifier):
        return "CAST(NULL AS VARCHAR)"
    inner = term.value if isinstance(term, n.Navigation) else term.call
    written = inner.render(lambda each: _term(each, source, alias))
    return f"(SELECT {written} FROM (SELECT * FROM {source.text}) AS {alias})"
