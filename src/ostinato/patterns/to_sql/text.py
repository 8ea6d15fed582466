"""The MATCH_RECOGNIZE that finds the same as a query, for `explain`; as text alone, for SQL is another language.

SQL gives one match for each row that begins one, the preferred match, and CEL gives all. They agree where the query
cannot have two matches that begin with one event: the rows of a match follow each other, and none is the beginning of
another; or each `->` takes the first event that fits.
"""

from __future__ import annotations

from datetime import datetime

from ostinato.core.expressions import Attribute, Call, Expr, Literal, variables
from ostinato.core.window_clause import Window
from ostinato.patterns.syntax import nodes as n
from ostinato.patterns.to_sql.differs import Differs
from ostinato.patterns.to_sql.names import quoted
from ostinato.patterns.to_sql.pattern import Pattern, Row, read_pattern

_SIGNS = {"=": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


def sql_text(query: n.Query) -> str | None:
    """The SQL with a row for each match, over the table `events`; None where SQL would find something else."""
    try:
        return "\n".join(_lines(query))
    except Differs:
        return None


def _lines(query: n.Query) -> list[str]:
    if query.language != "cel" or query.relations or query.limit or query.timeout:
        raise Differs
    pattern = read_pattern(query.formula, strict=query.strategy == "STRICT")
    skip = _skip(query, pattern)
    defined = []
    for row in pattern.rows:
        tests = _tests(pattern, row, row.tests)
        if query.window is not None and row in pattern.last:
            tests.append(_within(query.window))
        defined += [f"{row.name} AS {' AND '.join(tests)}"] if tests else []
    for name, row in pattern.gaps:
        defined.append(f"{name} AS ({' AND '.join(_tests(pattern, row, row.fitting))}) IS NOT TRUE")
    keys = f"PARTITION BY {', '.join(map(quoted, query.partition_by))} " if query.partition_by else ""
    shown, measures = "*", ["FIRST(ts) AS start", 'LAST(ts) AS "end"']
    if query.items is not None:
        names = [name.lower() for name in (*query.partition_by, *(item.name for item in query.items))]
        if len(set(names)) < len(names):
            raise Differs  # in SQL they are one
        shown = ", ".join(quoted(item.name) for item in query.items)
        measures = [f"{_measure(pattern, item.expr)} AS {quoted(item.name)}" for item in query.items]
        _check_told_apart(pattern, query.items)
    lines = [
        f"SELECT {shown} FROM events MATCH_RECOGNIZE (",
        f"    {keys}ORDER BY ts MEASURES {', '.join(measures)}",
        f"    AFTER MATCH SKIP {skip} PATTERN ({pattern.text})",
    ]
    if defined:
        lines.append("    DEFINE " + ",\n        ".join(defined))
    return [*lines[:-1], f"{lines[-1]})"]


def _check_told_apart(pattern: Pattern, items: tuple[n.Item, ...]) -> None:
    """Each match gives one row where items name the event that it begins with, and its events have their names in one
    way only."""
    named = frozenset().union(*(variables(item.expr) for item in items))
    if not pattern.one_way or any(row.event.variable not in named or row.loops for row in pattern.first):
        raise Differs


def _measure(pattern: Pattern, expr: Expr) -> str:
    """An attribute of one event: in a loop, of the first or the last."""
    end = expr.op if isinstance(expr, Call) and expr.op in ("first", "last") else None
    of = expr.args[0] if isinstance(expr, Call) and end else expr
    if type(of) is not Attribute:
        raise Differs
    row = pattern.owner(of.variable)
    if bool(row.loops) != (end is not None):
        raise Differs  # a list, or no choice
    column = f"{row.name}.{quoted(of.name)}"
    return f"{end.upper()}({column})" if end else column


def _skip(query: n.Query, pattern: Pattern) -> str:
    """Where SQL goes on so that it misses no match of CEL, and no other way round."""
    if query.strategy in ("NXT", "LAST", "MAX") and not pattern.one_per_end:
        raise Differs
    if query.skip is not None:
        forgets, same = False, query.skip.to == "NEXT" and pattern.one_per_end
    else:
        forgets = query.consume != "NONE"
        same = not forgets or (pattern.one_per_end and (query.consume == "PARTITION" or not query.partition_by))
    if not same or not pattern.one_per_start:
        raise Differs
    return "PAST LAST ROW" if forgets else "TO NEXT ROW"


def _within(window: Window) -> str:
    """The condition of the last row of a match. (SQL's WITHIN leaves out what is exactly so far apart.)"""
    if window.kind == "events":
        return f"count(*) <= {window.amount}"
    if window.kind != "time" or window.amount % 1000:
        raise Differs
    seconds, rest = divmod(int(window.amount), 10**9)
    amount = f"'{seconds * 10**6 + rest // 1000}' MICROSECOND" if rest else f"'{seconds}' SECOND"
    return f"ts <= FIRST(ts) + INTERVAL {amount}"


def _tests(pattern: Pattern, row: Row, tests: list[Expr]) -> list[str]:
    """The type and the conditions of a row."""
    kind = [] if row.event.relation is None else [f"type = {_literal(row.event.relation)}"]
    return kind + [_text(pattern, row, test) for test in tests]


def _text(pattern: Pattern, row: Row, expr: Expr) -> str:
    if isinstance(expr, Literal):
        return _literal(expr.value)
    if type(expr) is Attribute:
        if expr.variable == row.event.variable:
            return quoted(expr.name)
        return f"{pattern.owner(expr.variable).name}.{quoted(expr.name)}"
    if not isinstance(expr, Call):
        raise Differs
    if expr.op == "prev":
        (term,) = expr.args
        if type(term) is not Attribute or not row.is_round or term.variable != row.event.variable:
            raise Differs
        return f"LAST({row.name}.{quoted(term.name)}, 1)"
    args = [_text(pattern, row, each) for each in expr.args]
    if expr.op in ("and", "or"):
        return f"({f' {expr.op.upper()} '.join(args)})"
    if expr.op == "not":
        return f"(NOT {args[0]})"
    if any(isinstance(each, Call) and each.op != "prev" for each in expr.args):
        raise Differs  # computed values, whose types differ
    if expr.op in _SIGNS:
        return f"{args[0]} {_SIGNS[expr.op]} {args[1]}"
    if expr.op == "in":
        return f"{args[0]} IN ({', '.join(args[1:])})"
    if expr.op == "is_null":
        return f"({args[0]} IS NULL)"
    raise Differs


def _literal(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: "NULL", True: "TRUE", False: "FALSE"}[value]
    if isinstance(value, int) and abs(value) < 1 << 31:
        return str(value)
    if isinstance(value, str) and "\0" not in value and not _is_time(value):
        doubled = value.replace("'", "''")
        return f"'{doubled}'"
    raise Differs


def _is_time(text: str) -> bool:
    """Whether it may be compared with times, which each language reads in its own way."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
