"""CEL text to nodes: the grammar, spans, and what is desugared."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import UTC, datetime
from importlib.resources import files

import pytest

from ostinato.core import expressions as ex
from ostinato.core.expressions import Expr
from ostinato.core.units import UNITS, parse_duration
from ostinato.core.window_clause import Window
from ostinato.errors import QueryError
from ostinato.patterns.syntax import nodes as n
from ostinato.patterns.syntax.cel.parse import parse
from ostinato.patterns.syntax.nodes import Formula
from support.cel_text import predicate

A, B, C = n.Event("A", "a"), n.Event("B", "b"), n.Event("C", "c")
SECOND = 1_000_000_000


def attr(variable: str, name: str = "v") -> ex.Attribute:
    return ex.Attribute(variable, name)


def gt(variable: str, value: object = 1) -> ex.Call:
    return ex.Call(">", (attr(variable), ex.Literal(value)))  # type: ignore[arg-type]


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


# Names and lengths --------------------------------------------------------------------------------------------------


def test_groups() -> None:
    query = parse("SELECT g WHERE ((A ; B AS y) AS h : C AS z)+ AS g ; D")
    assert query.formula == parse("((A ; B AS y) : C AS z)+ ; D").formula
    assert query.groups == (("g", ("#1", "y", "z")), ("h", ("#1", "y")))
    assert parse("(A AS x) AS g OR [B AS y] AS g").groups == (("g", ("x", "y")),)


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
