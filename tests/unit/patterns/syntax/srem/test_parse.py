"""SREM texts: what they mean as nodes, how they are written back, and what is said about those that are wrong."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

from ostinato.core.expressions import CURRENT, TRUE, Attribute, Call, Expr, Literal
from ostinato.core.text.grammar import MAX_DEPTH
from ostinato.core.window_clause import Window
from ostinato.errors import QueryError
from ostinato.patterns.syntax.srem import nodes as n
from ostinato.patterns.syntax.srem.nodes import Expression
from ostinato.patterns.syntax.srem.parse import parse

ANY = n.Test(TRUE)


def own(name: str) -> Attribute:
    return Attribute(CURRENT, name)


def equal(left: Expr, right: object) -> Expr:
    return Call("=", (left, right if isinstance(right, Attribute) else Literal(right)))  # type: ignore[arg-type]


A, B, C = (n.Test(equal(own("type"), letter)) for letter in "ABC")
TEXTS = {A: "[type = 'A']", B: "[type = 'B']", C: "[type = 'C']"}


def expression(text: str) -> Expression:
    return parse(text).expression


# Expressions ----------------------------------------------------------------------------------------------------------


def test_the_example_of_the_paper() -> None:
    both = Call("and", (equal(own("type"), "H"), equal(own("id"), Attribute("r1", "id"))))
    text = "[type = 'T'] -> r1 . true* . [type = 'H' and id = r1.id]  WITHIN 10 EVENTS"
    first = n.Test(equal(own("type"), "T"), ("r1",))
    assert parse(text) == n.SremPattern(n.Concat((first, n.Star(ANY), n.Test(both))), (), Window("events", 10))


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("true", ANY),
        ("[true]", ANY),
        ("TRUE -> r", n.Test(TRUE, ("r",))),
        ("true -> s, r", n.Test(TRUE, ("r", "s"))),
        ("()", n.EPSILON),
        ("{A} . {B} . {C}", n.Concat((A, B, C))),
        ("({A} . {B}) . {C}", n.Concat((n.Concat((A, B)), C))),
        ("{A} | {B} . {C}", n.Either((A, n.Concat((B, C))))),
        ("({A} | {B}) . {C}", n.Concat((n.Either((A, B)), C))),
        ("{A} . {B}*", n.Concat((A, n.Star(B)))),
        ("({A} . {B})*", n.Star(n.Concat((A, B)))),
        ("{A}*+", n.Plus(n.Star(A))),
        ("{A}?", n.Either((A, n.EPSILON))),
        ("{A}{2}", n.Repeat(A, 2, 2)),
        ("{A}{2,}", n.Repeat(A, 2, None)),
        ("{A}{,2}", n.Repeat(A, 0, 2)),
        ("({A} . {B}){1,2}*", n.Star(n.Repeat(n.Concat((A, B)), 1, 2))),
        ("({A} -> r)+", n.Plus(n.Test(A.test, ("r",)))),
        ("{A} -> r+", n.Plus(n.Test(A.test, ("r",)))),
        ("(({A}))", A),
    ],
)
def test_operators(text: str, meant: Expression) -> None:
    for letter, test in zip("ABC", (A, B, C), strict=True):
        text = text.replace("{" + letter + "}", TEXTS[test])
    assert expression(text) == meant
    assert expression(n.to_text(meant)) == meant


def test_a_round_reads_what_the_round_before_it_wrote() -> None:
    expression("(true -> r | [v > r.v]){1,3}")
    with pytest.raises(QueryError, match="register `r` is never written before this"):
        expression("(true -> r | [v > r.v]){1}")


def test_rounds_are_numbers() -> None:
    with pytest.raises(QueryError, match="a number of rounds is missing"):
        expression("true{}")


def test_conditions_are_those_of_cel() -> None:
    parts = (own("v"), Attribute("r", "v"))
    assert expression("true -> r . [r[v = 3] AND v BETWEEN 1 AND 2]") == n.Concat(
        (
            n.Test(TRUE, ("r",)),
            n.Test(
                Call(
                    "and",
                    (
                        equal(Attribute("r", "v"), 3),
                        Call(">=", (own("v"), Literal(1))),
                        Call("<=", (own("v"), Literal(2))),
                    ),
                )
            ),
        )
    )
    assert expression("true -> r . [is_true(v > r.v)]") == n.Concat(
        (n.Test(TRUE, ("r",)), n.Test(Call("is_true", (Call(">", parts),))))
    )


def test_an_attribute_may_have_the_name_of_a_register() -> None:
    assert expression("true -> v . [v > v.v]") == n.Concat(
        (n.Test(TRUE, ("v",)), n.Test(Call(">", (own("v"), Attribute("v", "v")))))
    )


def test_keywords_have_no_case_and_names_do() -> None:
    assert parse("True -> R . [v = R.v AnD V is NULL] partition By k within 3 Events") == parse(
        "TRUE -> R . [v = R.v AND V IS NULL] PARTITION BY k WITHIN 3 EVENTS"
    )
    with pytest.raises(QueryError, match="register `r` is never written"):
        parse("true -> R . [v = r.v]")


def test_comments_and_backticks() -> None:
    assert expression("true -- any\n -> `my r` . [`a b` = `my r`.`c`] -- end") == n.Concat(
        (n.Test(TRUE, ("my r",)), n.Test(equal(own("a b"), Attribute("my r", "c"))))
    )
    assert n.to_text(expression("true -> `my r`")) == "true -> `my r`"


def test_clauses() -> None:
    assert parse("true PARTITION BY a, `b c` WITHIN 2 minutes") == n.SremPattern(
        ANY, ("a", "b c"), Window("time", 120_000_000_000)
    )
    assert parse("true WITHIN 2.5 ON price").window == Window("attribute", 2.5, "price")
    assert parse("true WITHIN 1 event").window == Window("events", 1)


def test_the_pattern_keeps_its_text_and_places() -> None:
    text = "true . [v = 1] -> r"
    pattern = parse(text)
    assert pattern.text == text
    assert isinstance(pattern.expression, n.Concat)
    second = pattern.expression.parts[1].span
    assert text[second.start : second.end] == "[v = 1] -> r"


@pytest.mark.parametrize(
    "text",
    [
        "[type = 'T'] -> r1 . true* . [type = 'H' AND id = r1.id]",
        "true -> r . ([value > r.value] -> r)+",
        "([a = 1] | [b = 2] . true)*",
        "([a = 1] . [b = 2])?",
        "(true . true) . true",
        "(true -> r)+*",
        "() | true",
    ],
)
def test_what_is_written_back_is_what_was_read(text: str) -> None:
    assert n.to_text(expression(text)) == text
    assert str(expression(text)) == text


def test_equal_expressions_are_equal_keys_also_after_a_journey() -> None:
    first, second = expression("true -> r . [v = r.v]*"), expression("true -> r.[v=r.v]*")
    assert len({first, second}) == 1
    arrived = pickle.loads(pickle.dumps(first))
    assert arrived == first
    assert "_hash" in first.__dict__
    assert "_hash" not in arrived.__dict__
    assert hash(n.Star(ANY)) != hash(n.Plus(ANY))


def test_nested_repetition_stays_small() -> None:
    text = "true"
    for _ in range(30):
        text = f"({text})+"
    assert n.to_text(expression(text)) == "true" + "+" * 30


def test_long_expressions() -> None:
    many = expression(" . ".join(["true"] * 3_000))
    assert isinstance(many, n.Concat)
    assert len(many.parts) == 3_000
    choice = expression(" | ".join(f"[v = {index}]" for index in range(2_000)))
    assert isinstance(choice, n.Either)
    assert len(choice.parts) == 2_000


def test_importing_the_parser_does_not_import_lark() -> None:
    code = "import sys, ostinato.patterns.syntax.srem.parse; sys.exit('lark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# Registers ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "true -> r . [v = r.v]",
        "([v = 1] -> r | [v = 2]) . [v = r.v]",
        "(true -> r)? . [v = r.v]",
        "([v = r.v] | true -> r)*",
        "([v = 1] . [v = r.v] . true -> r)+",
        "true -> r, s . ([v = r.v] -> s | [v = s.v] -> r)+",
    ],
)
def test_a_register_written_on_some_way_may_be_read(text: str) -> None:
    parse(text)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[v = r.v]", "r.v"),
        ("[v = r.v] -> r", "r.v"),
        ("[v = r.v] . true -> r", "r.v"),
        ("true -> r | [v = r.v]", "r.v"),
        ("([v = r.v] | true)* . true -> r", "r.v"),
        ("true -> s . [s.v = 1 AND v = r.v]", "r.v"),
    ],
)
def test_a_register_that_is_never_written_before(text: str, place: str) -> None:
    with pytest.raises(QueryError, match="register `r` is never written before this") as caught:
        parse(text)
    assert caught.value.span is not None
    assert text[caught.value.span.start : caught.value.span.end] == place


def test_the_nearest_register_is_offered() -> None:
    with pytest.raises(QueryError, match="did you mean `first`"):
        parse("true -> first . [v = frist.v]")


# Wrong texts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason", "fix", "place"),
    [
        ("", "the query is empty", "[type = 'T'] -> r", ""),
        ("-- nothing", "the query is empty", "[type = 'T'] -> r", "-"),
        ("T AS x ; true", "expected a test such as [type = 'T'], found `T`", "[type = 'T'] -> x", "T"),
        ("T AS x ; H AS y", "expected a test such as [type = 'T'], found `T`", "looks like CEL: use ost.cel(…)", "T"),
        ("(A+ OR B) : C", "expected a test", "or --language cel", "A"),
        ("SELECT x WHERE A AS x", "`SELECT` belongs to CEL", "looks like CEL", "SELECT"),
        ("NOT A ; B", "`NOT` cannot stand before a test", "looks like CEL", "NOT"),
        ("T", "expected a test", "[type = 'T']", "T"),
        ("NOT [a > 1]", "`NOT` cannot stand before a test", "[NOT a > 1]", "NOT"),
        ("true . ~[a > 1]", "`~` cannot stand before a test", "[NOT a > 1]", "~"),
        ("~(true . true)", "`~` cannot stand before a test", "~query.automaton", "~"),
        ("!true", "`!` cannot stand before a test", "[NOT a > 1]", "!"),
        ("[!a]", "`!` is not an operator", "write NOT", "!"),
        ("[a > 1] - > r", "found `-`", "write ->", "-"),
        ("[a > r.a]", "register `r` is never written", "true -> r . […]", "r.a"),
        ("[type = 'T'] AS x", "`AS` belongs to CEL", "[type = 'T'] -> x", "AS"),
        ("[type = 'T'] ; true", "`;` belongs to CEL", "`. true* .`", ";"),
        ("true : true", "`:` belongs to CEL", "`.`", ":"),
        ("true OR true", "`OR` belongs to CEL", "write `|`", "OR"),
        ("true FILTER v > 3", "`FILTER` belongs to CEL", "into the test", "FILTER"),
        ("SELECT * WHERE true", "`SELECT` belongs to CEL", "leave it out", "SELECT"),
        ("true CONSUME BY ANY", "`CONSUME` belongs to CEL", "leave it out", "CONSUME"),
        ("[type = 'T'", "this bracket is never closed", "add `]`", "["),
        ("(true . true", "this bracket is never closed", "add `)`", "("),
        ("true)", "found `)`", "remove the `)`", ")"),
        ("(true]", "`]` does not close the `(`", "write `)`", "]"),
        ("(true WITHIN 3 EVENTS", "this bracket is not closed before WITHIN", "add `)` before WITHIN", "("),
        ("[v > 3] [v > 4]", "found `[`", "put `.` between tests", "["),
        ("true true", "found `true`", "put `.` between tests", "true"),
        ("v > 3", "expected a test", "[v > …]", "v"),
        ("T . H", "expected a test", "[type = 'T']", "T"),
        ("true .", "expected a test", "remove the last `.`", ""),
        ("true | ) ", "found `)`", "remove the `)`", ")"),
        ("(true | )", "expected a test", "remove the last `|`", ")"),
        ("*", "`*` repeats what stands before it", "true*", "*"),
        ("[]", "this test is empty", "true for any event", "]"),
        ("true ->", "expected a name", "-> r", ""),
        ("true -> r, r", "`r` is listed twice", "remove one", "r"),
        ("true -> select", "found the keyword SELECT", "backticks", "select"),
        ("(true . true) -> r", "only a test can be stored", "right after the test", "->"),
        ("[v > 3 -> r]", "stored after its test", "close the test first", "->"),
        ("[v = 1 | v = 2]", "`|` is not an operator", "write OR", "|"),
        ("[v == 1]", "`==` is not an operator", "write =", "=="),
        ("[~.v = 1]", "`~` is not an operator", "write attr, not ~.attr", "~"),
        ("true{3", "`{` is not an operator", "{3}", "{"),
        ("[v > 1 > 0]", "comparisons cannot be chained", "BETWEEN", ">"),
        ('[type = "T"]', "double quotes", "'T'", '"T"'),
        ("[type = 'T]", "never closed", "end it with '", "'"),
        ("[1]", "`1` is not a condition", "compare it", "1"),
        ("[v + 1]", "`v + 1` is not a condition", "compare it", "v + 1"),
        ("[lower(s)]", "`lower(s)` is not a condition", "compare it", "lower(s)"),
        ("[sum(v) > 3]", "sum() needs several events", "[value > r.value]", "sum(v)"),
        ("true -> r . [first(r).v > 3]", "first() needs several events", "[value > r.value]", "first(r).v"),
        ("[nope(v) = 1]", "unknown function `nope`", "known names", "nope"),
        ("true WITHIN 0 EVENTS", "a window cannot be 0 events long", "from 1", "0"),
        ("true WITHIN 2.5 EVENTS", "a window cannot be 2.5 events long", "whole number", "2.5"),
        ("true WITHIN 10", "WITHIN 10 has no unit", "WITHIN 10 EVENTS", ""),
        ("true WITHIN", "expected a number", "WITHIN 100 EVENTS", ""),
        ("true WITHIN 3 parsecs", "unknown unit `parsecs`", "did you mean", "parsecs"),
        ("true WITHIN 3 EVENTS WITHIN 4 EVENTS", "WITHIN is given twice", "keep one", "WITHIN 4 EVENTS"),
        ("true WITHIN 3 EVENTS . true", "found `.`", "clauses come last", "."),
        ("true PARTITION k", "expected BY", "PARTITION BY k", "k"),
        ("true PARTITION BY k, k", "`k` is listed twice", "remove one", "k"),
        ("true PARTITION BY start", "the answer has a column `start`", "rename the column", "start"),
    ],
)
def test_errors_say_where_why_and_how(text: str, reason: str, fix: str, place: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse(text)
    error = caught.value
    assert reason in error.reason
    assert fix in (error.fix or "")
    assert error.text == text
    assert error.span is not None
    assert text[error.span.start : error.span.end] == place


def test_nesting_is_bounded() -> None:
    text = "(" * (MAX_DEPTH + 1) + "true" + ")" * (MAX_DEPTH + 1)
    with pytest.raises(QueryError, match="levels deep"):
        parse(text)
    with pytest.raises(QueryError, match="levels deep"):
        parse("true" + "*" * (MAX_DEPTH + 1))
