"""Event rules: what their texts mean as nodes, and where the nodes stand in the text."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from ostinato.core.expressions import Call, Expr, Literal, Variable
from ostinato.errors import Span
from ostinato.rules.syntax.nodes import (
    RELATIONS,
    RELATIVE_TIMERS,
    AbsoluteTimer,
    Aggregate,
    All,
    Atom,
    Bind,
    Body,
    Condition,
    Conjunction,
    Const,
    ConstructTerm,
    Data,
    Desc,
    Disjunction,
    Duration,
    Element,
    EventQuery,
    Formula,
    Make,
    Optional,
    Order,
    PatternQuery,
    QueryTerm,
    RelativeTimer,
    Temporal,
    Value,
    While,
)
from ostinato.rules.syntax.parse import parse
from support import paths

SECOND = 1_000_000_000
VECTOR = paths.VECTORS / "rules.json"
X, Y = Variable("X"), Variable("Y")


def some(label: str, *children: QueryTerm) -> Element:
    return Element(label, children)


def body(text: str) -> Body:
    return parse(f"DETECT a {{ }} ON {text} END").rules[0].body


def term(text: str) -> QueryTerm:
    query = body(f"event i: e {{ {text} }}")
    assert isinstance(query, EventQuery)
    (child,) = query.term.children
    return child


def construct(text: str) -> ConstructTerm:
    (child,) = parse(f"DETECT a {{ {text} }} ON event i: e {{{{ }}}} END").rules[0].head.children
    return child


def condition(text: str) -> Condition:
    query = body(f"event i: e {{{{ }}}} where {{ {text} }}")
    assert isinstance(query, Conjunction)
    (found,) = query.where
    return found


def more(left: Expr, right: int) -> Call:
    return Call(">", (left, Literal(right)))


def test_the_program_of_the_paper() -> None:
    fire, burnt_down, avg_temp = parse(json.loads(VECTOR.read_text(encoding="utf-8"))["program"]).rules
    a, s, t, value = some("area", Bind("A")), Bind("S"), Bind("T"), "value"
    assert fire.head == Make("fire", (Make("area", (Value(Variable("A")),)),))
    assert fire.body == Conjunction(
        (EventQuery("s", some("smoke", a)), EventQuery("t", some("temp", a, some(value, t)))),
        (
            Temporal("before", ("s", "t")),
            Temporal("within", ("s", "t"), Duration(60 * SECOND)),
            Data(more(Variable("T"), 40)),
        ),
    )
    assert burnt_down.body == Conjunction(
        (
            EventQuery("n", some("temp", some("sensor", s), some(value, t))),
            RelativeTimer("i", "from-end", "n", Duration(12 * SECOND)),
            While("i", some("temp", some("sensor", s)), negated=True),
        ),
        (Data(more(Variable("T"), 40)),),
    )
    assert avg_temp.head.children[1] == Make(value, (Aggregate("avg", Variable("T")),))
    assert avg_temp.body == Conjunction(
        (
            EventQuery("m", some("temp", some("sensor", s))),
            RelativeTimer("i", "from-start-backward", "m", Duration(60 * SECOND)),
            While("i", some("temp", some("sensor", s), some(value, t)), negated=False),
        )
    )
    assert [rule.number for rule in (fire, burnt_down, avg_temp)] == [1, 2, 3]


# Terms ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("b { }", Element("b", total=True)),
        ("b {}", Element("b", total=True)),
        ("b {{ }}", Element("b")),
        ("b {{}}", Element("b")),
        ("b [ ]", Element("b", total=True, ordered=True)),
        ("b [[ ]]", Element("b", ordered=True)),
        ("b {{ var X, c { 1 } }}", some("b", Bind("X"), Element("c", (Const(1),), total=True))),
        ("b {{c {{var X}}}}", some("b", some("c", Bind("X")))),
        ("b {c {{var X}}}", Element("b", (some("c", Bind("X")),), total=True)),
        ("b {{c {var X}}}", some("b", Element("c", (Bind("X"),), total=True))),
        ("b [[c [var X]]]", Element("b", (Element("c", (Bind("X"),), True, True),), ordered=True)),
        ("40", Const(40)),
        ("-1.5", Const(-1.5)),
        ("true", Const(True)),
        ("FALSE", Const(False)),
        ('"it\'s ""so"""', Const('it\'s "so"')),
        ("'it''s'", Const("it's")),
        ("var X", Bind("X")),
        ("var X -> b {{ }}", Bind("X", Element("b"))),
        ("var X->b{{}}", Bind("X", Element("b"))),
        ("var `a b` -> 3", Bind("a b", Const(3))),
        ("desc b {{ }}", Desc(Element("b"))),
        ("optional var X -> b {{ }}", Optional(Bind("X", Element("b")))),
        ("@id { 1 }", Element("@id", (Const(1),), total=True)),
        ("a-b.c_d { }", Element("a-b.c_d", total=True)),
        ("`x:y ``z``` { }", Element("x:y `z`", total=True)),
        ("desc { }", Element("desc", total=True)),
        ("var-x [ ]", Element("var-x", total=True, ordered=True)),
        ("true {{ }}", Element("true")),
        ("timer {{ }}", Element("timer")),
    ],
)
def test_query_terms(text: str, meant: QueryTerm) -> None:
    assert term(text) == meant


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("b { }", Make("b")),
        ("b [ var X, 2 ]", Make("b", (Value(X), Value(Literal(2))), ordered=True)),
        ("var X", Value(X)),
        ('"text"', Value(Literal("text"))),
        ("var X * 2 + 1", Value(Call("+", (Call("*", (X, Literal(2))), Literal(1))))),
        ("var X-1", Value(Call("-", (X, Literal(1))))),
        ("round(var X, 2)", Value(Call("round", (X, Literal(2))))),
        ("all b { var X }", All(Make("b", (Value(X),)))),
        ("all var X", All(Value(X))),
        ("all (var X + 1)", All(Value(Call("+", (X, Literal(1)))))),
        (
            "all b { var X } group by {var X, var Y} order by [var Y desc, var X asc]",
            All(Make("b", (Value(X),)), ("X", "Y"), (Order("Y", True), Order("X"))),
        ),
        ("all var X order by [ var X ]", All(Value(X), (), (Order("X"),))),
        ("avg(all var X)", Aggregate("avg", X)),
        ("LAST(all var X * 2 order by [var Y])", Aggregate("last", Call("*", (X, Literal(2))), (Order("Y"),))),
        ("count { 1 }", Make("count", (Value(Literal(1)),))),
        ("all { }", Make("all")),
    ],
)
def test_construct_terms(text: str, meant: ConstructTerm) -> None:
    assert construct(text) == meant


