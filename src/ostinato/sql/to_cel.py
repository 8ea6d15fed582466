"""The CEL of a clause, where both find the same: rows right after each other, each compared with constants and with the
rows before it, from every row on."""

from __future__ import annotations

from typing import Any

import sqlglot
from sqlglot import exp

from ostinato.errors import QueryError
from ostinato.sql.runtime.condition_parts import TERM
from ostinato.sql.runtime.input import path_of
from ostinato.sql.syntax import nodes as n

_SIGNS: dict[type[exp.Expression], str] = {
    exp.LT: "<", exp.LTE: "<=", exp.EQ: "=", exp.NEQ: "<>", exp.GT: ">", exp.GTE: ">=",
}  # fmt: skip


class _Differs(Exception):
    """CEL would find something else, or this cannot be told."""


def cel_text(match: n.MatchRecognize) -> str | None:
    """A CEL query with the rows of the clause, over events whose time is its ORDER BY; None where there is none.

    The two agree as long as no time is NULL and no number is NaN, which DuckDB compares in another way.
    """
    from ostinato.patterns.query import CelQuery

    try:
        text = _query(match)
        CelQuery(text)
    except (_Differs, QueryError):
        return None
    return text


def _query(match: n.MatchRecognize) -> str:
    variables = _sequence(match.pattern)
    ends_alone = match.skip.to == "NEXT ROW" or (match.skip.to == "PAST LAST ROW" and len(variables) == 1)
    if not ends_alone or match.rows != "ONE ROW" or match.within is not None or match.subsets or not match.measures:
        raise _Differs
    time = match.order_by[0] if len(match.order_by) == 1 else None
    if time is None or time.descending or time.nulls or len(path_of(time)) != 1:
        raise _Differs
    keys = [path_of(key) for key in match.partition_by]
    if any(len(key) != 1 for key in keys):
        raise _Differs
    shown = [f"{_label(variables[0])}.{_name(key[0])} AS {_name(key[0])}" for key in keys]
    shown += [f"{_measure(measure.value, variables)} AS {_name(measure.name)}" for measure in match.measures]
    conditions = {each.name: each.condition for each in match.definitions}
    tests = [
        test for place, name in enumerate(variables) if name in conditions
        for test in _tests(conditions[name], name, variables[: place + 1])
    ]  # fmt: skip
    text = f"SELECT {', '.join(shown)} WHERE {' : '.join(f'ANY AS {_label(name)}' for name in variables)}"
    text += f" FILTER {' AND '.join(tests)}" if tests else ""
    return text + (f" PARTITION BY {', '.join(_name(key[0]) for key in keys)}" if keys else "")


def _sequence(pattern: n.Pattern) -> list[str]:
    """The variables of a pattern that is one after the other, each once."""
    parts = pattern.parts if isinstance(pattern, n.Sequence) else (pattern,)
    found = [part.name for part in parts if isinstance(part, n.Symbol)]
    if len(found) < len(parts) or len(set(map(str.lower, found))) < len(parts):
        raise _Differs
    return found


def _measure(value: n.Sql, variables: list[str]) -> str:
    terms = [part for part in value.parts if not isinstance(part, str) or part.strip()]
    if len(terms) != 1 or isinstance(terms[0], str):
        raise _Differs
    return _attribute(terms[0], variables)


def _tests(condition: n.Sql, own: str, known: list[str]) -> list[str]:
    """What must hold together."""
    terms = condition.terms
    text = condition.render(lambda term: f'"#{terms.index(term)}"')
    try:
        waiting: list[Any] = [sqlglot.parse_one(text, read="duckdb")]
    except sqlglot.errors.SqlglotError:
        raise _Differs from None
    found = []
    while waiting:
        node = waiting.pop(0).unnest()
        if isinstance(node, exp.And):
            waiting = [node.this, node.expression, *waiting]
        elif type(node) in _SIGNS:
            left, right = (_operand(side.unnest(), terms, own, known) for side in (node.this, node.expression))
            found.append(f"{left} {_SIGNS[type(node)]} {right}")
        else:
            raise _Differs
    return found


def _operand(node: Any, terms: tuple[n.Term, ...], own: str, known: list[str]) -> str:
    if isinstance(node, exp.Literal) and not node.is_string and node.this.isdecimal():
        return str(node.this)
    if isinstance(node, exp.Column) and not node.table:
        named = TERM.fullmatch(f'"{node.name}"')
        return _attribute(terms[int(named[1])], known) if named else f"{_label(own)}.{_name(node.name)}"
    raise _Differs


def _attribute(term: n.Term, known: list[str]) -> str:
    """`A.price`, of a variable that has one row."""
    if not isinstance(term, n.Navigation) or term.variable not in known or term.skip or term.step:
        raise _Differs
    column = "".join(part for part in term.value.parts if isinstance(part, str)).strip()
    if term.value.terms:
        raise _Differs
    return f"{_label(term.variable)}.{_name(column)}"


def _label(variable: str) -> str:
    return _name(variable.lower())


def _name(name: str) -> str:
    if not name.isidentifier():
        raise _Differs
    return name
