"""Nodes back to CEL text, which parses to the same nodes."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.core import expressions as ex
from ostinato.core.casts import CAST_TYPES
from ostinato.core.conditions import Condition
from ostinato.core.expressions import Expr
from ostinato.core.units import UNITS
from ostinato.core.window_clause import Window
from ostinato.errors import QueryError
from ostinato.patterns.syntax import format
from ostinato.patterns.syntax import nodes as n
from ostinato.patterns.syntax.cel.groups import take_groups
from ostinato.patterns.syntax.cel.parse import parse
from ostinato.patterns.syntax.nodes import Formula
from support.cel_text import predicate

SECOND = 1_000_000_000


names_ = st.sampled_from(
    [
        *("x", "y", "z1", "last", "events", "filter", "Not", "odd name", "ä", "1st"),
        *("rlike", "minutes", "s", "case", "when", "cast", "distinct"),
    ]
)
literals = st.one_of(
    st.integers(-(2**63) + 1, 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.none(),
    st.text(st.characters(codec="utf-8"), max_size=5),
    st.datetimes(),
    st.builds(ex.Duration, st.integers(-(2**63) + 1, 2**63 - 1)),
    st.builds(ex.Duration, st.sampled_from(sorted(UNITS.values()))),
).map(ex.Literal)
attributes = st.builds(ex.Attribute, names_, names_)
fields = st.builds(
    lambda whole, names: reduce(lambda part, name: ex.Call(ex.FIELD, (part, ex.Literal(name))), names, whole),
    attributes,
    st.lists(names_, max_size=2),
)


def compound(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    def calls(ops: tuple[str, ...], least: int, most: int) -> st.SearchStrategy[ex.Call]:
        return st.builds(ex.Call, st.sampled_from(ops), st.lists(inner, min_size=least, max_size=most).map(tuple))

    return st.one_of(
        calls(("=", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "like", "rlike"), 2, 2),
        calls(("not", "is_null", "is_true", "abs", "lower"), 1, 1),
        calls(("neg",), 1, 1).filter(lambda call: not isinstance(call.args[0], ex.Literal)),
        calls(("concat", "coalesce"), 1, 3),
        calls(("case",), 3, 3),
        calls(("case",), 5, 5),
        st.builds(
            lambda op, arg, kind: ex.Call(op, (arg, ex.Literal(kind))),
            st.sampled_from(ex.CASTS),
            inner,
            st.sampled_from(CAST_TYPES),
        ),
        calls(("in",), 2, 4),
        # The parser makes one flat call of a AND b AND c.
        *(
            calls((op,), 2, 3).filter(
                lambda call: all(not isinstance(arg, ex.Call) or arg.op != call.op for arg in call.args)
            )
            for op in ("and", "or")
        ),
    )


exprs = st.recursive(literals | fields, compound, max_leaves=8)
events = st.builds(n.Event, names_ | st.none(), names_)


links = st.sampled_from([";", "->", ":"])
absences = st.builds(n.Absent, events, exprs | st.none())
stops = st.lists(absences, max_size=2).map(tuple)


def composed(inner: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    parts = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        st.builds(n.Filter, inner, exprs).filter(lambda formula: not isinstance(formula.body, n.Absent)),
        st.builds(n.Or, parts),
        st.builds(n.And, parts, st.booleans()),
        st.builds(n.Sequence, parts, links),
        st.builds(n.Optional, inner),
        st.builds(n.Repeat, inner, links, st.just(1), st.none(), stops),
        st.builds(n.Repeat, inner, links, st.integers(1, 3), st.integers(3, 5) | st.none(), stops),
    )


formulas = st.recursive(events | absences, composed, max_leaves=6)
aggregates = st.one_of(
    st.builds(
        lambda op, arg: ex.Call(op, (arg,)), st.sampled_from(["sum", "first", "last", "max", ex.COUNT_DISTINCT]), fields
    ),
    st.builds(lambda name: ex.Call("count", (ex.Variable(name),)), names_),
)
items = st.lists(
    st.builds(n.Item, st.builds(ex.Variable, names_) | aggregates | exprs, st.sampled_from(["c1", "select", "x"])),
    min_size=1,
    max_size=3,
    unique_by=lambda item: item.name,
).map(tuple)
windows = st.one_of(
    st.builds(Window, st.just("events"), st.integers(1, 2**63 - 1)),
    st.builds(Window, st.just("time"), st.integers(0, 2**63 - 1) | st.sampled_from(sorted(UNITS.values()))),
    st.builds(Window, st.just("attribute"), st.integers(0, 99) | st.floats(0.001, 1e300), names_),
)
queries = st.builds(
    n.Query,
    formulas,
    st.sampled_from(["ALL", "STRICT", "NXT", "LAST", "MAX"]),
    items | st.none(),
    st.lists(names_, max_size=2, unique=True).map(tuple),
    st.lists(names_, max_size=2, unique=True).map(tuple),
    windows | st.none(),
    st.sampled_from(["NONE", "PARTITION", "ANY"]),
)


def starts_with_a_bracket(query: n.Query) -> bool:
    return query.items is not None and ex.to_text(query.items[0].expr).startswith("(")


@st.composite
def with_a_group(draw: st.DrawFn, drawn: st.SearchStrategy[n.Query]) -> n.Query:
    query = draw(drawn)
    part = draw(st.sampled_from(list(n.subformulas(query.formula))))
    group = n.Group(part, "group 1")

    def name(formula: Formula) -> Formula:
        return group if formula is part else n.rebuild(formula, name)

    try:
        formula, groups = take_groups(name(query.formula))
    except QueryError:  # a variable of it is used elsewhere as well
        return query
    return replace(query, formula=formula, groups=groups)


# `SELECT MAX (x.v + 1) * 2` is the function max, so the strategy cannot stand before a bracket.
@given(
    with_a_group(queries).filter(
        lambda query: query.strategy not in ("LAST", "MAX") or not starts_with_a_bracket(query)
    )
)
def test_round_trip(query: n.Query) -> None:
    assert parse(format.to_text(query)) == query
    assert parse(format.pretty_print(query)) == query


@given(exprs)
def test_round_trip_of_predicates(expr: Expr) -> None:
    assert predicate(ex.to_text(expr)) == expr


# In x[…] the name before a dot is a variable, so that fields of nested data cannot be written there.
@given(st.recursive(literals | attributes, compound, max_leaves=8))
def test_round_trip_of_conditions(expr: Expr) -> None:
    """`explain` shows what a transition asks as one condition; read as x[…] it is the same one."""
    type_test = ex.Call("=", (ex.Attribute("x", "type"), ex.Attribute("x", "B")))
    own = ex.transform(expr, lambda node: replace(node, variable="x") if isinstance(node, ex.Attribute) else node)
    parts = own.args if isinstance(own, ex.Call) and own.op == "and" else (own,)
    assert predicate(f"x[{Condition('B', ex.rename_to_current(expr))}]") == ex.Call("and", (type_test, *parts))
    assert predicate(f"x[{Condition(None, ex.rename_to_current(expr))}]") == own


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[ (A AS a) ; ((B))+ ]", "A AS a ; B+"),
        ("(A AS a)+", "(A AS a)+"),
        ("(A OR B) ; C : (D ; E)", "(A OR B) ; C : (D ; E)"),
        ("A OR (B ; C)", "A OR B ; C"),
        ("(A AS a ; B AS b) FILTER (a.v > 1) AND NOT (b.v = 2 OR b.w = 3)", None),
        ("A ; (NOT B AS b FILTER b.v > 1) ; NOT C ; D", "A ; (NOT B AS b FILTER b.v > 1) ; NOT C ; D"),
        ("SELECT ALL * WHERE A", "A"),
        ("SELECT x.v AS v, x.w AS u WHERE A AS x", "SELECT x.v, x.w AS u WHERE A AS x"),
        ("SELECT LAST * FROM A WHERE A WITHIN 90 s", "SELECT LAST * FROM A WHERE A WITHIN 90 seconds"),
        ("A WITHIN 60 min PARTITION BY k CONSUME BY ANY", "A PARTITION BY k WITHIN 1 hour CONSUME BY ANY"),
        ("A WITHIN 1.5 h", "A WITHIN 90 minutes"),
        ("A CONSUME BY NONE", "A"),
        ("SELECT FIRST * WHERE A", "A LIMIT 1"),
        ("A after match skip past last row", "A CONSUME BY PARTITION"),
        ("A AFTER MATCH SKIP TO NEXT LIMIT 2", "A AFTER MATCH SKIP TO NEXT ROW LIMIT 2"),
        ("A AS x AFTER MATCH SKIP TO  FIRST x", "A AS x AFTER MATCH SKIP TO FIRST x"),
        ("after AS skip ; match AS to", "after AS skip ; match AS to"),
        ("A LIMIT 03 WITHIN 2 s", "A WITHIN 2 seconds LIMIT 3"),
        ("SELECT FIRST MAX first(x.v) WHERE A AS x", "SELECT MAX first(x).v WHERE A AS x LIMIT 1"),
        (
            "SELECT first (x.v), limit.v WHERE first AS x ; limit AS limit",
            "SELECT first(x).v, limit.v WHERE first AS x ; limit AS limit",
        ),
        ("A AS a FILTER (a.v > 1) = TRUE AND (a.v IS NULL) IS NULL", None),
        ("A AS a FILTER 1 - (2 - 3) - 4 = -(-a.v)", "A AS a FILTER 1 - (2 - 3) - 4 = -(-a.v)"),
    ],
)
def test_text_has_no_more_brackets_than_needed(before: str, after: str | None) -> None:
    query = parse(before)
    assert parse(format.to_text(query)) == query
    if after is not None:
        assert format.to_text(query) == after


def test_pretty() -> None:
    text = "SELECT MAX x, y.v WHERE (A AS x ; B AS y OR B AS y) FILTER y.v > 1 PARTITION BY k WITHIN 10 minutes"
    assert format.pretty_print(parse(text)).splitlines() == [
        "SELECT MAX x, y.v",
        "WHERE",
        "  A AS x ; B AS y",
        "  OR B AS y",
        "  FILTER y.v > 1",
        "PARTITION BY k",
        "WITHIN 10 minutes",
    ]
