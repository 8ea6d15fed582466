"""Event rules that do not parse: the reason, the place and the fix that is offered."""

from __future__ import annotations

import pytest

from ostinato.rules.syntax.parse import parse
from support.query_errors import assert_refused, refusal


def refused(text: str) -> tuple[str, str, str]:
    return refusal(lambda: parse(text), text)


def check(text: str, reason: str, place: str, fix: str) -> None:
    assert_refused(lambda: parse(text), text, reason, place, fix)


@pytest.mark.parametrize(
    ("text", "place", "keyword"),
    [
        ("DETCT a { } ON event i: b {{ }} END", "DETCT", "DETECT"),
        ("DETECT a { } ONN event i: b {{ }} END", "ONN", "ON"),
        ("DETECT a { } ON evnt i: b {{ }} END", "evnt", "event"),
        ("DETECT a { } form begin(i) ON event i: b {{ }} END", "form", "from"),
        ("DETECT a { } ON and { event i: b {{ }}, wihle i: not c {{ }} } END", "wihle", "while"),
        ("DETECT a { } ON and { event i: b {{ }}, while i: colect c {{ }} } END", "colect", "collect"),
        ("DETECT a { } ON event i: b {{ }} wehre { var X > 3 } END", "wehre", "where"),
        ("DETECT a { } ON event i: b {{ }} ENDE", "ENDE", "END"),
        ("DETECT a { } ON event i: b {{ vra X }} END", "vra", "var"),
        ("DETECT a { } ON event i: b {{ optinal c { } }} END", "optinal", "optional"),
        ("DETECT a { al b { } } ON event i: b {{ }} END", "al", "all"),
        ("DETECT a { all var X grup by {var X} } ON event i: b {{ }} END", "grup", "group by"),
        ("DETECT a { } ON event i: timr:from-end [j, 1 sec] END", "timr", "timer:"),
        ("DETECT a { } ON event i: timer:form-end [j, 1 sec] END", "form-end", "from-end"),
        ('DETECT a { } ON event i: cell "T" END', "cell", "cel"),
        ("DETECT a { } ON event i: b {{ }} where { i bfore j } END", "bfore", "before"),
        ("DETECT a { } ON event i: b {{ }} where { {i, j} witin 1 sec } END", "witin", "within"),
        ("DETECT a { averge(all var X) } ON event i: b {{ }} END", "averge", "avg"),
        ("DETECT a { uper(var X) } ON event i: b {{ }} END", "uper", "upper"),
        ("DETECT a { } ON event i: timer:extend [j, 1 mintue] END", "mintue", "minutes"),
    ],
)
def test_misspelt_words(text: str, place: str, keyword: str) -> None:
    _, found, fix = refused(text)
    assert (found, f"`{keyword}`" in fix) == (place, True), fix


def test_aggregates_that_there_are_not() -> None:
    _, place, fix = refused("DETECT a { x { quantile(all var X) } } ON event i: b {{ var X }} END")
    assert (place, fix) == ("quantile", "aggregates are count, sum, avg, min, max, first, last, stddev, median")
    _, place, fix = refused("DETECT a { x { stdev(each var X) } } ON event i: b {{ var X }} END")
    assert (place, fix) == ("stdev", "did you mean `stddev`?")
    reason, _, fix = refused("DETECT a { x { abs(distinct var X) } } ON event i: b {{ var X }} END")
    assert (reason, fix) == ("abs takes one value, not `distinct` of them", "leave `distinct` out: abs(var X)")
    reason, _, fix = refused("DETECT a { x { median(var X) } } ON event i: b {{ var X }} END")
    assert (reason, fix) == ("median goes over several values, and needs `all`", "write median(all var X)")


def test_a_negation_without_a_time() -> None:
    for word, what in (("not", "negation"), ("collect", "collection")):
        for literal in (f"{word} c {{{{ }}}}", f"{word} event n: c {{{{ }}}}", f"event j: {word} c {{{{ }}}}"):
            reason, place, fix = refused(f"DETECT a {{ }} ON and {{ event i: b {{{{ }}}}, {literal} }} END")
            assert f"a {what} needs a time to be bounded by" in reason
            assert place == word
            assert "timer:" in fix
            assert f"while i: {word} c {{{{ … }}}}" in fix


@pytest.mark.parametrize(
    ("head", "reason", "place", "fix"),
    [
        ("b { X }", "brackets after the label", "X", "var X for a variable"),
        ("b {{ var X }}", "double brackets", "{{", "b { … }"),
        ("avg(var X + 1)", "needs `all`", "avg(var X + 1)", "avg(all var X + 1)"),
        ("all avg(all var X)", "is a single value", "all avg(all var X)", "leave the outer `all` out"),
        ("abs(all var X)", "takes one value", "abs(all var X)", "abs(var X)"),
        ("abs(var X, 2)", "takes one argument", "abs(var X, 2)", "abs(var X)"),
        ("all var X group by var X", "expected `{`", "var", "group by {var X}"),
        ("all var X order by {var X}", "expected `[`", "{", "order by [var X]"),
        ("all var X group by {var X, var X}", "listed twice", "var X", "remove one"),
        ("{i, j} within 1 sec", "a temporal condition", "{i, j} within 1 sec", "where { … }"),
        ("var X,", "expected", "}", "remove the last `,`"),
    ],
)
def test_heads(head: str, reason: str, place: str, fix: str) -> None:
    check(f"DETECT a {{ {head} }} ON event i: e {{{{ }}}} END", reason, place, fix)