# Queries --------------------------------------------------------------------------------------------------------------

B = Element("b")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("event i: b {{ }}", EventQuery("i", B)),
        ("EVENT i : var X -> b {{ }}", EventQuery("i", B, "X")),
        ("event event: event {{ }}", EventQuery("event", Element("event"))),
        ("event i: cel {{ }}", EventQuery("i", Element("cel"))),
        ('event i: cel "T AS x ; H AS y"', PatternQuery("i", "T AS x ; H AS y", Element("match"))),
        ("event i: cel 'T' [ var X ]", PatternQuery("i", "T", Element("match", (Bind("X"),), True, True))),
        ("event i: timer:absolute [0, 60]", AbsoluteTimer("i", 0, 60)),
        ("event i: timer:absolute [-1.5, 2]", AbsoluteTimer("i", -1.5, 2)),
        (
            'event i: timer:absolute ["2026-01-31", "2026-02-01T08:00"]',
            AbsoluteTimer("i", "2026-01-31", "2026-02-01T08:00"),
        ),
        ("while i: not b {{ }}", While("i", B, True)),
        ("while i: collect b {{ }}", While("i", B, False)),
        ("while i: collect event w: b {{ }}", While("i", B, False, "w")),
        ("while i: collect var X -> b {{ }}", While("i", B, False, None, "X")),
        ("while i: collect event w: var X -> b {{ }}", While("i", B, False, "w", "X")),
    ],
)
def test_queries(text: str, meant: Atom) -> None:
    assert body(text) == meant


