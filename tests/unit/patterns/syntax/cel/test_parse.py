"""CEL text to nodes and back: the grammar, spans, what is desugared, and an error for every slip."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from functools import reduce
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.core import expressions as ex
from ostinato.core.casts import CAST_TYPES
from ostinato.core.conditions import Condition
from ostinato.core.expressions import Expr
from ostinato.core.text.grammar import MAX_DEPTH
from ostinato.core.units import UNITS, parse_duration
from ostinato.core.window_clause import Window
from ostinato.errors import QueryError, Span
from ostinato.patterns.syntax import format
from ostinato.patterns.syntax import nodes as n
from ostinato.patterns.syntax.cel.groups import take_groups
from ostinato.patterns.syntax.cel.parse import parse
from ostinato.patterns.syntax.nodes import Formula

A, B, C = n.Event("A", "a"), n.Event("B", "b"), n.Event("C", "c")
SECOND = 1_000_000_000


def attr(variable: str, name: str = "v") -> ex.Attribute:
    return ex.Attribute(variable, name)


def gt(variable: str, value: object = 1) -> ex.Call:
    return ex.Call(">", (attr(variable), ex.Literal(value)))  # type: ignore[arg-type]


def predicate(text: str) -> Expr:
    formula = parse(f"T AS x FILTER {text}").formula
    assert isinstance(formula, n.Filter)
    return formula.predicate


# Formulas -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("A AS a", A),
        ("A", n.Event("A", "#1")),
        ("ANY AS x", n.Event(None, "x")),
        ("ANY", n.Event(None, "#1")),
        ("`ANY` AS x", n.Event("ANY", "x")),
        ("A ; B AS b ; A", n.Sequence((n.Event("A", "#1"), B, n.Event("A", "#2")))),
        ("`my type` AS `my var`", n.Event("my type", "my var")),
        ("Größe AS ä1", n.Event("Größe", "ä1")),
        (
            "A AS last ; B AS by ; C AS events",
            n.Sequence((n.Event("A", "last"), n.Event("B", "by"), n.Event("C", "events"))),
        ),
        ("A as a;B As b", n.Sequence((A, B))),
        ("[A AS a]", A),
        # Precedence: FILTER, OR, ;, :, then NOT and +.
        ("A AS a OR B AS b ; C AS c", n.Or((A, n.Sequence((B, C))))),
        ("A AS a ; B AS b : C AS c", n.Sequence((A, n.Sequence((B, C), ":")))),
        ("A AS a ; B AS b +", n.Sequence((A, n.Repeat(B)))),
        ("A AS a : B AS b :+", n.Sequence((A, n.Repeat(B, ":")), ":")),
        ("(A AS a)+:+", n.Repeat(n.Repeat(A), ":")),
        # A loop binds tighter than UNTIL, that than NOT, then :, ->, ;, AND, OR and FILTER.
        ("A AS a?", n.Optional(A)),
        ("A AS a*", n.Optional(n.Repeat(A))),
        ("A AS a:*", n.Optional(n.Repeat(A, ":"))),
        ("A AS a{2}", n.Repeat(A, least=2, most=2)),
        ("A AS a{ 2 , }", n.Repeat(A, least=2)),
        ("A AS a->{,3}", n.Optional(n.Repeat(A, "->", most=3))),
        ("A AS a ; B AS b -> C AS c", n.Sequence((A, n.Sequence((B, C), "->")))),
        ("A AS a -> B AS b : C AS c", n.Sequence((A, n.Sequence((B, C), ":")), "->")),
        ("A AS a AND B AS b ; C AS c", n.And((A, n.Sequence((B, C))))),
        ("A AS a AND B AS b OR C AS c", n.Or((n.And((A, B)), C))),
        ("permute (A AS a, B AS b OR C AS c)", n.And((A, n.Or((B, C))), apart=True)),
        ("A AS a+ UNTIL B AS b ; C AS c", n.Sequence((n.Repeat(A, until=(n.Absent(B),)), C))),
        ("A AS a* UNTIL (B AS b OR C AS c)", n.Optional(n.Repeat(A, until=(n.Absent(B), n.Absent(C))))),
        ("until AS a ; permute AS b", n.Sequence((n.Event("until", "a"), n.Event("permute", "b")))),
        ("A AS a OR B AS b FILTER a.v > 1", n.Filter(n.Or((A, B)), gt("a"))),
        ("A AS a ; B AS b FILTER a.v > 1 FILTER b.v > 1", n.Filter(n.Filter(n.Sequence((A, B)), gt("a")), gt("b"))),
        ("A AS a ; (B AS b FILTER b.v > 1)+", n.Sequence((A, n.Repeat(n.Filter(B, gt("b")))))),
        # Brackets are kept as structure, chains are flat.
        ("(A AS a ; B AS b) ; C AS c", n.Sequence((n.Sequence((A, B)), C))),
        ("A AS a OR B AS b OR C AS c", n.Or((A, B, C))),
        ("(A AS a OR B AS b) OR C AS c", n.Or((n.Or((A, B)), C))),
        # NOT.
        ("A AS a ; NOT B AS b ; C AS c", n.Sequence((A, n.Absent(B), C))),
        ("A AS a ; NOT B ; C AS c", n.Sequence((A, n.Absent(n.Event("B", "#1")), C))),
        ("A AS a ; (NOT B AS b FILTER b.v > 1) ; C AS c", n.Sequence((A, n.Absent(B, gt("b")), C))),
        ("A AS a ; NOT (B AS b FILTER b.v > 1) ; C AS c", n.Sequence((A, n.Absent(B, gt("b")), C))),
        (
            "A AS a ; (NOT B AS b FILTER b.v > 1 FILTER b.v > 2) ; C AS c",
            n.Sequence((A, n.Absent(B, ex.Call("and", (gt("b"), gt("b", 2)))), C)),
        ),
    ],
)
def test_formulas(text: str, formula: Formula) -> None:
    assert parse(text) == n.Query(formula)


def test_comments_and_line_ends() -> None:
    text = "-- fires\nA AS a ; -- then\r\n\tB AS b -- the end"
    assert parse(text) == n.Query(n.Sequence((A, B)))
    assert parse(text).text == text


# Predicates ---------------------------------------------------------------------------------------------------------

x, y = attr("x", "a"), attr("x", "b")
ONE, TWO = ex.Literal(1), ex.Literal(2)


@pytest.mark.parametrize(
    ("text", "expr"),
    [
        ("x.a = 1", ex.Call("=", (x, ONE))),
        ("x.a <> 1", ex.Call("!=", (x, ONE))),
        ("x.a != 1", ex.Call("!=", (x, ONE))),
        ("x.a IN (1, 2)", ex.Call("in", (x, ONE, TWO))),
        ("x.a NOT IN (1)", ex.Call("not", (ex.Call("in", (x, ONE)),))),
        ("x.a IN ( 'a,''b' ,'')", ex.Call("in", (x, ex.Literal("a,'b"), ex.Literal("")))),
        ("x.a IN (-1, .5, -2E+3)", ex.Call("in", (x, ex.Literal(-1), ex.Literal(0.5), ex.Literal(-2000.0)))),
        ("x.a IN (1 -- one\n, 2)", ex.Call("in", (x, ONE, TWO))),
        ("x.a IN (1, NULL, x.b)", ex.Call("in", (x, ONE, ex.Literal(None), y))),
        ("x.a BETWEEN 1 AND 2", ex.Call("and", (ex.Call(">=", (x, ONE)), ex.Call("<=", (x, TWO))))),
        (
            "x.a NOT BETWEEN 1 AND 2",
            ex.Call("not", (ex.Call("and", (ex.Call(">=", (x, ONE)), ex.Call("<=", (x, TWO)))),)),
        ),
        ("x.a LIKE 'a%'", ex.Call("like", (x, ex.Literal("a%")))),
        ("x.a NOT LIKE 'a%'", ex.Call("not", (ex.Call("like", (x, ex.Literal("a%"))),))),
        ("x.a IS NULL", ex.Call("is_null", (x,))),
        ("x.a is not null", ex.Call("not", (ex.Call("is_null", (x,)),))),
        ("NOT x.a AND x.b OR TRUE", ex.Call("or", (ex.Call("and", (ex.Call("not", (x,)), y)), ex.Literal(True)))),
        ("NOT x.a = 1", ex.Call("not", (ex.Call("=", (x, ONE)),))),
        ("x.a AND (x.b AND FALSE)", ex.Call("and", (x, y, ex.Literal(False)))),
        ("x.a + 1 * 2 - x.b", ex.Call("-", (ex.Call("+", (x, ex.Call("*", (ONE, TWO)))), y))),
        ("(x.a + 1) % 2 / 1", ex.Call("/", (ex.Call("%", (ex.Call("+", (x, ONE)), TWO)), ONE))),
        ("-x.a - -1", ex.Call("-", (ex.Call("neg", (x,)), ex.Literal(-1)))),
        ("- -1", ex.Literal(1)),
        ("abs(x.a)", ex.Call("abs", (x,))),
        ("ROUND(x.a, 2)", ex.Call("round", (x, TWO))),
        ("Concat(x.a, 'b', x.b)", ex.Call("concat", (x, ex.Literal("b"), y))),
        ("coalesce(x.a, 1)", ex.Call("coalesce", (x, ONE))),
        ("is_true(x.a)", ex.Call("is_true", (x,))),
        ("x[a > 1 AND b = 1]", ex.Call("and", (ex.Call(">", (x, ONE)), ex.Call("=", (y, ONE))))),
        ("x[a = 1] OR x.b", ex.Call("or", (ex.Call("=", (x, ONE)), y))),
        ("x.`odd name` = 1", ex.Call("=", (attr("x", "odd name"), ONE))),
        ("x.filter = x.select", ex.Call("=", (attr("x", "filter"), attr("x", "select")))),
        ("x.timestamp = x.count", ex.Call("=", (attr("x", "timestamp"), attr("x", "count")))),
    ],
)
def test_predicates(text: str, expr: Expr) -> None:
    assert predicate(text) == expr


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("9223372036854775807", 2**63 - 1),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("2E-2", 0.02),
        ("-3", -3),
        ("'it''s'", "it's"),
        ("''", ""),
        ("'-- no comment'", "-- no comment"),
        ("TRUE", True),
        ("false", False),
        ("NULL", None),
        ("TIMESTAMP '2026-01-02 03:04:05.5'", datetime(2026, 1, 2, 3, 4, 5, 500_000)),
        ("timestamp'2026-01-02'", datetime(2026, 1, 2)),
        ("TIMESTAMP '2026-01-02T03:04:05Z'", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
    ],
)
def test_literals(text: str, value: object) -> None:
    literal = predicate(text)
    assert isinstance(literal, ex.Literal)
    assert (literal.value, type(literal.value)) == (value, type(value))


# Queries ------------------------------------------------------------------------------------------------------------


def test_clauses_in_any_order() -> None:
    query = parse("A AS a CONSUME BY partition WITHIN 3 EVENTS PARTITION BY k, `odd key`")
    assert query == n.Query(A, partition_by=("k", "odd key"), window=Window("events", 3), consume="PARTITION")


@pytest.mark.parametrize("strategy", ["ALL", "STRICT", "NXT", "LAST", "MAX"])
def test_select_everything(strategy: str) -> None:
    assert parse(f"SELECT {strategy} * WHERE A AS a") == n.Query(A, strategy)  # type: ignore[arg-type]
    assert parse(f"select {strategy.lower()} * from A, B where A AS a") == n.Query(
        A,
        strategy,  # type: ignore[arg-type]
        relations=("A", "B"),
    )


def names(items: str) -> list[str]:
    query = parse(f"SELECT {items} WHERE A AS x ; (B AS y)+")
    assert query.items is not None
    return [item.name for item in query.items]


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ("x", ["x"]),
        ("x, x.v", ["x", "v"]),
        ("x.v, y.v, x.w", ["x_v", "y_v", "w"]),
        ("x.v AS one, y.v", ["one", "v"]),
        ("x.v AS v, y.v", ["v", "y_v"]),
        ("count(y), sum(y.v), first(y).v, LAST(y.v)", ["count_y", "sum_v", "first_v", "last_v"]),
        ("sum(x.v), sum(y.v)", ["sum_x_v", "sum_y_v"]),
        ("x.v+1, -x.v AS `minus v`", ["x.v + 1", "minus v"]),
        ("MAX max(y.v)", ["max_v"]),
        ("max(y.v) - min(y.v) AS spread", ["spread"]),
    ],
)
def test_names_of_items(items: str, expected: list[str]) -> None:
    assert names(items) == expected


def test_items() -> None:
    query = parse("SELECT LAST x, first(y).v, last(y).v AS z WHERE A AS x ; (B AS y)+")
    assert query.strategy == "LAST"
    assert query.items == (
        n.Item(ex.Variable("x"), "x"),
        n.Item(ex.Call("first", (attr("y"),)), "first_v"),
        n.Item(ex.Call("last", (attr("y"),)), "z"),
    )


def test_words_of_strategies_can_be_variables_and_functions() -> None:
    assert parse("SELECT last, max.v WHERE A AS last ; B AS max").strategy == "ALL"
    assert parse("SELECT max (x.v) WHERE A AS x").strategy == "ALL"
    assert parse("SELECT strict (x.v + 1) * 2 WHERE A AS x").strategy == "STRICT"


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("100 EVENTS", Window("events", 100)),
        ("1 event", Window("events", 1)),
        ("10 minutes", Window("time", 600 * SECOND)),
        ("1.5 s", Window("time", 1_500_000_000)),
        ("2h", Window("time", 7_200 * SECOND)),
        ("1e3 ns", Window("time", 1_000)),
        ("0.1 us", None),
        ("0 seconds", Window("time", 0)),
        ("5 ON n", Window("attribute", 5, "n")),
        ("0 ON n", Window("attribute", 0, "n")),
        ("2.5 ON n", Window("attribute", 2.5, "n")),
    ],
)
def test_windows(text: str, window: Window | None) -> None:
    assert parse(f"A WITHIN {text}").window == (window or Window("time", 100))


@pytest.mark.parametrize("unit", sorted(UNITS))
def test_every_unit(unit: str) -> None:
    assert parse_duration(f"2 {unit}") == 2 * UNITS[unit]
    assert parse(f"A WITHIN 3 {unit.upper()}").window == Window("time", 3 * UNITS[unit])


def test_the_text_of_a_window_is_kept() -> None:
    window = parse("A WITHIN 10\n minutes").window
    assert window is not None
    assert window.text == "10 minutes"


@pytest.mark.parametrize("text", ["", "ten seconds", "10", "-1 s", "10 parsecs", "1 s later", "99999 weeks" * 9])
def test_bad_durations(text: str) -> None:
    with pytest.raises(QueryError):
        parse_duration(text)


# Spans --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["-12, 'it''s',.5e1", "-12, 'it''s' -- a comment\n,.5e1"])
def test_spans_of_constants_in_a_list(text: str) -> None:
    formula = parse(before := f"A AS x FILTER x.v IN ( {text} )").formula
    assert isinstance(formula, n.Filter) and isinstance(formula.predicate, ex.Call)
    spans = [arg.span for arg in formula.predicate.args[1:]]
    assert [before[span.start : span.end] for span in spans] == ["-12", "'it''s'", ".5e1"]


def test_spans_are_exact() -> None:
    text = "SELECT x.v AS w WHERE ( [A AS x] ; (B AS y FILTER y.v IN (1, 2))+ )  FILTER NOT x[v > 3]  WITHIN 10 s"
    query = parse(text)

    def words(node: Formula | Expr | n.Item | Window) -> str:
        return text[node.span.start : node.span.end]

    assert query.items is not None
    assert query.window is not None
    assert [words(item) for item in query.items] == ["x.v AS w"]
    assert words(query.window) == "WITHIN 10 s"
    whole = query.formula
    assert isinstance(whole, n.Filter)
    assert words(whole) == "( [A AS x] ; (B AS y FILTER y.v IN (1, 2))+ )  FILTER NOT x[v > 3]"
    assert [words(node) for node in ex.walk(whole.predicate)] == ["NOT x[v > 3]", "v > 3", "v", "3"]
    sequence = whole.body
    assert words(sequence) == "[A AS x] ; (B AS y FILTER y.v IN (1, 2))+"
    event, repeat = n.children(sequence)
    assert words(event) == "A AS x"
    assert words(repeat) == "(B AS y FILTER y.v IN (1, 2))+"
    (filtered,) = n.children(repeat)
    assert isinstance(filtered, n.Filter)
    assert words(filtered) == "B AS y FILTER y.v IN (1, 2)"
    assert words(filtered.predicate) == "y.v IN (1, 2)"


# Errors -------------------------------------------------------------------------------------------------------------

# text with «» around the place, a part of the reason, a part of the fix
SLIPS = [
    ("«»", "empty", "write a formula"),
    ("«»  -- nothing\n", "empty", "write a formula"),
    ("T «x» ; H y", "found `x`", "T AS x"),
    ("T AS x «H» AS y", "found `H`", "put `;`"),
    ("T «=>» H", "`=>` is not an operator", "write `;`"),
    ("T «|» H", "`|` is not an operator", "write OR"),
    ("T AS x FILTER x.a > 1 «&&» x.b > 1", "`&&` is not an operator", "write AND"),
    ("T AS x FILTER x.a > 1 «&» x.b > 1", "`&` is not an operator", "write AND"),
    ("T «&&» H", "`&&` is not an operator", "write `;` for `and then`, AND for `both`, OR for `either`"),
    ("(T AS x «&» H) ; K", "`&` is not an operator", "write `;` for `and then`, AND for `both`, OR for `either`"),
    ("T «||» H", "`||` is not an operator", "write OR"),
    ("T AS x FILTER x.a > 1 «||» x.b > 1", "`||` is not an operator", "write OR"),
    ("T AS x FILTER x.a «==» 1", "`==` is not an operator", "write ="),
    ("T AS x FILTER x.a «=>» 1", "`=>` is not an operator", ">="),
    ("T AS x FILTER «!»x.a", "`!` is not an operator", "write NOT"),
    ('T AS x FILTER x.a = «"abc"»', "double quotes", "'abc'"),
    ("T AS x FILTER x.a = «“abc”»", "double quotes", "'abc'"),
    ('«"T"» AS x', "double quotes", "`T`"),
    ("T AS x FILTER x.a = «'»abc", "never closed", "end it with '"),
    ("T AS «`»x", "never closed", "end it with `"),
    ("T WITHIN 10«»", "WITHIN 10 has no unit", "WITHIN 10 EVENTS"),
    ("T WITHIN 10 «PARTITION» BY k", "WITHIN 10 has no unit", "WITHIN 10 seconds"),
    ("T WITHIN«»", "expected a number, found the end", "WITHIN 10 seconds"),
    ("T WITHIN «-»5 seconds", "expected a number", "above 0"),
    ("T WITHIN «0» EVENTS", "cannot be 0 events long", "from 1 to"),
    ("T WITHIN «1.5» EVENTS", "cannot be 1.5 events long", "whole number"),
    ("T WITHIN «1e30» EVENTS", "cannot be 1e30 events long", "to 9223372036854775807"),
    ("T WITHIN «99999999999999999999» EVENTS", "cannot be 99999999999999999999 events", "to 9223372036854775807"),
    ("T WITHIN «1e99999999999999999999» EVENTS", "too many digits", "usual size"),
    ("T WITHIN «1e-99999999999999999999» s", "too many digits", "usual size"),
    ("T WITHIN 99999999999999999999 «s»", "longer than 292 years", "shorter"),
    ("T WITHIN 10 «minuts»", "unknown unit `minuts`", "did you mean `minutes`"),
    ("T WITHIN 10 «EVNTS»", "unknown unit `EVNTS`", "did you mean `events`"),
    ("T PARTITION BY k, s«.»a", "PARTITION BY takes columns, not fields", "make s.a a column"),
    ("T WITHIN 5 ON s«.»a", "WITHIN … ON takes columns, not fields", "make s.a a column"),
    ("T AS x FILTER CASE «x».a WHEN 1 THEN TRUE END", "CASE takes conditions", "CASE WHEN x.a = 1"),
    ("T AS x FILTER CAST(x.a AS «integer») = 1", "unknown type `integer`", "write int"),
    ("T AS x FILTER CAST(x.a AS «tex») = 1", "unknown type `tex`", "did you mean `text`"),
    ("SELECT «sum»(DISTINCT x.a) WHERE T AS x", "sum takes no DISTINCT", "count(DISTINCT x.attr)"),
    ("«(T AS x) AS x»", "`x` names both an event and a group", "another name"),
    ("T AS x ; «(T AS x)+ AS g»", "`x` names an event in the group `g` and one outside of it", "different names"),
    ("T ; «(NOT H) AS g» ; K", "`g` names no event", "remove AS g"),
    ("T AS x FILTER x.a < 5 «minuts»", "unknown unit `minuts`", "did you mean `minutes`"),
    ("T AS x FILTER x.a < 5 «months»", "a month has no fixed length", "30 days"),
    ("T AS x FILTER x.a < «0.1» ns", "shorter than a nanosecond", "longer time"),
    ("T WITHIN «0.1» ns", "shorter than a nanosecond", "longer time"),
    ("T WITHIN 99999 «weeks»", "longer than 292 years", "shorter"),
    ("T WITHIN 1e999 «weeks»", "longer than 292 years", "shorter"),
    ("T WITHIN «1e999» ON n", "too large", "1.8e308"),
    ("T PARTITION BY k, «start»", "has a column `start` of its own", "rename the column"),
    ("SELECT LAST * WHERE T PARTITION BY «`end`»", "has a column `end` of its own", "rename the column"),
    ("T PARTITION BY «positions» WITHIN 1 s", "has a column `positions` of its own", "list what to show"),
    ("«(»T AS x ; H AS y", "never closed", "add `)`"),
    ("(T ; «[»H", "never closed", "add `]`"),
    ("T AS x FILTER «(»x.a > 1", "never closed", "add `)`"),
    ("T ; «(»H WITHIN 10 s", "not closed before WITHIN", "before WITHIN"),
    ("(T AS x ; H AS y«]»", "does not close the `(`", "write `)`"),
    ("T AS x «)»", "expected FILTER, a clause such as WITHIN, or the end of the query, found `)`", "remove the `)`"),
    ("T AS x «x».v > 3", "found `x`", "write FILTER before the condition"),
    ("(T AS x ; H AS y) «x».v > 3", "found `x`", "write FILTER before the condition"),
    ("T AS x «WHERE» x.v > 3", "conditions on events come after FILTER", "FILTER instead of WHERE"),
    ("SELECT * «T» AS x", "expected FROM or WHERE", "write WHERE before the formula"),
    ("SELECT x «T» AS x", "found `T`", "write WHERE before the formula"),
    ("SELECT * FROM S «T» AS x", "expected WHERE", "write WHERE before the formula"),
    ("SELECT «WHERE» T", "expected a value", "SELECT x, y.attr WHERE"),
    ("SELECT «NEXT» * WHERE T", "unknown selection strategy `NEXT`", "did you mean `NXT`"),
    ("T WITHIN 1 s «WITHIN 2 s»", "WITHIN is given twice", "keep one"),
    ("T PARTITION BY a «PARTITION BY b»", "PARTITION BY is given twice", "keep one"),
    ("T CONSUME BY ANY «CONSUME BY ANY»", "CONSUME BY is given twice", "keep one"),
    ("T LIMIT 1 «LIMIT 2»", "LIMIT is given twice", "keep one"),
    ("SELECT FIRST * WHERE T «LIMIT 2»", "SELECT FIRST is LIMIT 1", "keep one"),
    ("T LIMIT «0»", "at most 0 matches", "whole number"),
    ("T LIMIT «1.5»", "at most 1.5 matches", "whole number"),
    ("T LIMIT «many»", "expected a number", ""),
    ("SELECT «FIRTS» * WHERE T", "unknown selection strategy `FIRTS`", "did you mean `FIRST`"),
    ("T ; «(»H LIMIT 3", "not closed before LIMIT", "before LIMIT"),
    ("T PARTITION BY a, «a»", "`a` is listed twice", "remove one"),
    ("T PARTITION «a»", "expected BY", "PARTITION BY a"),
    ("T CONSUME «ANY»", "expected BY", "CONSUME BY ANY"),
    ("T CONSUME BY «ANYTHING»", "expected NONE, PARTITION or ANY", "did you mean `ANY`"),
    ("T«.»v > 3", "an attribute cannot stand where an event is expected", "FILTER x.v"),
    ("T AS x FILTER «abss»(x.v) > 3", "unknown function `abss`", "did you mean `abs`"),
    ("T AS x FILTER «abs()» > 3", "abs takes one argument, found none", "abs(x.attr)"),
    ("T AS x FILTER «round(1, 2, 3)» > 3", "round takes one or two arguments, found 3", "round(x.attr)"),
    ("T AS x FILTER «concat()» = ''", "concat takes at least one argument", "concat(x.attr)"),
    ("T AS «filter»", "found the keyword FILTER", "backticks"),
    ("«PARTITION» AS x", "found the keyword PARTITION", "backticks"),
    ("T AS x FILTER «within».v > 3", "found the keyword WITHIN", "backticks"),
    ("T AS x FILTER x[«from» = 3]", "found the keyword FROM", "backticks"),
    ("SELECT * FROM «WHERE» T", "found the keyword WHERE", "backticks"),
    ("T AS x FILTER x.v > 3 «;» H AS y", "FILTER tests everything before it", "(T AS x FILTER x.v > 3) ; H AS y"),
    ("T AS x FILTER x.v > 3 OR H «AS» y", "FILTER tests everything before it", "(T AS x FILTER x.v > 3)"),
    ("(T AS x FILTER x.v > 3 +«)» ; H", "expected a value", "(T AS x FILTER x.v > 3)+"),
    ("T AS x FILTER 1 < x.v «<» 3", "cannot be chained", "BETWEEN"),
    ("T ; H ;«»", "expected an event such as T AS x, found the end of the query", "remove the last `;`"),
    ("(T ; H OR«)»", "expected an event", "remove the last `OR`"),
    ("T «,» H", "found `,`", "write `;`"),
    ("T«{}» ; H", "a number of rounds is missing", "{2,5}"),
    ("T«{2,1}» ; H", "no loop has at least 2 and at most 1 rounds", "{1,2}"),
    ("T«{0}» ; H", "a loop of no rounds", "{0,1}"),
    ("T«{x}» ; H", "a number of rounds is missing", "{2,5}"),
    ("T «{»2", "`{` is not closed", "{2,5}"),
    ("«T» UNTIL H", "UNTIL must follow a loop", "A+ UNTIL B"),
    ("T+ UNTIL («H ; K»)", "UNTIL takes a single event", "A+ UNTIL (B OR C)"),
    ("T AS x FILTER x.d > DATE «'2026-01-01'»", "there is no DATE literal", "TIMESTAMP '2026-01-01'"),
    ("T AS x FILTER x.d > «TIMESTAMP 'soon'»", "not a timestamp", "TIMESTAMP '2026-"),
    ("SELECT count(«*») WHERE T AS x", "found `*`", "count(x)"),
    ("T AS x FILTER x.a IN «1», 2", "expected `(`", "IN (1, 2, 3)"),
    ("T AS x FILTER x.a IS «3»", "expected NULL or NOT NULL", ""),
    ("T AS x FILTER x.a >«»", "expected a value such as x.attr, 3 or 'text', found the end of the query", ""),
    ("T AS x FILTER x.«>» 3", "expected the name of an attribute", ""),
    ("T WITHIN 1 s «FILTER» x.v > 3", "found `FILTER`", "clauses come last"),
    ("T AS x FILTER x.a > «99999999999999999999»", "does not fit in 64 bits", "99999999999999999999.0"),
    ("T AS x FILTER x.a > «1e999»", "too large", "1.8e308"),
    ("SELECT x.a, «x.a» WHERE T AS x", "two SELECT items give a column named `x_a`", "AS another_name"),
    ("SELECT x AS a, «y AS a» WHERE T AS x ; H AS y", "two SELECT items give a column named `a`", "AS another_name"),
    ("SELECT «abs(x.a).b» WHERE T AS x", "only first(x) and last(x)", "first(x).b"),
    ("T ; NOT («NOT H») ; L", "NOT takes a single event", "one NOT per event"),
    ("T ; NOT «NOT H» ; L", "NOT takes a single event", "one NOT per event"),
    ("T ; «;» H", "expected an event such as T AS x, found `;`", ""),
    ("T «@» H", "found `@`", ""),
    ("T ;\n  H «x»\n ; K", "found `x`", "H AS x"),
    ("[price «>» 3]", "found `>`", "looks like SREM: use ost.srem(…), or --language srem"),
    ("«true» -> r . [price > r.price] -- up", "found `true`", "looks like SREM"),
    ("[a] «.» [b]", "an attribute cannot stand", "looks like SREM"),
    ("(«true» | [a > 3])* . [a = 1]\nWITHIN 3 EVENTS", "found `true`", "looks like SREM"),
    ("T ; [x«.»v > 3]", "an attribute cannot stand", "FILTER x.v"),
    ("«EVERY» T", "`EVERY` is not a word of CEL", "leave it out"),
    ("«every» T -> H", "`every` is not a word of CEL", "leave it out"),
    ("T ; H «AFTER» MATCH", "`AFTER` is not a word of CEL", "TO NEXT ROW"),
    ("T ; H AFTER MATCH SKIP «TO» T", "found `TO`", ""),
    ("T AFTER MATCH SKIP PAST LAST ROW «AFTER MATCH SKIP TO NEXT ROW»", "AFTER MATCH SKIP is given twice", "keep one"),
    ("T CONSUME BY ANY «AFTER MATCH SKIP TO NEXT ROW»", "both say what comes after a match", "keep one"),
    ("T «followedBy» H", "`followedBy` is not a word of CEL", "A -> B"),
    ("T «next» H", "`next` is not a word of CEL", "A : B"),
    ("T ; «notNext» H", "`notNext` is not a word of CEL", "A : NOT B"),
    ("T «notNext» H", "`notNext` is not a word of CEL", "A : NOT B"),
    ("T ; «notFollowedBy»(H) ; K", "`notFollowedBy` is not a word of CEL", "A ; NOT B ; C"),
    ("T «followedByAny» H", "`followedByAny` is not a word of CEL", "A ; B"),
    ("T ; H WITHIN 5 s «TIMEOUT»", "`TIMEOUT` is not a clause of CEL", "WITH TIMEOUT ROWS"),
    ("T ; H WITHIN 5 s WITH TIMEOUT «WITH TIMEOUT ROWS»", "WITH TIMEOUT ROWS is given twice", "keep one"),
    ("T«.»oneOrMore()", "`oneOrMore` is not a word of CEL", "A+"),
    ("T«.»times(3)", "`times` is not a word of CEL", "A{3}"),
    ("SELECT * WHERE «PATTERN» (T H+)", "`PATTERN` is not a word of CEL", "conditions after FILTER"),
    ("«MATCH_RECOGNIZE» (PATTERN (T H))", "`MATCH_RECOGNIZE` is not a word of CEL", "conditions after FILTER"),
    ("T ; H «DEFINE» H AS H.v > 3", "`DEFINE` is not a word of CEL", "FILTER b.price > 10"),
    ("«SEQ»(T t, H h)", "`SEQ` is not a word of CEL", "A AS a ; B AS b"),
    ("T ; H «GROUP» BY k", "`GROUP` is not a word of CEL", "PARTITION BY"),
    ("T AS x ; H «AFTER» AS y", "found `AFTER`", ""),
]


@pytest.mark.parametrize(("marked", "reason", "fix"), SLIPS, ids=[slip[0] for slip in SLIPS])
def test_slips(marked: str, reason: str, fix: str) -> None:
    start, end = marked.index("«"), marked.index("»") - 1
    text = marked.replace("«", "").replace("»", "")
    with pytest.raises(QueryError) as caught:
        parse(text)
    error = caught.value
    assert reason in error.reason
    assert fix in (error.fix or "")
    assert error.text == text
    # An empty place is the end of the query: one column past its last character.
    assert error.span == Span(start, max(end, start + 1))


def test_an_error_shows_the_line_with_a_caret() -> None:
    with pytest.raises(QueryError) as caught:
        parse("T AS x ;\nH y")
    assert "   2 | H y\n         ^" in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5_000 + "A" + ")" * 5_000,
        "[" * 5_000,
        "A" + "+" * 5_000,
        "A" + " FILTER TRUE" * 5_000,
        "A AS x FILTER " + "NOT " * 5_000 + "x.v",
        "A AS x FILTER x.v > " + "- " * 5_000 + "x.w",
        "A AS x FILTER x[" + "- " * 5_000 + "v > 1]",
        "A AS x FILTER x.v > 1" + " + 1" * 5_000,
        "SELECT x.v" + " + 1" * 5_000 + " WHERE A AS x",
        "A AS x FILTER " + "abs(" * 5_000 + "x.v" + ")" * 5_000 + " > 1",
    ],
    ids=lambda text: text[:24],
)
def test_very_deep_queries(text: str) -> None:
    with pytest.raises(QueryError, match=f"more than {MAX_DEPTH} levels deep"):
        parse(text)


def test_long_queries() -> None:
    formula = parse(" OR ".join(f"A AS x{index}" for index in range(2_000))).formula
    assert isinstance(formula, n.Or)
    assert len(formula.parts) == 2_000
    tests = predicate(" OR ".join(f"x.v = {index}" for index in range(2_000)))
    assert isinstance(tests, ex.Call)
    assert len(tests.args) == 2_000


def test_the_grammar_and_the_printer_agree_on_reserved_words() -> None:
    grammar = files("ostinato.core.text").joinpath("shared.lark").read_text(encoding="utf-8")
    listed = re.search(r"^NAME: .*\(\?!\(\?:([a-z|]+)\)", grammar, re.MULTILINE)
    assert listed is not None
    assert set(listed[1].split("|")) == ex.RESERVED


def test_durations_have_the_units_of_within() -> None:
    a = ex.Attribute("x", "a")
    for unit, size in UNITS.items():
        assert predicate(f"x.a < 2 {unit}") == ex.Call("<", (a, ex.Literal(ex.Duration(2 * size))))
        assert predicate(f"x.{unit} < 2") == ex.Call("<", (ex.Attribute("x", unit), ex.Literal(2)))
    assert predicate("x.a < -0.5 min") == ex.Call("<", (a, ex.Literal(ex.Duration(-30 * 10**9))))


def test_words_of_expressions_remain_names() -> None:
    query = parse("rlike AS minutes ; s AS rlike FILTER rlike.rlike RLIKE 'a' AND minutes.s = 5")
    assert n.vdef(query.formula) == {"minutes", "rlike"}
    query = parse(
        "SELECT count(distinct), case, end.when WHERE A AS distinct ; B AS case ; cast AS end FILTER end.a = case.b"
    )
    assert n.vdef(query.formula) == {"distinct", "case", "end"}


def test_importing_the_parser_does_not_import_lark() -> None:
    code = "import sys, ostinato.patterns.syntax.cel.parse; sys.exit('lark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# Back to text -------------------------------------------------------------------------------------------------------

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


def test_groups() -> None:
    query = parse("SELECT g WHERE ((A ; B AS y) AS h : C AS z)+ AS g ; D")
    assert query.formula == parse("((A ; B AS y) : C AS z)+ ; D").formula
    assert query.groups == (("g", ("#1", "y", "z")), ("h", ("#1", "y")))
    assert parse("(A AS x) AS g OR [B AS y] AS g").groups == (("g", ("x", "y")),)


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
