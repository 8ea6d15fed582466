"""Event rules: what their texts mean as nodes, and where the nodes stand in the text."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from ostinato.core.expressions import Call, Expr, Literal, Variable
from ostinato.errors import Span
from ostinato.rules.syntax import nodes as n
from ostinato.rules.syntax.parse import parse
from support import paths

SECOND = 1_000_000_000
VECTOR = paths.VECTORS / "rules.json"
X, Y = Variable("X"), Variable("Y")


def some(label: str, *children: n.QueryTerm) -> n.Element:
    return n.Element(label, children)


def body(text: str) -> n.Body:
    return parse(f"DETECT a {{ }} ON {text} END").rules[0].body


def term(text: str) -> n.ChildQuery:
    query = body(f"event i: e {{ {text} }}")
    assert isinstance(query, n.EventQuery)
    (child,) = query.term.children
    return child


def construct(text: str) -> n.ConstructTerm:
    (child,) = parse(f"DETECT a {{ {text} }} ON event i: e {{{{ }}}} END").rules[0].head.children
    return child


def condition(text: str) -> n.Condition:
    query = body(f"event i: e {{{{ }}}} where {{ {text} }}")
    assert isinstance(query, n.Conjunction)
    (found,) = query.where
    return found


def more(left: Expr, right: int) -> Call:
    return Call(">", (left, Literal(right)))


def test_the_program_of_the_paper() -> None:
    fire, burnt_down, avg_temp = parse(json.loads(VECTOR.read_text(encoding="utf-8"))["program"]).rules
    a, s, t, value = some("area", n.Bind("A")), n.Bind("S"), n.Bind("T"), "value"
    assert fire.head == n.Make("fire", (n.Make("area", (n.Value(Variable("A")),)),))
    assert fire.body == n.Conjunction(
        (n.EventQuery("s", some("smoke", a)), n.EventQuery("t", some("temp", a, some(value, t)))),
        (
            n.Temporal("before", ("s", "t")),
            n.Temporal("within", ("s", "t"), n.Duration(60 * SECOND)),
            n.Data(more(Variable("T"), 40)),
        ),
    )
    assert burnt_down.body == n.Conjunction(
        (
            n.EventQuery("n", some("temp", some("sensor", s), some(value, t))),
            n.RelativeTimer("i", "from-end", "n", n.Duration(12 * SECOND)),
            n.While("i", some("temp", some("sensor", s)), negated=True),
        ),
        (n.Data(more(Variable("T"), 40)),),
    )
    assert avg_temp.head.children[1] == n.Make(value, (n.Aggregate("avg", Variable("T")),))
    assert avg_temp.body == n.Conjunction(
        (
            n.EventQuery("m", some("temp", some("sensor", s))),
            n.RelativeTimer("i", "from-start-backward", "m", n.Duration(60 * SECOND)),
            n.While("i", some("temp", some("sensor", s), some(value, t)), negated=False),
        )
    )
    assert [rule.number for rule in (fire, burnt_down, avg_temp)] == [1, 2, 3]


# Terms ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("b { }", n.Element("b", total=True)),
        ("b {}", n.Element("b", total=True)),
        ("b {{ }}", n.Element("b")),
        ("b {{}}", n.Element("b")),
        ("b [ ]", n.Element("b", total=True, ordered=True)),
        ("b [[ ]]", n.Element("b", ordered=True)),
        ("b {{ var X, c { 1 } }}", some("b", n.Bind("X"), n.Element("c", (n.Const(1),), total=True))),
        ("b {{c {{var X}}}}", some("b", some("c", n.Bind("X")))),
        ("b {c {{var X}}}", n.Element("b", (some("c", n.Bind("X")),), total=True)),
        ("b {{c {var X}}}", some("b", n.Element("c", (n.Bind("X"),), total=True))),
        ("b [[c [var X]]]", n.Element("b", (n.Element("c", (n.Bind("X"),), True, True),), ordered=True)),
        ("40", n.Const(40)),
        ("-1.5", n.Const(-1.5)),
        ("true", n.Const(True)),
        ("FALSE", n.Const(False)),
        ('"it\'s ""so"""', n.Const('it\'s "so"')),
        ("'it''s'", n.Const("it's")),
        ("var X", n.Bind("X")),
        ("var X -> b {{ }}", n.Bind("X", n.Element("b"))),
        ("var X->b{{}}", n.Bind("X", n.Element("b"))),
        ("var `a b` -> 3", n.Bind("a b", n.Const(3))),
        ("desc b {{ }}", n.Desc(n.Element("b"))),
        ("optional var X -> b {{ }}", n.Optional(n.Bind("X", n.Element("b")))),
        ("@id { 1 }", n.Element("@id", (n.Const(1),), total=True)),
        ("a-b.c_d { }", n.Element("a-b.c_d", total=True)),
        ("`x:y ``z``` { }", n.Element("x:y `z`", total=True)),
        ("desc { }", n.Element("desc", total=True)),
        ("var-x [ ]", n.Element("var-x", total=True, ordered=True)),
        ("true {{ }}", n.Element("true")),
        ("timer {{ }}", n.Element("timer")),
    ],
)
def test_query_terms(text: str, meant: n.QueryTerm) -> None:
    assert term(text) == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("b { }", n.Make("b")),
        ("b [ var X, 2 ]", n.Make("b", (n.Value(X), n.Value(Literal(2))), ordered=True)),
        ("var X", n.Value(X)),
        ('"text"', n.Value(Literal("text"))),
        ("var X * 2 + 1", n.Value(Call("+", (Call("*", (X, Literal(2))), Literal(1))))),
        ("var X-1", n.Value(Call("-", (X, Literal(1))))),
        ("round(var X, 2)", n.Value(Call("round", (X, Literal(2))))),
        ("all b { var X }", n.All(n.Make("b", (n.Value(X),)))),
        ("all var X", n.All(n.Value(X))),
        ("all (var X + 1)", n.All(n.Value(Call("+", (X, Literal(1)))))),
        (
            "all b { var X } group by {var X, var Y} order by [var Y desc, var X asc]",
            n.All(n.Make("b", (n.Value(X),)), ("X", "Y"), (n.Order("Y", True), n.Order("X"))),
        ),
        ("all var X order by [ var X ]", n.All(n.Value(X), (), (n.Order("X"),))),
        ("avg(all var X)", n.Aggregate("avg", X)),
        ("LAST(all var X * 2 order by [var Y])", n.Aggregate("last", Call("*", (X, Literal(2))), (n.Order("Y"),))),
        ("count { 1 }", n.Make("count", (n.Value(Literal(1)),))),
        ("all { }", n.Make("all")),
    ],
)
def test_construct_terms(text: str, meant: n.ConstructTerm) -> None:
    assert construct(text) == meant


