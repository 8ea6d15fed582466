"""Faults of event rules that parse."""

from __future__ import annotations

import json

import pytest

from ostinato.errors import QueryError
from ostinato.rules.plan.check import check_program
from ostinato.rules.syntax.nodes import CelPattern, Element, Make, Rule, Ruleset
from ostinato.rules.syntax.parse import parse
from support import paths
from support.query_errors import assert_refused

VECTOR = paths.VECTORS / "rules.json"


def rule(body: str, head: str = "a { }") -> str:
    return f"DETECT {head} ON {body} END"


def check(text: str, reason: str, place: str, fix: str = "") -> None:
    assert_refused(lambda: check_program(parse(text)), text, reason, place, fix)


@pytest.mark.parametrize(
    "text",
    [
        json.loads(VECTOR.read_text(encoding="utf-8"))["program"],
        rule("event i: timer:absolute [0, 60]"),
        rule('event i: timer:absolute ["2026-01-01", "2026-01-02"]'),
        rule("and { event i: b {{ var X }}, while i: not c {{ var X, var Y }}, while i: not d {{ var Y }} }"),
        rule("or { event i: b {{ var X }}, and { event j: c {{ }}, while j: collect d {{ var X }} } }", "a { var X }"),
        rule("event i: b {{ optional c { var X }, optional d { var X } }}", "a { var X }"),
        rule("and { event i: b {{ var X, optional c { var X } }}, event j: d {{ var X }} }", "a { var X }"),
        rule("event i: var X -> b {{ }}", "a { var X }"),
        rule("and { event i: b {{ }}, while i: collect event w: b {{ }} }", "a { count(all 1) }"),
        rule("event i: b {{ var X, var Y }}", "a { all x { var X } group by {var Y} order by [var Y desc] }"),
        rule('event i: cel "SELECT x.v AS v WHERE T AS x ; H AS y" {{ v { var X } }}', "a { var X }"),
        rule('event i: cel "T AS x ; H AS y PARTITION BY k" {{ optional k { var X }, desc z { 1 } }}', "a { var X }"),
        rule("and { event i: b {{ }}, event j: b {{ }} } where { not i before j or {i, j} within 1 sec }"),
    ],
)
def test_good_rules(text: str) -> None:
    check_program(parse(text))


B, C = "event i: b {{ }}", "event j: c {{ }}"


@pytest.mark.parametrize(
    ("body", "reason", "place", "fix"),
    [
        ("and { event i: b {{ }}, event i: c {{ }} }", "two events are called `i`", "event i: c {{ }}", "of its own"),
        (
            f"and {{ {B}, event t: timer:extend [event ii, 1 sec] }}",
            "no event `ii` here that a timer can be anchored on",
            "event t: timer:extend [event ii, 1 sec]",
            "did you mean `i`?",
        ),
        (f"and {{ {B}, while x: not c {{{{ }}}} }}", "no event `x` here that `while`", "while x: not c {{ }}", "`i`"),
        (f"{B} where {{ i before k }}", "no event `k` here that a temporal", "i before k", "`i`"),
        (f"{B} where {{ not i before k }}", "no event `k` here that a temporal", "i before k", "`i`"),
        (f"{B} where {{ i before i }}", "compared with itself", "i before i", "two events"),
        (
            f"and {{ {B}, while i: collect event w: c {{{{ }}}} }} where {{ i before w }}",
            "`w` is collected",
            "i before w",
            "`i`",
        ),
        (f"or {{ {B}, {C} }} where {{ i before j }}", "not in every branch of `or`", "i before j", "in each branch"),
        ("while i: not b {{ }}", "no event to begin with", "while i: not b {{ }}", "event i: label"),
        (
            "and { event i: b {{ optional c { var X } }}, event j: d {{ var X }} }",
            "stands in an optional term",
            "var X",
            "another name",
        ),
        (
            "and { event i: b {{ var X }}, while i: not d {{ optional e { var X } }} }",
            "stands in an optional term",
            "var X",
            "another name",
        ),
        ("event i: b {{ var X }} where { var Y > 1 }", "`var Y` is not bound by any event", "var Y", "`X`"),
        (
            f"and {{ {B}, while i: not c {{{{ var Y }}}} }} where {{ var Y > 1 }}",
            "bound in a negation alone",
            "var Y",
            "by a rule of their own",
        ),
        ("event i: b {{ var X }} where { var X + 1 }", "`var X + 1` is a number", "var X + 1", "var X + 1 = …"),
        ("event i: b {{ var X }} where { 'a' > 1 }", "cannot be compared", "'a' > 1", ""),
        ("event i: timer:absolute [3, 2]", "ends before it begins", "event i: timer:absolute [3, 2]", "exchange"),
        (
            'event i: timer:absolute ["2026-01-02", "2026-01-01"]',
            "ends before it begins",
            'event i: timer:absolute ["2026-01-02", "2026-01-01"]',
            "exchange",
        ),
        (
            'event i: timer:absolute ["2026-01-02", 3]',
            "a number and the other a text",
            'event i: timer:absolute ["2026-01-02", 3]',
            "both",
        ),
        (
            'event i: timer:absolute ["2026-01-02", "2026-01-02T08:00Z"]',
            "a time zone",
            'event i: timer:absolute ["2026-01-02", "2026-01-02T08:00Z"]',
            "both",
        ),
    ],
)
def test_bodies(body: str, reason: str, place: str, fix: str) -> None:
    check(rule(body), reason, place, fix)