@pytest.mark.parametrize(
    ("body", "reason", "place", "fix"),
    [
        ("event i: b", "brackets after the label", "b", "b {{ }}"),
        ("event i b {{ }}", "expected `:`", "b", "event i: …"),
        ("event i: var X", "expected `->`", "END", "var X -> label {{ … }}"),
        ("event i: desc b {{ }}", "`desc` cannot stand here", "desc", "label {{ desc … }}"),
        ("event i: ns:b {{ }}", "expected brackets", "ns", "`ns:b`"),
        ("event i: b {{ c }}", "brackets after the label", "c", '"c" for a text'),
        ("event i: b {{ c {{ var X } }}, event j: c {{ }}", "expected `}`", ",", "`}}` closes"),
        ("event i: b {{ ]]", "does not close", "]", "write `}`"),
        ("event i: b {{ 1; 2 }}", "expected `,`", ";", "write a comma"),
        ("event i: b {{ 1 2 }}", "expected `,`", "2", "put a comma"),
        ("event i: b {{ var X > 40 }}", "conditions do not stand in a term", ">", "where { var X > 40 }"),
        ("event i: b {{ x = 40 }}", "conditions do not stand in a term", "=", "x {{ 40 }}"),
        ('event i: b {{ "x }}', "never closed", '"', 'end it with "'),
        ("event i: b {{ }} /* open", "never closed", "/*", "end it with */"),
        ("event i: b {{ ", "not closed before END", "{", "add `}`"),
        ("event i: b {{ }}, event j: c {{ }}", "expected END", ",", "and { …, … }"),
        ("and { event i: b {{ }} event j: c {{ }} }", "expected `,`", "event", "put a comma"),
        ("and { }", "expected a query", "}", "leave `and { }` out"),
        ("and event i: b {{ }}", "expected `{`", "event", "and { … }"),
        ("while i: not event n: b {{ }}", "has no name", "event", "while i: not label"),
        (
            "event i: timer:from-end [1, 2]",
            "takes an event and a time",
            "event i: timer:from-end [1, 2]",
            "[event j, 12",
        ),
        ("event i: timer:absolute [j, 2 sec]", "when it begins", "event i: timer:absolute [j, 2 sec]", "[0, 60]"),
        ('event i: timer:absolute ["now", 2]', "not a time", '"now"', "2026-01-31T"),
        ("event i: timer:extend [j, 12]", "expected a unit of time", "]", "12 sec"),
        ("event i: timer:extend [j, 9e99999999999999999999 sec]", "digits", "9e99999999999999999999", "usual size"),
        ("event i: timer:extend [j, 9e999999999999999999 sec]", "longer than 292 years", "sec", "shorter time"),
        ("event i: timer:extend [j, 1e-99 sec]", "shorter than a nanosecond", "1e-99", "longer time"),
        ("event i: timer:extend [j, 3 centuries]", "unknown unit", "centuries", "`"),
        ("event i: timer:extend [j, 1 month]", "no fixed length", "month", "30 days"),
        ('while i: not cel "a ; b" {{ }}', "only as an event", "cel", 'ON event p: cel "a ; b" {{ … }} END'),
        ("while i: not or { b {{ }}, c {{ }} }", "no `or { … }`", "or { b {{ }}, c {{ }} }", "while i: not c"),
        ("while i: collect or { b {{ }}, c {{ }} }", "no `or { … }`", "or { b {{ }}, c {{ }} }", "collect x"),
        ("while i: not and { b {{ }} }", "no `and { … }`", "and { b {{ }} }", "while i: not x"),
    ],
)
def test_bodies(body: str, reason: str, place: str, fix: str) -> None:
    check(f"DETECT a {{ }} ON {body} END", reason, place, fix)


@pytest.mark.parametrize(
    ("condition", "reason", "place", "fix"),
    [
        ("X > 3", "expected a relation", ">", "var X > …"),
        ("var X > 3 && var Y > 3", "not an operator of rules", "&&", "write and"),
        ("var X == 3", "not an operator of rules", "==", "write ="),
        ("i within j", "a set of events", "i within j", "{i, j} within 1 min"),
        ("{i, j} before 3 sec", "not `before`", "before", "i before j"),
        ("{i, j} within", "expected a number", "}", "within 10 sec"),
        ("{i, j} within 3", "expected a unit of time", "}", "3 sec"),
        ("{i, i} within 3 sec", "listed twice", "i", "remove one"),
        ("(i before j) = true", "a temporal condition cannot stand", "i before j", "`and`, `or` and `not`"),
        ("avg(var X) > 3", "needs `all`", "avg(var X)", "write avg(all var X)"),
        ("", "expected a value", "}", "leave `where { }` out"),
        ("1 < var X < 3", "cannot be chained", "<", "BETWEEN"),
    ],
)
def test_conditions(condition: str, reason: str, place: str, fix: str) -> None:
    check(f"DETECT a {{ }} ON event i: b {{{{ }}}} where {{ {condition} }} END", reason, place, fix)


def test_whole_texts() -> None:
    check("", "the program is empty", "", "write a rule: DETECT")
    check("-- nothing", "the program is empty", "-", "write a rule: DETECT")
    check("DETECT a { } event i: b {{ }} END", "expected ON", "event", "DETECT … ON … END")
    check("DETECT a { } ON event i: b {{ }}", "found the end of the program", "", "end the rule with END")
    check("DETECT a { } ON event i: b {{ }} DETECT", "expected where { … } or END", "DETECT", "end the rule with END")
    check("DETECT a ON event i: b {{ }} END", "brackets after the label", "a", "a { … }")
    check("T AS x ; H AS y", "expected DETECT", "T", "this looks like CEL")


def test_terms_that_are_nested_too_deep() -> None:
    reason, _, _ = refused("DETECT a { } ON event i: b " + "{{ b " * 120 + "{{ }}" + "}}" * 120 + " END")
    assert "levels deep" in reason
