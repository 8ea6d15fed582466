"""An error for every slip in CEL text: the place, the reason and the fix."""

from __future__ import annotations

import pytest

from ostinato.core.text.grammar import MAX_DEPTH
from ostinato.errors import QueryError, Span
from ostinato.patterns.syntax.cel.parse import parse

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
    ("T ; NOT «(H OR K) AS g» ; T", "`g` names events that must not come", "remove AS g"),
    ("T ; NOT «H+ AS g» ; T", "`g` names events that must not come", "remove AS g"),
    (f"T«{{1,{'9' * 5000}}}»", "more rounds than any stream has", "{2,}"),
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
