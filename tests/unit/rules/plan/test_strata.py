"""Which rules come before which, and which programs have no such order."""

from __future__ import annotations

import json

import pytest

from ostinato.rules.plan.normal_form import normalise
from ostinato.rules.plan.strata import Strata, stratify
from ostinato.rules.syntax.parse import parse
from support import paths
from support.query_errors import assert_refused

VECTOR = paths.VECTORS / "rules.json"


def strata(*rules: str) -> Strata:
    return stratify(normalise(parse("\n".join(f"DETECT {rule} END" for rule in rules))))


def shown(found: Strata) -> list[list[str]]:
    """The labels of each group, with a star where it is recursive."""
    return [
        ["".join(rule.head.label for rule in group.rules) + "*" * group.recursive for group in groups]
        for groups in found.strata
    ]


def test_the_program_of_the_paper_has_one_stratum() -> None:
    program = parse(json.loads(VECTOR.read_text(encoding="utf-8"))["program"])
    found = stratify(normalise(program))
    assert shown(found) == [["fire", "burnt_down", "avg_temp"]]
    assert not any(group.recursive for group in found.groups)
    assert found.derived == {"fire", "burnt_down", "avg_temp"}
    assert list(found.incoming) == ["smoke", "temp"]


def test_rules_come_after_what_they_read() -> None:
    found = strata("c { } ON event i: b {{ }}", "b { } ON event i: a {{ }}", "a { } ON event i: x {{ }}")
    assert shown(found) == [["a", "b", "c"]]
    assert [group.rules[0].number for group in found.groups] == [3, 2, 1]


@pytest.mark.parametrize(
    ("rule", "upper"),
    [
        ("b { } ON event i: a {{ }}", False),
        ("b { } ON and { event i: x {{ }}, while i: collect a {{ }} }", False),
        ("b { } ON and { event i: a {{ }}, while i: not x {{ }} }", False),
        ("b { } ON and { event i: x {{ }}, while i: not a {{ }} }", True),
        ("b { count(all var X) } ON event i: a {{ var X }}", True),
        ("b { y { all var X } } ON and { event i: x {{ }}, while i: collect a {{ var X }} }", True),
        ("b { } ON and { event i: a {{ }}, event t: timer:extend [i, 1 sec] }", True),
        ("b { } ON and { event i: a {{ }}, event j: x {{ }}, event t: timer:extend [j, 1 sec] }", False),
    ],
)
def test_strict_steps(rule: str, upper: bool) -> None:
    assert shown(strata(rule, "a { } ON event i: x {{ }}")) == ([["a"], ["b"]] if upper else [["a", "b"]])


def test_any_event_of_a_pattern_is_one_from_outside() -> None:
    found = strata('b { } ON event p: cel "ANY AS x ; T AS y"', "a { } ON event i: b {{ }}")
    assert shown(found) == [["b", "a"]]
    assert list(found.incoming) == ["T"]


def test_strata_add_up_along_a_chain() -> None:
    found = strata(
        "d { } ON event i: c {{ }}",
        "c { } ON and { event i: x {{ }}, while i: not b {{ }} }",
        "b { count(all var X) } ON event i: a {{ var X }}",
        "a { } ON event i: x {{ }}",
        "e { } ON event i: x {{ }}",
    )
    assert shown(found) == [["a", "e"], ["b"], ["c", "d"]]


def test_positive_recursion() -> None:
    found = strata(
        "path { } ON event i: edge {{ }}",
        "path { } ON and { event i: path {{ }}, event j: edge {{ }} }",
        "a { } ON event i: b {{ }}",
        "b { } ON or { event i: a {{ }}, event j: x {{ }} }",
        "c { } ON and { event i: path {{ }}, while i: not a {{ }} }",
    )
    assert any(group.recursive for group in found.groups)
    assert shown(found) == [["path", "path*", "b", "ab*"], ["c"]]


@pytest.mark.parametrize(
    ("rules", "reason", "place"),
    [
        (
            ("a { } ON and { event i: x {{ }}, while i: not b {{ }} }", "b { } ON event i: a {{ }}"),
            "rule 1 (a) depends on its own result through negation: a <- not b <- a",
            "while i: not b {{ }}",
        ),
        (
            ("a { all var X } ON event i: a {{ var X }}",),
            "rule 1 (a) depends on its own result through grouping: a <- all a",
            "event i: a {{ var X }}",
        ),
        (
            ("b { } ON event i: a {{ }}", "a { } ON and { event i: b {{ }}, event t: timer:from-end [i, 1 sec] }"),
            "rule 2 (a) depends on its own result through a timer: a <- timer on b <- a",
            "event i: b {{ }}",
        ),
        (
            ("a { } ON and { event i: a {{ }}, event t: timer:extend [i, 1 sec], event u: timer:extend [t, 1 sec] }",),
            "through a timer: a <- timer on a",
            "event i: a {{ }}",
        ),
        (
            ("b { } ON event i: a {{ }}", """a { } ON event p: srem "[type = 'b'] . [type != 'c']" """),
            "rule 2 (a) depends on its own result through a pattern: a <- pattern over b <- a",
            """"[type = 'b'] . [type != 'c']\"""",
        ),
        (('a { } ON event p: cel "T AS x ; a AS y"',), "through a pattern: a <- pattern over a", '"T AS x ; a AS y"'),
        (
            (
                "a { } ON and { event i: x {{ }}, while i: not b {{ }} }",
                "b { } ON event i: c {{ }}",
                "c { count(all var X) } ON event i: a {{ var X }}",
            ),
            "a <- not b <- c <- all a",
            "while i: not b {{ }}",
        ),
    ],
)
def test_cycles_without_a_meaning(rules: tuple[str, ...], reason: str, place: str) -> None:
    text = "\n".join(f"DETECT {rule} END" for rule in rules)
    assert_refused(lambda: stratify(normalise(parse(text))), text, reason, place)


@pytest.mark.slow
def test_many_rules_in_a_chain_and_in_a_circle() -> None:
    chain = [f"r{n} {{ }} ON event i: r{n + 1} {{{{ }}}}" for n in range(2_000)]
    assert len(strata(*chain).groups) == 2_000
    (group,) = strata(*chain, "r2000 { } ON event i: r0 {{ }}").groups
    assert (len(group.rules), group.recursive) == (2_001, True)


def test_patterns_come_after_what_they_read() -> None:
    found = strata('b { } ON event p: cel "x AS x ; a AS y"', "a { } ON event i: c {{ }}")
    assert shown(found) == [["a"], ["b"]]
    assert list(found.incoming) == ["x", "c"]


def test_an_srem_names_labels_by_their_type() -> None:
    pattern = "[type = 'a'] -> r . [v > r.v AND type IN ('x', 'c') AND k = 'd']"
    found = strata(f'b {{ }} ON event p: srem "{pattern}"', "a { } ON event i: c {{ }}", "d { } ON event i: b {{ }}")
    assert shown(found) == [["a"], ["b", "d"]]
    assert list(found.incoming) == ["c"]