# Queries --------------------------------------------------------------------------------------------------------------

B = n.Element("b")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("event i: b {{ }}", n.EventQuery("i", B)),
        ("EVENT i : var X -> b {{ }}", n.EventQuery("i", B, "X")),
        ("event event: event {{ }}", n.EventQuery("event", n.Element("event"))),
        ("event i: cel {{ }}", n.EventQuery("i", n.Element("cel"))),
        ('event i: cel "T AS x ; H AS y"', n.CelPattern("i", "T AS x ; H AS y", n.Element("match"))),
        ("event i: cel 'T' [ var X ]", n.CelPattern("i", "T", n.Element("match", (n.Bind("X"),), True, True))),
        ("event i: timer:absolute [0, 60]", n.AbsoluteTimer("i", 0, 60)),
        ("event i: timer:absolute [-1.5, 2]", n.AbsoluteTimer("i", -1.5, 2)),
        (
            'event i: timer:absolute ["2026-01-31", "2026-02-01T08:00"]',
            n.AbsoluteTimer("i", "2026-01-31", "2026-02-01T08:00"),
        ),
        ("while i: not b {{ }}", n.While("i", B, True)),
        ("while i: collect b {{ }}", n.While("i", B, False)),
        ("while i: b {{ }}", n.While("i", B, False)),
        ("while i: event w: var X -> b {{ }}", n.While("i", B, False, "w", "X")),
        ("while i: collect event w: b {{ }}", n.While("i", B, False, "w")),
        ("while i: collect var X -> b {{ }}", n.While("i", B, False, None, "X")),
        ("while i: collect event w: var X -> b {{ }}", n.While("i", B, False, "w", "X")),
    ],
)
def test_queries(text: str, meant: n.Atom) -> None:
    assert body(text) == meant


@pytest.mark.parametrize("kind", n.RELATIVE_TIMERS)
def test_relative_timers(kind: str) -> None:
    meant = n.RelativeTimer("i", kind, "j", n.Duration(90 * SECOND))
    assert body(f"event i: timer:{kind} [ event j, 1.5 min ]") == meant
    assert body(f"event i: TIMER : {kind.upper()} [j, 90 seconds]") == meant


