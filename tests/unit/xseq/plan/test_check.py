"""What is said of XSeq queries that parse well and make no sense, and what is known of those that do."""

from __future__ import annotations

import pytest

from ostinato.errors import QueryError
from ostinato.xseq.plan.check import parse_and_check
from ostinato.xseq.syntax import nodes as n
from ostinato.xseq.syntax.format import path_text, query_text
from ostinato.xseq.syntax.normal_form import normalise
from ostinato.xseq.syntax.parse import parse
from ostinato.xseq.syntax.variables import repeating_variables, variables
from support.xseq_paper import ALL, REFUSED


@pytest.mark.parametrize("name", REFUSED)
def test_rule_1(name: str) -> None:
    text, reason = REFUSED[name]
    with pytest.raises(QueryError) as caught:
        parse_and_check(text)
    assert reason in caught.value.reason and caught.value.span is not None


@pytest.mark.parametrize(
    ("text", "reason", "fix"),
    [
        ("return $Prize@a from //$Price", "$Prize is never bound", "$Price"),
        ("//a where $X@b = 3", "never bound", "//$X"),
        ("//a[$X@b = 3]", "never bound", "//$X"),
        ("//a $X[@c] ($X: /b)", "stands for a path", None),
        ("return first($Z)@a from ($Z: /$X $Z)", "not for a node", "first($Z) $X@a"),
        ("return $Z from ($Z: /$X $Z)", "not for a node", "first($Z) $X"),
        ("return first($X) $Y@a from //$X $Y", "bound to nodes", "without $Y"),
        ("return first($W) $X@a from ($Z: /$X)", "$W is not defined", "$Z"),
        ("return first($Z) $Y@a from ($Z: /$X)/$Y", "$Y is not bound in $Z", "$X"),
        ("//a ($Z: $Z)", "without a step", "always taken"),
        ("//a ($Z: (/b)* $Z)", "without a step", "always taken"),
        ("//a ($Z: (/b)* ($Y: /c union (/d)* $Z))", "without a step", "always taken"),
        ("//$X ($Z: /b[$X])[@c]", "stands on a step", None),
        ("return count(max($X@a)) from //$X", "stands inside count()", "keep one"),
        ("return $X@a from //$X where count($X) > 3", "over all matches", "(/$X)*"),
        ("//$X[count($X) > 3]", "over all matches", "(/$X)*"),
        ("return max(3) from //$X", "of a variable", "max($X@a)"),
        ("//a[count(b) > 3]", "not over paths", "(/$X)*"),
        ("return sum($X@a * $Y@a) from (/$X/$Y)*", "one variable", "last("),
        ("return $X@a, $X@a from //$X", "two columns", "as"),
        ("//a@b/c", "from an attribute", "parent::*"),
        ("//a/text() b", "from a text", "parent::*"),
        ("//a@b[c]", "from an attribute", None),
        ("//a text()", "is a text", "/text()"),
        ("@a", "the document itself has no attribute", "//*@id"),
        ("following_sibling::a", "the document itself has no", "//"),
        ("/b/$X partition by //c@id", "does not start as", "first steps"),
        ("/b/$X partition by /c@id", "does not start as", "first steps"),
        ("/b/$X partition by (/b)*@id", "plain steps", "names and axes"),
        ("//$X[b < $X@c]", "cannot also follow a path", "$X[/$Y]"),
        ("//a[@b < $X@b]/$X", "needs a variable", "$X["),
        ("//$X[a[@b = $X@b] = 3]", "cannot mention variables", "where"),
    ],
)
def test_refused(text: str, reason: str, fix: str | None) -> None:
    with pytest.raises(QueryError) as caught:
        parse_and_check(text)
    assert reason in caught.value.reason
    assert caught.value.span is not None and caught.value.text == text
    assert fix is None or fix in (caught.value.fix or "")


@pytest.mark.parametrize(
    "text",
    [
        "//a@b/parent::c",
        "//a/text()[parent::b]",
        "return avg($X@a - prev($X)@a) from /a (/$X)*",
        "return $X@a from /a (/$X)* where count($X) > 3",
        "return sum($X@a * last($Y)@a) from (/$X/$Y)*",
        "return $X@a from // $Z* (\\$X)* partition by //e@id",
        "return $X@a from // ($Z: $X $Z) partition by //e@id",
        "return $X@a from (/a union /b)/$X partition by /b/c@id",
        "//a ($X: /b $Y) ($Y: /c $X)",
        "//a/$Y ($X: /b $Y)",
    ],
)
def test_accepted(text: str) -> None:
    parse_and_check(text)


def test_variables_in_order_of_appearance() -> None:
    query = parse_and_check("return $A@a from //$B[$C][$D[/$E]] (/$A)* ($Z: /$F $B)")
    assert variables(query) == ("B", "C", "D", "E", "A", "F")


@pytest.mark.parametrize(
    ("text", "several"),
    [
        ("//$X $Y", ""),
        ("//$X (/$Y)*", "Y"),
        ("//$X $X", "X"),
        ("//$X[(/$Y)*]", "Y"),
        ("//$X ($Z: /$Y $Z)", "Y"),
        ("//$X ($Z: /$Y)", ""),
        ("//$X ($Z: /$Y) $Z", "Y"),
        ("//$X ($Z: /$Y)*", "Y"),
        ("//$X ($Z: /$Y ($W: /$V)) $Z", "VY"),
        ("//$X ($Z: /$Y $W) ($W: /$V)", "V"),
        ("//r (/$X union \\$X)", "X"),
    ],
)
def test_repeating(text: str, several: str) -> None:
    assert repeating_variables(parse_and_check(text)) == set(several)


@pytest.mark.parametrize(
    ("text", "moved"),
    [
        ("/a (/$X[@p < prev($X)@p])*", "/a (/$X)* where $X@p < prev($X)@p"),
        ("/a/$X[tag() = 'b' and . > $X@c][@d = 3]", "/a/$X[tag(.) = 'b'][@d = 3] where $X > $X@c"),
        ("/a/$X[@b[. = 3]/parent::*]", "/a/$X[@b[. = 3] parent::*]"),
        ("/a[/$X[$X@a = 3]] where $X@b = 4", "/a[/$X] where $X@b = 4 and $X@a = 3"),
        ("/$X/$Y[not($X@a = 3) or @b = 4]", "/$X/$Y where not($X@a = 3) or $Y@b = 4"),
    ],
)
def test_conditions_on_variables_move_to_where(text: str, moved: str) -> None:
    query = normalise(parse_and_check(text))
    assert query_text(query) == moved
    assert normalise(query) == query


@pytest.mark.parametrize("name", ALL)
def test_normalised_queries_are_queries(name: str) -> None:
    query = normalise(parse_and_check(ALL[name]))
    assert parse_and_check(query_text(query)) == query


def test_first_round() -> None:
    define = parse("// ($Z: ($X union /a $Z) $Y)").path
    assert isinstance(define, n.Define)
    assert path_text(n.first_round(define)) == "(//$X union /a $Z) $Y"
    plain = parse("/a ($Z: $X)").path.parts[1]  # type: ignore[union-attr]
    assert isinstance(plain, n.Define) and isinstance(plain.body, n.Step)
    assert n.first_round(plain) == plain.body and plain.body.axis == n.Axis.FOLLOWING_SIBLING
