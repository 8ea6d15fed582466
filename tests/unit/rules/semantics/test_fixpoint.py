"""The declarative evaluator of event rules, decision by decision: times, windows, grouping, heads, recursion."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato.errors import DataError, LimitError
from ostinato.rules.plan.normal_form import normalise
from ostinato.rules.plan.strata import stratify
from ostinato.rules.semantics.fixpoint import derived_events
from ostinato.rules.syntax.parse import parse
from ostinato.rules.terms.data import to_json
from support.cel_patterns import cel_patterns
from support.generators.rules import events_of

Row = dict[str, Any]


def row(label: str, begin: int, end: int | None = None, **attributes: Any) -> Row:
    return {"type": label, "begin": begin, "end": begin if end is None else end, **attributes}


def found(text: str, rows: list[Row], **options: Any) -> list[tuple[int, int, str]]:
    """The derived events in order: begin, end, and what they carry."""
    groups = stratify(normalise(parse(text))).groups
    events = derived_events([group.rules for group in groups], events_of(rows), ticks_per_second=1, **options)
    return sorted((event.begin, event.end, to_json(event.term)) for event in events)


def terms(text: str, rows: list[Row], **options: Any) -> list[str]:
    return [term for _, _, term in found(text, rows, **options)]


# Times ----------------------------------------------------------------------------------------------------------------

PAIRS = {  # i and j for which the relation holds; the converse holds for j and i
    "before": [((0, 1), (2, 3))],
    "during": [((1, 2), (0, 3))],
    "overlaps": [((0, 2), (1, 3))],
    "meets": [((0, 1), (1, 2)), ((1, 1), (1, 1)), ((0, 1), (1, 1)), ((1, 1), (1, 2))],
    "starts": [((0, 1), (0, 2)), ((1, 1), (1, 2))],
    "finishes": [((1, 2), (0, 2)), ((1, 1), (0, 1))],
    "equals": [((0, 1), (0, 1)), ((1, 1), (1, 1))],
}
CONVERSE = {
    "before": "after",
    "during": "contains",
    "overlaps": "overlapped-by",
    "meets": "met-by",
    "starts": "started-by",
    "finishes": "finished-by",
    "equals": "equals",
}


@pytest.mark.parametrize("relation", PAIRS)
def test_relations(relation: str) -> None:
    for i, j in {pair for pairs in PAIRS.values() for pair in pairs}:
        rows, holds = [row("a", *i), row("b", *j)], (i, j) in PAIRS[relation]
        rule = "DETECT d { } ON and { event i: a {{ }}, event j: b {{ }} } where { %s } END"
        assert bool(found(rule % f"i {relation} j", rows)) == holds, (i, j)
        assert bool(found(rule % f"j {CONVERSE[relation]} i", rows)) == holds, (i, j)


@pytest.mark.parametrize(
    ("condition", "holds"),
    [("within 9 sec", False), ("within 10 sec", True), ("apart-by 4 sec", True), ("apart-by 5 sec", False)],
)
def test_spans(condition: str, holds: bool) -> None:
    rule = "DETECT d { } ON and { event i: a {{ }}, event j: b {{ }} } where { {i, j} %s } END"
    assert bool(found(rule % condition, [row("a", 0, 3), row("b", 7, 10)])) == holds


@pytest.mark.parametrize(
    ("kind", "interval"),
    [
        ("from-end", (10, 25)),
        ("from-start", (10, 20)),
        ("from-end-backward", (10, 20)),
        ("from-start-backward", (5, 20)),
        ("extend", (10, 25)),
        ("shorten", (10, 20)),
        ("extend-begin", (5, 20)),
        ("shorten-begin", (10, 20)),
        ("shift-forward", (10, 25)),
        ("shift-backward", (5, 20)),
    ],
)
def test_the_interval_covers_events_and_timers(kind: str, interval: tuple[int, int]) -> None:
    rule = "DETECT d { } ON and { event i: a {{ }}, event t: timer:%s [event i, 5 sec] } END"
    assert found(rule % kind, [row("a", 10, 20)]) == [(*interval, '{"d":[]}')]


@pytest.mark.parametrize(
    ("kind", "begin", "end"),
    [
        ("from-end", 20, 25),
        ("from-start", 10, 15),
        ("from-end-backward", 15, 20),
        ("from-start-backward", 5, 10),
        ("extend", 10, 25),
        ("shorten", 10, 15),
        ("extend-begin", 5, 20),
        ("shorten-begin", 15, 20),
        ("shift-forward", 15, 25),
        ("shift-backward", 5, 15),
    ],
)
def test_what_is_collected_lies_in_the_timer(kind: str, begin: int, end: int) -> None:
    rule = """DETECT d { first(all var V), last(all var V) } ON and {
        event i: a {{ }}, event t: timer:%s [event i, 5 sec], while t: collect b {{ v {{ var V }} }} } END"""
    rows = [row("a", 10, 20), *(row("b", moment, v=moment) for moment in range(31))]
    assert terms(rule % kind, rows) == [f'{{"d":[{begin},{end}]}}']


def test_no_timer_ends_before_it_begins() -> None:
    rule = "DETECT d { } ON and { event i: a {{ }}, event t: timer:%s [event i, 5 sec] } END"
    for kind in ("shorten", "shorten-begin"):
        assert found(rule % kind, [row("a", 10, 14)]) == []
        assert found(rule % kind, [row("a", 10, 15)]) != []


def test_absolute_timers() -> None:
    rule = "DETECT d { var V } ON and { event t: timer:absolute [%s], while t: collect a {{ v {{ var V }} }} } END"
    rows = [row("a", 0, v=1), row("a", 60, v=2)]
    assert found(rule % "0, 59.5", rows) == [(0, 59, '{"d":[1]}')]
    texts = "'1970-01-01T00:01:00Z', '1970-01-01 00:02:00'"
    assert found(rule % texts, rows) == [(60, 120, '{"d":[2]}')]


# Windows --------------------------------------------------------------------------------------------------------------


def test_a_negation_joins_what_is_bound_elsewhere() -> None:
    rule = """DETECT d { var K } ON and { event i: a {{ k {{ var K }} }}, event t: timer:from-end [event i, 5 sec],
        while t: not b {{ %s {{ var %s }} }} } END"""
    rows = [row("a", 0, k="x"), row("a", 0, k="y"), row("b", 5, k="x")]
    assert terms(rule % ("k", "K"), rows) == ['{"d":["y"]}']
    assert terms(rule % ("k", "L"), rows) == []
    assert len(terms(rule % ("v", "L"), rows)) == 2
    assert len(terms(rule % ("k", "L"), [row("a", 0, k="x"), row("a", 0, k="y"), row("b", 5, 6, k="x")])) == 2


def test_collected_substitutions_are_a_set_unless_the_event_has_a_name() -> None:
    rule = """DETECT d { avg(all var V), count(all var V), sum(all var V) } ON and {
        event i: a {{ }}, while i: collect %s b {{ v {{ var V }} }} } END"""
    rows = [row("a", 0, 9), row("b", 1, v=1), row("b", 2, v=1), row("b", 3, v=4), row("b", 4)]
    assert terms(rule % "", rows) == ['{"d":[2.5,2,5]}']
    assert terms(rule % "event w:", rows) == ['{"d":[2,3,6]}']
    assert terms(rule % "", [row("a", 0, 9), row("b", 1)]) == []  # nothing is collected


def test_a_named_collect_counts_where_it_binds_the_variable() -> None:
    rule = """DETECT d { sum(all var V), count(all 1) } ON and { event i: a {{ }},
        while i: collect b {{ v {{ var V }} }}, while i: collect event w: c {{ }} } END"""
    rows = [row("a", 0, 9), row("b", 1, v=5), row("c", 2), row("c", 3)]
    assert terms(rule, rows) == ['{"d":[5,2]}']


def test_equal_events_are_one() -> None:
    rule = "DETECT d { count(all 1) } ON and { event i: a {{ }}, while i: collect event w: b {{ }} } END"
    assert terms(rule, [row("a", 0, 9), row("b", 1), row("b", 1), row("b", 1, v=1)]) == ['{"d":[2]}']


# Conditions -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("var V > 1", ["2"]),
        ("not var V > 1", ["1"]),
        ("var V > 1 or i before j", ["2"]),
        ("not i before j", ["1", "2", '"null"']),
        ("var V is null", ['"null"']),
        ("not (i before j or var V > 1)", ["1"]),
    ],
)
def test_conditions_pass_only_where_they_are_true(condition: str, expected: list[str]) -> None:
    rule = """DETECT d { v { coalesce(var V, 'null') } } ON and {
        event i: a {{ optional v {{ var V }} }}, event j: b {{ }} } where { %s } END"""
    rows = [row("a", 2, v=1), row("a", 2, v=2), row("a", 2), row("b", 1)]
    assert terms(rule % condition, rows) == sorted(f'{{"d":[{{"v":[{value}]}}]}}' for value in expected)


def test_a_condition_that_does_not_fit_the_data_is_an_error() -> None:
    with pytest.raises(DataError, match="does not fit"):
        found("DETECT d { } ON event i: a {{ v {{ var V }} }} where { var V > 1 } END", [row("a", 0, v="x")])


# Heads ----------------------------------------------------------------------------------------------------------------

COLLECTED = "ON and { event i: a {{ }}, while i: collect event w: b {{ optional k {{ var K }}, v {{ var V }} }} } END"
ROWS = [
    row("a", 0, 9),
    row("b", 3, k="y", v=1),
    row("b", 1, k="x", v=3),
    row("b", 2, k="x", v=2),
    row("b", 4, v=2),
]


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("d { k { var K }, sum(all var V) }", ['{"d":[2]}', '{"d":[{"k":["x"]},5]}', '{"d":[{"k":["y"]},1]}']),
        ("d { all var V }", ['{"d":[1,2,3]}']),
        ("d { all var V order by [var V desc] }", ['{"d":[3,2,1]}']),
        ("d { all k { var K } }", ['{"d":[{"k":["x"]},{"k":["y"]}]}']),
        ("d { all k { var K } order by [var V] }", ['{"d":[{"k":["y"]},{"k":["x"]}]}']),
        ("d { all k { var K } order by [var K desc] }", ['{"d":[{"k":["y"]},{"k":["x"]}]}']),
        ("d { all e { var K, all var V } }", ['{"d":[{"e":["x",2,3]},{"e":["y",1]},{"e":[2]}]}']),
        ("d { all e { count(all var V) } group by {var K} }", ['{"d":[{"e":[2]},{"e":[1]},{"e":[1]}]}']),
        ("d { first(all var V), last(all var V) }", ['{"d":[3,2]}']),
        ("d { first(all var K), last(all var K) }", ['{"d":["x","y"]}']),
        ("d { first(all var V order by [var K desc]), last(all var V order by [var K]) }", ['{"d":[1,2]}']),
        ("d { min(all var K), max(all var V), count(all var K), avg(all var V * 2) }", ['{"d":["x",3,3,4]}']),
        ("d { e { f { } } }", ['{"d":[{"e":[{"f":[]}]}]}']),
    ],
)  # fmt: skip
def test_heads(head: str, expected: list[str]) -> None:
    assert terms(f"DETECT {head} {COLLECTED}", ROWS) == expected


def test_a_child_without_any_value_is_left_out() -> None:
    rule = """DETECT d { e { f { var K }, all g { var K } }, h { sqrt(var V) } }
        ON event i: a {{ v {{ var V }}, optional k {{ var K }} }} END"""
    assert terms(rule, [row("a", 0, v=-1)]) == ['{"d":[]}']
    assert terms(rule, [row("a", 0, v=4, k="x")]) == ['{"d":[{"e":[{"f":["x"]},{"g":["x"]}]},{"h":[2]}]}']


def test_a_bound_element_is_put_into_the_head() -> None:
    rule = "DETECT d { var P } ON event i: a {{ var P -> p {{ x {{ 1 }} }} }} END"
    assert terms(rule, [row("a", 0, p=[{"x": 1, "y": "z"}, {"x": 2}])]) == ['{"d":[{"p":[{"x":[1]},{"y":["z"]}]}]}']
    with pytest.raises(DataError, match="sum, avg, stddev and median need numbers"):
        terms(rule.replace("var P }", "sum(all var P) }", 1), [row("a", 0, p={"x": 1})])


# Programs -------------------------------------------------------------------------------------------------------------

REACH = """DETECT reach { from { var A }, to { var B } } ON event e: edge {{ from {{ var A }}, to {{ var B }} }} END
DETECT reach { from { var A }, to { var C } } ON and {
  event r: reach {{ from {{ var A }}, to {{ var B }} }}, event e: edge {{ from {{ var B }}, to {{ var C }} }} } END
