"""Rules in the form of Figure 7."""

from __future__ import annotations

import pytest

from ostinato.errors import LimitError, QueryError
from ostinato.rules.plan.normal_form import MAX_BRANCHES, normalise
from ostinato.rules.syntax.format import condition_text, rule_text
from ostinato.rules.syntax.nodes import NormalRule
from ostinato.rules.syntax.parse import parse


def branches(body: str) -> tuple[NormalRule, ...]:
    return normalise(parse(f"DETECT a {{ }} ON {body} END"))


def shape(rule: NormalRule) -> tuple[str, list[str]]:
    """Identifiers in order, and the conditions."""
    literals = (*rule.events, *rule.timers, *rule.collects)
    return "".join(literal.ident or "" for literal in literals), [condition_text(each) for each in rule.where]


def test_literals_are_put_in_the_order_of_figure_7() -> None:
    (rule,) = branches(
        """and { while t: not n {{ }}, while t: collect event w: c {{ }}, event u: timer:extend [t, 1 sec],
                 event t: timer:from-end [event i, 1 sec], event z: timer:absolute [0, 1], event i: e {{ }} }"""
    )
    assert [event.ident for event in rule.events] == ["i"]
    assert [timer.ident for timer in rule.timers] == ["t", "z", "u"]
    assert [collect.ident for collect in rule.collects] == ["w"]
    assert [negation.term.label for negation in rule.negations] == ["n"]


def test_a_query_alone_is_a_conjunction_of_one() -> None:
    assert list(map(shape, branches("event i: e {{ }}"))) == [("i", [])]
    assert list(map(shape, branches("event i: e {{ }} where { var X > 1 }"))) == [("i", ["var X > 1"])]


def test_where_goes_to_the_branches_it_stands_over() -> None:
    found = branches(
        """and { event i: e {{ }},
                 or { event j: e {{ }} where { i before j },
                      and { event k: e {{ }}, or { event l: e {{ }}, event m: e {{ }} } } where { k before i }
                    } where { var X > 1 }
               } where { var Y > 2 }"""
    )
    assert list(map(shape, found)) == [
        ("ij", ["i before j", "var X > 1", "var Y > 2"]),
        ("ikl", ["k before i", "var X > 1", "var Y > 2"]),
        ("ikm", ["k before i", "var X > 1", "var Y > 2"]),
    ]


def test_rules_keep_their_numbers_and_places() -> None:
    text = "DETECT a { } ON event i: e {{ }} END DETECT b { } ON or { event i: e {{ }}, event j: f {{ }} } END"
    rules = normalise(parse(text))
    assert [(rule.number, rule.head.label) for rule in rules] == [(1, "a"), (2, "b"), (2, "b")]
    assert text[rules[1].span.start : rules[1].span.end].startswith("DETECT b")


def test_branches_are_bounded() -> None:
    either = "or { event a: x {{ }}, event b: y {{ }} }"
    with pytest.raises(LimitError, match="1,024 combinations") as caught:
        branches(f"and {{ {', '.join([either] * 10)} }}")
    assert caught.value.bound == MAX_BRANCHES
    assert len(branches(f"and {{ {', '.join([either] * 9)} }}")) == 512


@pytest.mark.parametrize(
    ("timers", "reason"),
    [
        ("event t: timer:extend [t, 1 sec]", "anchored on itself"),
        ("event t: timer:extend [u, 1 sec], event u: timer:extend [t, 1 sec]", "each other: t <- u <- t"),
        (
            "event s: timer:extend [t, 1 sec], event t: timer:extend [u, 1 sec], event u: timer:extend [t, 1 sec]",
            "each other: t <- u <- t",
        ),
    ],
)
def test_timers_in_a_circle(timers: str, reason: str) -> None:
    with pytest.raises(QueryError, match=reason) as caught:
        branches(f"and {{ event i: e {{{{ }}}}, {timers} }}")
    assert caught.value.span is not None


def test_text_of_a_normal_rule() -> None:
    (rule,) = branches("and { event t: timer:extend [event i, 1 sec], event i: e {{ }} } where { i before t }")
    assert rule_text(rule) == (
        "DETECT a { }\n"
        "ON and { event i: e {{ }},\n"
        "         event t: timer:extend [ event i, 1 sec ] }\n"
        "   where { i before t }\n"
        "END"
    )
