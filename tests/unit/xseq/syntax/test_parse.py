"""XSeq texts: what they mean as nodes, how they are written back, and what is said about those that are wrong."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ostinato.core.text.grammar import MAX_DEPTH
from ostinato.errors import QueryError
from ostinato.xseq.plan.check import parse_and_check
from ostinato.xseq.syntax import nodes as n
from ostinato.xseq.syntax.format import query_text
from ostinato.xseq.syntax.parse import parse
from ostinato.xseq.syntax.tokens import words
from ostinato.xseq.syntax.warnings import find_warnings
from support.xseq_paper import ALL

ANY, HERE, TEXT = n.NodeTest(n.Kind.ANY), n.NodeTest(n.Kind.NODE), n.NodeTest(n.Kind.TEXT)


def named(axis: n.Axis, name: str) -> n.Step:
    return n.Step(axis, n.NodeTest(n.Kind.NAME, name))


def bound(axis: n.Axis, variable: str) -> n.Step:
    return n.Step(axis, ANY, variable)


def path(text: str) -> n.Path:
    return parse(text).path


@pytest.mark.parametrize("name", ALL)
def test_queries_of_the_paper(name: str) -> None:
    query = parse_and_check(ALL[name])
    assert parse_and_check(query_text(query)) == query


@pytest.mark.parametrize(
    ("text", "axis"),
    [
        ("//r child::a", n.Axis.CHILD),
        ("//r/a", n.Axis.CHILD),
        ("//r / a", n.Axis.CHILD),
        ("//r//a", n.Axis.DESCENDANT),
        ("//r a", n.Axis.FOLLOWING_SIBLING),
        ("//r following-sibling::a", n.Axis.FOLLOWING_SIBLING),
        ("//r/following_sibling::a", n.Axis.FOLLOWING_SIBLING),
        (r"//r\a", n.Axis.IMMEDIATE_FOLLOWING_SIBLING),
        (r"//r/\a", n.Axis.FIRST_CHILD),
        ("//r@a", n.Axis.ATTRIBUTE),
        ("//r/@a", n.Axis.ATTRIBUTE),
        ("//r attribute :: a", n.Axis.ATTRIBUTE),
        ("//r .a", n.Axis.SELF),
        ("//r ancestor::a", n.Axis.ANCESTOR),
        ("//r preceding_sibling::a", n.Axis.PRECEDING_SIBLING),
    ],
)
def test_axes(text: str, axis: n.Axis) -> None:
    assert path(text) == n.Concat((named(n.Axis.DESCENDANT, "r"), named(axis, "a")))


def test_a_first_step_without_an_axis() -> None:
    assert path("a") == path("//a") == path("doc() a") == named(n.Axis.DESCENDANT, "a")
    assert path("//a[b]") == path("//a[/b]")
    assert path("//(a b)") == path("//a b")
    assert path("//@a") == n.Concat((n.Step(n.Axis.DESCENDANT, ANY), named(n.Axis.ATTRIBUTE, "a")))


def test_the_axis_before_a_definition_is_that_of_its_first_round() -> None:
    body = n.Concat((bound(n.Axis.FOLLOWING_SIBLING, "X"), n.Call("Z")))
    assert path("// ($Z: $X $Z)") == path("($Z: $X $Z)") == n.Define("Z", body, n.Axis.DESCENDANT)
    assert path("/a ($Z: $X $Z)") == n.Concat((named(n.Axis.CHILD, "a"), n.Define("Z", body)))


def test_the_axis_before_a_star_is_that_of_its_first_round() -> None:
    body = n.Concat((named(n.Axis.FOLLOWING_SIBLING, "a"), named(n.Axis.CHILD, "b")))
    assert path("// (a/b)*") == path("(a/b)*") == n.Star(body, n.Axis.DESCENDANT)
    assert path("(//a/b)*") == n.Star(n.Concat((named(n.Axis.DESCENDANT, "a"), named(n.Axis.CHILD, "b"))))
    assert path("/r /(a/b)*") == n.Concat((named(n.Axis.CHILD, "r"), n.Star(body, n.Axis.CHILD)))
    assert path("//($Z: a/b)*") == n.Star(n.Define("Z", body), n.Axis.DESCENDANT)


def test_stars() -> None:
    star = n.Star(bound(n.Axis.IMMEDIATE_FOLLOWING_SIBLING, "W"))
    assert path(r"/a \ $W*") == path(r"/a (\$W)*") == n.Concat((named(n.Axis.CHILD, "a"), star))
    assert path("/*") == n.Step(n.Axis.CHILD, ANY)
    assert path("/**") == n.Star(n.Step(n.Axis.CHILD, ANY))
    condition = parse("//a[b * c > 3]").path
    assert condition == parse("//a[b × c > 3]").path != parse("//a[b* c]").path
    assert query_text(parse("//a[(/b)* /c = 3]")) == "//a[(/b)*/c = 3]"
    assert query_text(parse("//a[b* (/c)*]")) == "//a[(/b)* (/c)*]"
    assert query_text(parse("//a[@n * 2 > . * 3]")) == "//a[@n * 2 > . * 3]"


def test_keywords_are_names_after_an_axis() -> None:
    assert path("/from/return@where") == path("/ from child::return attribute::where")
    assert query_text(parse("RETURN $X@by FROM /union UNION /$X")) == "return $X@by from /union union /$X"
    assert path("/last (/a)*") == n.Concat((named(n.Axis.CHILD, "last"), n.Star(named(n.Axis.CHILD, "a"))))


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("$X @date-prev($X)@date", "$X@date - prev($X)@date"),
        ("$X@date-2", "$X@date-2"),
        ("$X@date - 2", "$X@date - 2"),
        ("$X@date -2", "$X@date - 2"),
        ("$X@a / 2", "$X@a div 2"),
        ("$X@a / last($X)@b % 3", "$X@a div last($X)@b mod 3"),
        ("$X@a * ($X@b + 1)", "$X@a * ($X@b + 1)"),
        ("max( last($X) @tend - first($X) @tstart )", "max(last($X)@tend - first($X)@tstart)"),
        ("min($X @Bdate)", "min($X@Bdate)"),
        ("text($X)", "$X/text()"),
        ("tag( $X )", "tag($X)"),
        ("first($Z) $X @a", "first($Z) $X@a"),
        ('"it\'s"', "'it''s'"),
        ("-$X/a//b/text()", "-$X/a//b/text()"),
    ],
)
def test_columns(text: str, column: str) -> None:
    query = parse(f"return {text} from ($Z: //$X)")
    assert query.items is not None and [item.name for item in query.items] == [column]
    assert parse(f"return {text} as n from ($Z: //$X)").items[0].name == "n"  # type: ignore[index]


def test_references() -> None:
    items = parse("return $X/a/b@c, last($X), first($Z) $X/text(), tag($X), count($X) from ($Z: /$X)").items or ()
    assert [item.operand for item in items] == [
        n.Reference("X", steps=((n.Axis.CHILD, "a"), (n.Axis.CHILD, "b")), leaf=n.Leaf.ATTRIBUTE, name="c"),
        n.Reference("X", n.Alias.LAST),
        n.Reference("X", n.Alias.FIRST, "Z", leaf=n.Leaf.TEXT),
        n.Reference("X", leaf=n.Leaf.TAG),
        n.Aggregate("count", n.Reference("X")),
    ]


def test_predicates() -> None:
    step = path("//a[b and @c = 'x' and not(d)][.='y'][tag() = tag(.)]")
    assert isinstance(step, n.Step)
    b, d = n.Relative(named(n.Axis.CHILD, "b")), n.Relative(named(n.Axis.CHILD, "d"))
    c = n.Relative(named(n.Axis.ATTRIBUTE, "c"))
    here = n.Relative(n.Step(n.Axis.SELF, HERE))
    tag = n.Relative(n.Step(n.Axis.SELF, HERE), n.Leaf.TAG)
    exists, holds, *rest = step.predicates
    assert exists == n.Exists(b.path)
    assert isinstance(holds, n.Holds)
    assert holds.condition.parts == (  # type: ignore[union-attr]
        n.Comparison("=", c, n.Constant("x")),
        n.Not(n.Comparison(">=", d, n.Constant(""))),
    )
    assert rest == [n.Holds(n.Comparison("=", here, n.Constant("y"))), n.Holds(n.Comparison("=", tag, tag))]


def test_comparisons_numbers_and_comments() -> None:
    texts = ["$X@a ≠ 1", "$X@a <> 1", "$X@a(: one (: two :) :)!=1"]
    assert len({parse(f"//$X where {text}").where for text in texts}) == 1
    assert parse("//$X where $X@a ≤ 1.5e3").where == n.Comparison(
        "<=", n.Reference("X", leaf=n.Leaf.ATTRIBUTE, name="a"), n.Constant(1500.0)
    )
    where = parse("//$X where 1 - 2 - 3 = -4").where
    one, two, three = map(n.Constant, (1, 2, 3))
    assert isinstance(where, n.Comparison)
    assert where.left == n.Arithmetic("-", n.Arithmetic("-", one, two), three)


def test_union_is_looser_than_what_follows() -> None:
    assert path("/a/b union /c") == n.Union((path("/a/b"), path("/c")))
    assert path("/a intersect /b union /c") == n.Union((path("/a intersect /b"), path("/c")))


@pytest.mark.parametrize(
    ("text", "reason", "fix"),
    [
        ("", "the query is empty", "//a/b"),
        ("return from //a", "return of nothing", "return $X@id"),
        ("return $X@a //$X where $X@a = 3", "`from` is missing", "from //$X"),
        ("from //a", "without `return`", "path alone"),
        ("//a[@b = 3", "never closed", "add `]`"),
        ("//a[", "never closed", "add `]`"),
        ("return $X from //$X[@b = 3 where $X@a", "not closed before where", "add `]`"),
        ("//a]", "found `]`", "remove the `]`"),
        ("//a[@b =]", "missing after `=`", "'text'"),
        ("//$X where $X@a = and $X@b = 3", "missing after `=`", None),
        ("//$X where $X@a < $X@b < 3", "chained", "and"),
        ("return X@a from //$X", "`X` is not a variable", "$X"),
        ("//$X where tag(X) = 'a'", "`X` is not a variable", "$X"),
        ("return $$S@a from //$S", "one $", "$S"),
        ("//$X where $X@a == 3", "`==`", "write ="),
        ("//$X where $X@a = 3 && $X@b = 4", "`&&`", "write and"),
        ("//$X where not $X@a = 3", "`not` has brackets", "not($X@a = 3)"),
        ("//a | //b", "`|`", "union"),
        ("//a/..", "`..`", "parent::*"),
        ("//a folowing_sibling::b", "no axis `folowing_sibling`", "`following_sibling`"),
        ("//a descendant-or-self::b", "no axis `descendant-or-self`", "union"),
        ("//a child:b", "a name with a prefix", "child::b"),
        ("//a : b", "found `:`", "two colons"),
        ("///a", "one axis", "remove one"),
        ("//a[1]", "no positions", "first child"),
        ("(\\$X)+ where $X@a = 3", "`+` adds", "(\\$X)*"),
        ("//a (\\$X)+ $Y", "found arithmetic", "(\\$X)*"),
        ("//(/a)", "axis of its own", "remove `//`"),
        ("//a($Z: /b) /$Z", "stands for a path", "without an axis"),
        ("//a 'x", "never closed", "'"),
        ("(: x", "never closed", ":)"),
        ("//a as b", "`as` names", "return"),
        ("return $X@a as from //$X", "found `from`", "remove the last `as`"),
        ("return $X@a, from //$X", "found `from`", "remove the last `,`"),
        ("return upper($X@a) from //$X", "no function `upper`", "tag"),
        ("return $X.a from //$X", "@ before it", "$X@a"),
        ("return $X text() from //$X", "child of $X", "$X/text()"),
        ("return $X@a $Y@b from //$X $Y", "nothing can follow", "`,`"),
        ("return $X@a > 3 from //$X", "found a comparison", "where"),
        ("return prev($X@a) from //$X", "takes a variable", "prev($X)@a"),
        ("return max($X@a, $X@b) from //$X", "one argument", "max"),
        ("return //a from //$X", "starts with a variable", "//$X"),
        ("//a[/$X = 3]", "binds no variables", "where"),
        ("//a count (/b)*", "found count()", "following_sibling::count"),
        ("//a[doc()/b]", "found doc()", "start"),
        ("doc()", "goes nowhere", "doc() /a"),
        ("x and y", "found `and`", "brackets"),
        ("//a union", "found the end", "remove the last `union`"),
        ("//a[]", "predicate is empty", "[@a = 'x']"),
        ("(/a)[b]", "stands on a step", "inside"),
        ("//a partition //a@id", "`by` is missing", "partition by"),
        ("//a partition by //a@id, //b@id", "one attribute", "remove"),
        ("//a partition by //a@id where $X = 3", "before `partition by`", "exchange"),
        ("//a partition by //a", "one attribute of the nodes", "//a @id"),
        ("//a[@b = 1e999]", "too large", None),
        ("son[position()=1]", "no function `position`", "no positions"),
        ("//a[last()]", "one argument", "no positions"),
        ("b[true()]", "no function `true`", "leave it out"),
        ("//b[contains(@a, 'x')]", "no function `contains`", "no functions of texts"),
        ("//$X where contains($X@a, 'x')", "no function `contains`", "no functions of texts"),
        ("count(//son)", "found count()", "return count($X) from //$X"),
        ("//svg:*", "no test for every name with a prefix", "namespaces="),
        ("//*:a", "a name with every prefix", "namespaces="),
        ("//a 'b'", "found a string", "following_sibling::'b'"),
        ("//''", "name is empty", "between the quotes"),
    ],
)
def test_errors(text: str, reason: str, fix: str | None) -> None:
    with pytest.raises(QueryError) as caught:
        parse(text)
    assert reason in caught.value.reason
    assert caught.value.span is not None and caught.value.text == text
    assert fix is None or fix in (caught.value.fix or "")


def test_the_place_is_shown() -> None:
    with pytest.raises(QueryError) as caught:
        parse_and_check("return $X@a\nfrom //$Y")
    assert str(caught.value).splitlines()[1:3] == ["   1 | return $X@a", "              ^^^^"]


def test_clauses_of_sql() -> None:
    for text, clause, fix in (
        ("return $X@a from //$X where $X@a = 3 order by $X@b", "order by", "sort the table"),
        ("return $X@a from //$X limit 10", "limit", "--limit"),
        ("return $X@a from //$X having count($X) > 3", "having", "after where"),
    ):
        with pytest.raises(QueryError, match=f"no `{clause}`") as caught:
            parse_and_check(text)
        assert fix in (caught.value.fix or "") and caught.value.text == text
    with pytest.raises(QueryError, match=r"never bound in the path(?s:.)*write \$Y there"):
        parse_and_check(r"return $X@a from //$X \Y where $Y@a > 3")
    with pytest.raises(QueryError, match="never closed") as caught:
        parse_and_check("(: x")
    assert caught.value.text == "(: x"


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("return $X@id from //$X order by $X@price", "sort the table"),
        ("return $X@a from //$X group by $X@a", "`group by` is not a clause"),
        ("return $X@id from //$X where $X@a > prev($X)@a", "prev($X) is never there"),
        ("return $X@price-1 from //$X", "@price - 1"),
        ("return $X@iso-8859-1 from //$X", "@iso-8859 - 1"),
        ("//a *", "following_sibling::*"),
        ("//'a' *", "`'a' *`"),
        ("//a[@x] *", "`…] *`"),
        ("return $Y@a from //a $Y *", "`$Y *`"),
        (r"return $X@a from /s/$X (\X)*", "the variable is $X"),
        ("return $X@a from //$X[X@b > 3]", "the variable is $X"),
        ("//a[contains(@b)]", "`contains(`"),
        ("//a/count(b)", "`count(`"),
    ],
)
def test_warnings(text: str, warning: str) -> None:
    (found,) = find_warnings(text, parse_and_check(text))
    assert warning in found


@pytest.mark.parametrize(
    "text",
    [
        *ALL.values(),
        "//order by",
        "//low limit",
        "//a/order/by",
        "//'price-1' /@'price-1'",
        "return $X@a from //$X/'X'",
        "return $X@iso-a, $X@date - 1 from //$X",
        r"return $X@a from //$X (\$Y) * \$W*",
        "//a following_sibling::* /*",
        r"return $X@a from //$X (\$X)* where $X@a > prev($X)@a",
        "/last (/a)*",
        "return count ($X) from //$X[not(@a)]",
    ],
)
def test_nothing_to_warn_of(text: str) -> None:
    assert find_warnings(text, parse_and_check(text)) == ()


def test_names_in_quotes() -> None:
    assert path("//'a b'/\"it's\"@'c, d'") == n.Concat(
        (named(n.Axis.DESCENDANT, "a b"), named(n.Axis.CHILD, "it's"), named(n.Axis.ATTRIBUTE, "c, d"))
    )
    assert path("//'a'") == path("//a")
    items = parse("return $X@'a b', $X/'b c'@d, $X@a / '2' as half, $X child::'2' from //$X").items or ()
    assert [item.name for item in items] == ["$X@'a b'", "$X child::'b c'@d", "half", "$X child::'2'"]
    assert isinstance(items[2].operand, n.Arithmetic)


def test_another_language() -> None:
    with pytest.raises(QueryError, match="CEL"):
        parse_and_check("SELECT * FROM S WHERE T AS x ; U AS y")


@pytest.mark.parametrize(
    "text", ["(" * 200 + "a" + ")" * 200, "//a" + "[b" * 200 + "]" * 200, "//a[" + "1+" * 200 + "1 > 2]"]
)
def test_deep_queries_are_refused(text: str) -> None:
    with pytest.raises(QueryError, match=f"more than {MAX_DEPTH} levels"):
        parse_and_check(text)


def test_long_queries_are_read() -> None:
    assert len(words("/a" * 5000)) == 10000
    assert isinstance(path("/a" * 2000), n.Concat)


def test_lark_is_imported_on_first_use_only() -> None:
    code = "import sys, ostinato.xseq.syntax.parse; assert 'lark' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