DETECT far { var A, count(all var B) } ON and { event t: timer:absolute [0, 9],
  while t: collect reach {{ from {{ var A }}, to {{ var B }} }} } END"""


def test_recursion_runs_to_its_fixpoint_before_it_is_counted() -> None:
    ends: list[dict[str, Any]] = [{"from": edge[0], "to": edge[1]} for edge in ("pq", "qr", "rp")]
    edges = [row("edge", n, **each) for n, each in enumerate(ends)]
    counted = [term for term in terms(REACH, edges) if "far" in term]
    assert counted == [f'{{"far":["{place}",3]}}' for place in "pqr"]


def test_a_recursion_without_end_is_refused() -> None:
    rule = "DETECT a { v { var V + 1 } } ON event i: a {{ v {{ var V }} }} END"
    with pytest.raises(LimitError, match="goes on making new events"):
        found(rule, [row("a", 0, v=0)], max_rounds=50)


def test_patterns() -> None:
    rule = """DETECT d { var N }
        ON event p: cel "SELECT count(b) AS n WHERE a ; (b AS b)+ PARTITION BY k" {{ n {{ var N }} }} END"""
    rows = [row("a", 0, 1, k="x"), row("b", 2, k="x"), row("b", 3, k="y"), row("b", 4, 5, k="x")]
    expected = [(0, 2, '{"d":[1]}'), (0, 5, '{"d":[1]}'), (0, 5, '{"d":[2]}')]
    assert found(rule, rows, patterns=cel_patterns(events_of(rows))) == expected
    with pytest.raises(DataError, match="needs its matches"):
        found(rule, rows)