@pytest.mark.parametrize("kind", RELATIVE_TIMERS)
def test_relative_timers(kind: str) -> None:
    meant = RelativeTimer("i", kind, "j", Duration(90 * SECOND))
    assert body(f"event i: timer:{kind} [ event j, 1.5 min ]") == meant
    assert body(f"event i: TIMER : {kind.upper()} [j, 90 seconds]") == meant


def test_nested_bodies_and_their_conditions() -> None:
    text = """and { event i: b {{ }},
                    or { event j: b {{ }} where { i before j }, and { event k: b {{ }} } } where { var X > 1 }
                  } WHERE { var Y > 2, var X > 3 }"""
    i, j, k = (EventQuery(ident, B) for ident in "ijk")
    branches = Disjunction(
        (Conjunction((j,), (Temporal("before", ("i", "j")),)), Conjunction((k,))), (Data(more(X, 1)),)
    )
    assert body(text) == Conjunction((i, branches), (Data(more(Y, 2)), Data(more(X, 3))))


# Conditions -----------------------------------------------------------------------------------------------------------

BEFORE = Temporal("before", ("i", "j"))


@pytest.mark.parametrize("relation", RELATIONS)
def test_temporal_relations(relation: str) -> None:
    assert condition(f"i {relation} j") == Temporal(relation, ("i", "j"))


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("{i,j} within 1 min", Temporal("within", ("i", "j"), Duration(60 * SECOND))),
        ("{ i, j, k } apart-by 2 hours", Temporal("apart-by", ("i", "j", "k"), Duration(7200 * SECOND))),
        ("i BEFORE j", BEFORE),
        ("`in` before var2", Temporal("before", ("in", "var2"))),
        ("var X > 40", Data(more(X, 40))),
        ("var X in (1, 2)", Data(Call("in", (X, Literal(1), Literal(2))))),
        ("var X in (\"a\", 'b')", Data(Call("in", (X, Literal("a"), Literal("b"))))),
        ("var X like 'a%'", Data(Call("like", (X, Literal("a%"))))),
        ("var X between 1 and 2", Data(Call("and", (Call(">=", (X, Literal(1))), Call("<=", (X, Literal(2))))))),
        ("var X is not null", Data(Call("not", (Call("is_null", (X,)),)))),
        ("var X > 1 and var Y > 2", Data(Call("and", (more(X, 1), more(Y, 2))))),
        ("not (var X > 1 or var Y > 2)", Data(Call("not", (Call("or", (more(X, 1), more(Y, 2))),)))),
        ("i before j and var X > 1 and var Y > 2", Formula("and", (BEFORE, Data(more(X, 1)), Data(more(Y, 2))))),
        (
            "i before j or (var X > 1 and var Y > 2)",
            Formula("or", (BEFORE, Data(Call("and", (more(X, 1), more(Y, 2)))))),
        ),
        ("not i before j", Formula("not", (BEFORE,))),
        ("(i before j)", BEFORE),
        ("not (i before j or var X > 1)", Formula("not", (Formula("or", (BEFORE, Data(more(X, 1)))),))),
    ],
)
def test_conditions(text: str, meant: Condition) -> None:
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
    assert isinstance(rule.body, Conjunction)
    (pattern,) = rule.body.parts
    assert isinstance(pattern, PatternQuery)
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
    assert isinstance(query, RelativeTimer)
    assert query.duration.text == "12 sec"


def test_importing_the_parser_does_not_import_lark() -> None:
    code = "import sys, ostinato.rules.syntax.parse; sys.exit('lark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