def test_nested_bodies_and_their_conditions() -> None:
    text = """and { event i: b {{ }},
                    or { event j: b {{ }} where { i before j }, and { event k: b {{ }} } } where { var X > 1 }
                  } WHERE { var Y > 2, var X > 3 }"""
    i, j, k = (n.EventQuery(ident, B) for ident in "ijk")
    branches = n.Disjunction(
        (n.Conjunction((j,), (n.Temporal("before", ("i", "j")),)), n.Conjunction((k,))), (n.Data(more(X, 1)),)
    )
    assert body(text) == n.Conjunction((i, branches), (n.Data(more(Y, 2)), n.Data(more(X, 3))))


# Conditions -----------------------------------------------------------------------------------------------------------

BEFORE = n.Temporal("before", ("i", "j"))


@pytest.mark.parametrize("relation", n.RELATIONS)
def test_temporal_relations(relation: str) -> None:
    assert condition(f"i {relation} j") == n.Temporal(relation, ("i", "j"))


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("{i,j} within 1 min", n.Temporal("within", ("i", "j"), n.Duration(60 * SECOND))),
        ("{ i, j, k } apart-by 2 hours", n.Temporal("apart-by", ("i", "j", "k"), n.Duration(7200 * SECOND))),
        ("i BEFORE j", BEFORE),
        ("`in` before var2", n.Temporal("before", ("in", "var2"))),
        ("var X > 40", n.Data(more(X, 40))),
        ("var X in (1, 2)", n.Data(Call("in", (X, Literal(1), Literal(2))))),
        ("var X in (\"a\", 'b')", n.Data(Call("in", (X, Literal("a"), Literal("b"))))),
        ("var X like 'a%'", n.Data(Call("like", (X, Literal("a%"))))),
        ("var X between 1 and 2", n.Data(Call("and", (Call(">=", (X, Literal(1))), Call("<=", (X, Literal(2))))))),
        ("var X is not null", n.Data(Call("not", (Call("is_null", (X,)),)))),
        ("var X > 1 and var Y > 2", n.Data(Call("and", (more(X, 1), more(Y, 2))))),
        ("not (var X > 1 or var Y > 2)", n.Data(Call("not", (Call("or", (more(X, 1), more(Y, 2))),)))),
        ("i before j and var X > 1 and var Y > 2", n.Formula("and", (BEFORE, n.Data(more(X, 1)), n.Data(more(Y, 2))))),
        (
            "i before j or (var X > 1 and var Y > 2)",
            n.Formula("or", (BEFORE, n.Data(Call("and", (more(X, 1), more(Y, 2)))))),
        ),
        ("not i before j", n.Formula("not", (BEFORE,))),
        ("(i before j)", BEFORE),
        ("not (i before j or var X > 1)", n.Formula("not", (n.Formula("or", (BEFORE, n.Data(more(X, 1)))),))),
    ],
)
def test_conditions(text: str, meant: n.Condition) -> None:
    assert condition(text) == meant


# Texts ----------------------------------------------------------------------------------------------------------------


def test_keywords_in_any_case_and_comments() -> None:
    text = """# a line
    detect a { } -- the head
    On /* several
    lines */ AND { Event i: e {{ VAR X, Desc 1, OPTIONAL 2 }}, WHILE i: NOT e {{ }} } Where { NOT var X > 1 }
    End"""
    plain = "DETECT a{} ON and{event i: e{{var X,desc 1,optional 2}},while i: not e{{}}} where{not var X>1} END"
    assert parse(text) == parse(plain)


def test_spans_are_exact() -> None:
    text = (
        'DETECT a { x { avg(all var T) } }\nON and { event i: cel "T AS x" {{ v { var T } }} } where { i before i } END'
    )
    (rule,) = parse(text).rules
    assert isinstance(rule.body, n.Conjunction)
    (pattern,) = rule.body.parts
    assert isinstance(pattern, n.CelPattern)
    aggregate = rule.head.children[0].children[0]  # type: ignore[union-attr]

    def shown(span: Span) -> str:
        return text[span.start : span.end]

    assert shown(rule.span) == text
    assert shown(rule.head.span) == "a { x { avg(all var T) } }"
    assert shown(aggregate.span) == "avg(all var T)"
    assert shown(pattern.span) == 'event i: cel "T AS x" {{ v { var T } }}'
    assert shown(pattern.query_span) == '"T AS x"'
    assert shown(pattern.term.children[0].span) == "v { var T }"
    assert shown(rule.body.where[0].span) == "i before i"


def test_a_duration_remembers_how_it_was_written() -> None:
    query = body("event i: timer:extend [j, 12  sec]")
    assert isinstance(query, n.RelativeTimer)
    assert query.duration.text == "12 sec"


def test_importing_the_parser_does_not_import_lark() -> None:
    code = "import sys, ostinato.rules.syntax.parse; sys.exit('lark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