@pytest.mark.parametrize(
    ("body", "head", "reason", "place"),
    [
        (B, "a { var Y }", "not bound by any event", "var Y"),
        ("or { event i: b {{ var Y }}, event j: c {{ }} }", "a { var Y }", "not bound in every branch", "var Y"),
        (f"and {{ {B}, while i: not c {{{{ var Y }}}} }}", "a { var Y }", "a negation alone", "var Y"),
        ("event i: b {{ var X }}", "a { end { var X } }", "a column of the answer already", "end { var X }"),
        ("event i: b {{ var X }}", "a { all Type { var X } }", "a column of the answer already", "Type { var X }"),
        ("event i: b {{ var X }}", "a { all var X order by [var Y] }", "not bound", "var Y"),
        ("event i: b {{ var X }}", "a { all var X group by {var Y} }", "not bound", "all var X group by {var Y}"),
        ("event i: b {{ var X }}", "a { sum(all var X order by [var Y]) }", "not bound", "var Y"),
        (B, 'a { all "x" }', "goes over no variable", 'all "x"'),
        (B, "a { count(all 1) }", "goes over no variable", "count(all 1)"),
        (B, "a { x { 'a' + 1 } }", "needs numbers", "'a'"),
        (B, "match { }", "no rule may derive it", "match { }"),
    ],
)
def test_heads(body: str, head: str, reason: str, place: str) -> None:
    check(rule(body, head), reason, place)


@pytest.mark.parametrize(
    ("query", "reason", "place"),
    [
        ('"T AS x ; H AS y FILTER z.a = 1"', "variable `z` is not bound", "z.a"),
        ("'T AS x FILTER x.a = ''q'' AND z.a = 1'", "variable `z` is not bound", "z.a"),
        ('"T AS x WITHIN 3"', "WITHIN 3 has no unit", '"'),
        ('"T AS x ;; H"', "expected", ";"),
        ('"SELECT x.v AS v WHERE T AS x" {{ w { var X } }}', "gives no column `w`", "w { var X }"),
        ('"T AS x" {{ var Y -> start { 1 } }}', "gives no column `start`", "var Y -> start { 1 }"),
    ],
)
def test_cel_queries(query: str, reason: str, place: str) -> None:
    check(rule(f"event i: cel {query}"), reason, place)


def test_a_cel_query_without_a_place_shows_its_own_text() -> None:
    program = Ruleset((Rule(Make("a"), CelPattern("i", "T AS x ;; H", Element("match"))),))
    with pytest.raises(QueryError) as caught:
        check_program(program)
    assert caught.value.text == "T AS x ;; H"
