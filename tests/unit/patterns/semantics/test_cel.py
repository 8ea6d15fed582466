"""The declarative evaluator on the paper's examples and on cases small enough to check by hand."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ostinato.errors import DataError, QueryError
from ostinato.patterns.semantics.cel import Result, evaluate
from ostinato.patterns.syntax.cel.parse import parse
from support import paths

VECTORS = json.loads((paths.VECTORS / "cel.json").read_text(encoding="utf-8"))
FIGURE1 = VECTORS["streams"]["figure1"]

Row = dict[str, Any]


def stream(text: str) -> list[Row]:
    """`A B@3 A!1`: types, each with a time @ (else the position) and a value ! (else null)."""
    rows = []
    for position, word in enumerate(text.split()):
        name, _, value = word.partition("!")
        name, _, ts = name.partition("@")
        rows.append({"type": name, "ts": float(ts) if ts else position, "v": int(value) if value else None})
    return rows


def run(query: str, rows: list[Row] | str, **binding: Any) -> Result:
    return evaluate(parse(query), stream(rows) if isinstance(rows, str) else rows, **{"time": "ts", **binding})


def found(query: str, rows: list[Row] | str, **binding: Any) -> list[tuple[int, ...]]:
    return run(query, rows, **binding).positions()


# The paper ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["ALL", "STRICT", "NXT", "LAST", "MAX"])
@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: case["name"])
def test_vectors(case: dict[str, Any], strategy: str) -> None:
    result = found(f"SELECT {strategy} * WHERE {case['query']}", VECTORS["streams"][case["stream"]])
    assert sorted(map(list, result)) == sorted(case["positions"][strategy])


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: case["name"])
def test_vectors_within_events(case: dict[str, Any]) -> None:
    for count, expected in case["within_events"].items():
        result = found(f"{case['query']} WITHIN {count} EVENTS", VECTORS["streams"][case["stream"]])
        assert sorted(map(list, result)) == sorted(expected)


def test_variable_bound_nowhere_ranges_over_the_whole_stream() -> None:
    # φ5 of section 5.1: {2} depends on the T event at 6. The checker refuses it; the definition does not.
    assert found("(H AS x) FILTER y.type = 'T' AND y.value <= 30", FIGURE1) == [(0,), (2,), (3,), (7,), (8,)]
    assert found("(H AS x) FILTER y.type = 'T' AND y.value < 0", FIGURE1) == []
    assert found("(H AS x) FILTER y.type = 'T' FILTER y.type = 'H'", FIGURE1) == []


# Answers others get wrong ---------------------------------------------------------------------------------------------


def test_nested_iteration_gives_each_result_once() -> None:
    expected = [(0, 1, 2, 3, 4), (0, 1, 4), (0, 2, 3, 4), (0, 3, 4), (2, 3, 4)]
    assert found("((A AS x)+ ; B AS y)+ ; C AS z", "A B A B C") == expected


def test_iteration_takes_every_subset_up_to_the_closing_event() -> None:
    assert found("A+ ; B", "A B") == [(0, 1)]
    assert found("A+ ; B", "A A B") == [(0, 1, 2), (0, 2), (1, 2)]
    assert (0, 1, 2, 3) in found("A ; B+ ; C", "A B B C")  # the event just before the closing one


def test_no_hidden_window() -> None:
    assert found("A ; B", "A " + "C " * 200 + "B") == [(0, 201)]


def test_strategies_differ() -> None:
    def of(strategy: str) -> list[tuple[int, ...]]:
        return found(f"SELECT {strategy} * WHERE A AS x ; (B AS y)+ ; C AS z", "A A B B C")

    assert of("ALL") == [(0, 2, 3, 4), (0, 2, 4), (0, 3, 4), (1, 2, 3, 4), (1, 2, 4), (1, 3, 4)]
    assert of("NXT") == [(0, 2, 3, 4)]
    assert of("LAST") == [(1, 2, 3, 4)]
    assert of("MAX") == [(0, 2, 3, 4), (1, 2, 3, 4)]
    assert of("STRICT") == [(1, 2, 3, 4)]


def test_next_and_last_can_prefer_a_smaller_set() -> None:
    # {0,1,3} and {0,2,3}: the first difference decides NXT, the last difference decides LAST; MAX keeps both.
    assert found("SELECT NXT * WHERE A ; B ; C", "A B B C") == [(0, 1, 3)]
    assert found("SELECT LAST * WHERE A ; B ; C", "A B B C") == [(0, 2, 3)]
    assert found("SELECT MAX * WHERE A ; B ; C", "A B B C") == [(0, 1, 3), (0, 2, 3)]


# Variables ------------------------------------------------------------------------------------------------------------


def test_reused_variables() -> None:
    assert found("A AS x ; A AS x", "A A A") == []
    assert found("(A AS x) OR (B AS x)", "A B") == [(0,), (1,)]
    assert found("(A AS x ; (A AS x OR B AS y)) FILTER x.v = 1", "A!1 A!1 B!1") == [(0, 2), (1, 2)]


def test_iteration_renews_its_own_variables() -> None:
    assert found("(A AS x FILTER x.v > 0)+", "A!1 A!0 A!2") == [(0,), (0, 2), (2,)]
    # The x inside is not the x outside.
    assert found("A AS x ; (B AS x FILTER x.v = 1)+", "A!0 B!1 B!2") == [(0, 1)]


def test_filter_inside_iteration_on_a_variable_outside() -> None:
    assert found("A AS x ; (B AS y FILTER x.v = 1)+", "A!1 A!2 B") == [(0, 2)]
    assert found("(B AS y FILTER x.v = 1)+ ; A AS x", "B B A!1 A!2") == [(0, 1, 2), (0, 2), (1, 2)]
    # Correlated: each iteration compares with the same x.
    assert found("A AS x ; (B AS y FILTER y.v > x.v)+ ; C", "A!1 B!2 B!0 B!3 C") == [(0, 1, 3, 4), (0, 1, 4), (0, 3, 4)]


def test_iteration_of_a_pair_correlates_within_each_pair() -> None:
    query = "((A AS x ; B AS y) FILTER x.v = y.v)+"
    assert found(query, "A!1 B!1 A!2 B!2 B!1") == [(0, 1), (0, 1, 2, 3), (2, 3), (0, 4)]


def test_disjunction_of_conditions_on_different_variables() -> None:
    assert found("(A AS x ; B AS y) FILTER x.v = 1 OR y.v = 1", "A!1 A!0 B!0 B!1 B") == [(0, 2), (0, 3), (1, 3), (0, 4)]


# Contiguity -----------------------------------------------------------------------------------------------------------


def test_contiguous_sequence() -> None:
    assert found("A : B", "A B C B") == [(0, 1)]
    assert found("A : B ; C", "A B D C") == [(0, 1, 3)]
    assert found("A : (B ; C)", "A B D C") == [(0, 1, 3)]
    assert found("(A ; B) : C", "A D B C") == [(0, 2, 3)]
    assert found("A : B", "A D B") == []


def test_contiguous_iteration() -> None:
    assert found("A:+", "A A C A") == [(0,), (0, 1), (1,), (3,)]
    # Iterations touch each other, the events inside one need not.
    assert found("(A ; B):+", "A C B A B") == [(0, 2), (0, 2, 3, 4), (0, 4), (3, 4)]


# NOT ------------------------------------------------------------------------------------------------------------------


def test_absent_between() -> None:
    assert found("A ; NOT B ; C", "A B C A D C") == [(3, 5)]
    assert found("A ; NOT ANY ; C", "A C D C") == [(0, 1)]
    assert found("A ; NOT B ; NOT D ; C", "A C B C A D C A C") == [(0, 1), (7, 8)]


def test_absent_with_a_filter() -> None:
    assert found("A ; (NOT B AS y FILTER y.v > 1) ; C", "A B!1 C B C B!2 C") == [(0, 2), (0, 4)]


def test_absent_filter_may_compare_with_an_earlier_or_later_event() -> None:
    assert found("A AS x ; (NOT B AS y FILTER y.v > x.v) ; C", "A!1 A!2 B!2 C") == [(1, 3)]
    assert found("A AS x ; (NOT B AS y FILTER y.v > z.v) ; C AS z", "A B!2 C!1 C!2") == [(0, 3)]


def test_absent_looks_only_between_its_neighbours() -> None:
    assert found("A ; NOT B ; C ; D", "A C B D") == [(0, 1, 3)]
    assert found("A ; B+ ; NOT B ; C", "A B B C") == [(0, 1, 2, 3), (0, 2, 3)]


def test_absent_belongs_to_the_gap_whatever_the_brackets() -> None:
    for query in ("A ; NOT B ; C", "(A ; NOT B) ; C", "A ; (NOT B ; C)", "(A ; NOT B ; C)", "[A ; (NOT B)] ; C"):
        assert found(query, "A C B C") == [(0, 1)]


def test_absent_in_iteration() -> None:
    assert found("(A ; NOT D ; B)+ ; C", "A D B A B C") == [(3, 4, 5)]


def test_absent_at_the_end() -> None:
    query = "A ; NOT B WITHIN 2 seconds"
    assert found(query, "A@0 B@3") == [(0,)]
    assert found(query, "A@0 B@2") == []
    assert found(query, "A@0 B@0") == []
    assert found(query, "B@0 A@0 C@9") == [(0 + 1,)]  # an event before it, at the same time, does not count
    assert found(query, "A@0") == [(0,)]  # the stream ended: nothing can come any more
    assert found("A ; (NOT B AS y FILTER y.v = 1) WITHIN 2 seconds", "A@0 B@1!0 A@2 B@3!1") == [(0,)]


def test_absent_at_the_end_counts_from_the_first_event() -> None:
    query = "A ; C ; NOT B WITHIN 4 seconds"
    assert found(query, "A@0 A@2 C@3 B@5") == [(0, 2)]
    assert found(query, "A@0 C@5") == []  # the window itself still holds
    assert found(f"SELECT MAX * WHERE {query}", "A@0 A@2 C@3 B@5") == [(0, 2)]


def test_strategies_choose_among_what_the_absence_leaves() -> None:
    assert found("SELECT LAST * WHERE A ; C ; NOT B WITHIN 4 seconds", "A@0 A@2 C@3 B@5") == [(0, 2)]
    assert found("SELECT LAST * WHERE A ; C ; NOT B WITHIN 4 seconds", "A@0 A@2 C@3 B@7") == [(1, 2)]


def test_absent_at_the_end_is_reported_by_deadline() -> None:
    assert found("A ; C ; NOT B WITHIN 9 seconds", "A@0 A@1 C@2 C@3") == [(0, 2), (0, 3), (1, 2), (1, 3)]
    rows = [{"type": "A", "ts": 0, "k": k} for k in (7, 8, 7)]
    assert found("A ; NOT B PARTITION BY k WITHIN 1 s", rows) == [(0,), (2,), (1,)]


def test_absent_at_the_end_below_a_filter() -> None:
    assert found("(A AS x ; NOT B) FILTER x.v = 1 WITHIN 1 s", "A@0!1 A@0!2") == [(0,)]


def test_absent_without_a_place_is_refused() -> None:
    with pytest.raises(QueryError, match="NOT at the end needs WITHIN"):
        found("A ; NOT B", "A")
    with pytest.raises(QueryError, match="NOT needs an event before it"):
        found("NOT B ; A", "A")


def test_nothing_waits_where_all_before_the_absence_is_left_out() -> None:
    assert found("A? ; NOT B FOR 1 s", "A B A") == [(2,)]
    assert found("A* : NOT B", "A A B") == [(0,)]


# Windows --------------------------------------------------------------------------------------------------------------


def test_within_events() -> None:
    assert found("A ; B WITHIN 1 EVENTS", "A B") == []
    assert found("A ; B WITHIN 2 EVENTS", "A B B") == [(0, 1)]
    assert found("A WITHIN 1 EVENTS", "A C A") == [(0,), (2,)]


def test_within_time_includes_its_end() -> None:
    assert found("A ; B WITHIN 2 seconds", "A@0 B@2 B@2.5 A@4 B@4") == [(0, 1), (3, 4)]
    assert found("A ; B WITHIN 2500 ms", "A@0 B@2 B@2.5") == [(0, 1), (0, 2)]


@pytest.mark.parametrize("zone", [None, UTC])
def test_within_time_on_timestamps(zone: Any) -> None:
    start = datetime(2026, 3, 29, tzinfo=zone)
    rows = [{"type": t, "ts": start + timedelta(minutes=m)} for t, m in [("A", 0), ("B", 60), ("B", 61)]]
    assert found("A ; B WITHIN 1 hour", rows) == [(0, 1)]


def test_within_time_needs_a_time_column() -> None:
    with pytest.raises(DataError, match="time column"):
        found("A ; B WITHIN 1 hour", "A B", time=None)


def test_within_attribute() -> None:
    rows = [{"type": t, "km": km} for t, km in [("A", 0.5), ("B", 2.5), ("B", 2.6)]]
    assert found("A ; B WITHIN 2 ON km", rows) == [(0, 1)]


def test_window_restricts_before_the_strategy_selects() -> None:
    assert found("SELECT NXT * WHERE A ; B WITHIN 2 EVENTS", "A A B") == [(1, 2)]
    assert found("SELECT MAX * WHERE A+ ; B WITHIN 2 EVENTS", "A A B") == [(1, 2)]


# Partitions -----------------------------------------------------------------------------------------------------------


def keyed(text: str) -> list[Row]:
    """`A1 B2 A-`: type and key; `-` is null."""
    return [{"type": word[0], "k": None if word[1] == "-" else int(word[1])} for word in text.split()]


def test_partitions_with_a_null_key() -> None:
    assert found("A ; B PARTITION BY k", keyed("A1 A- B2 B- B1")) == [(1, 3), (0, 4)]
    rows: list[Row] = [{"type": "A", "k": float("nan")}, {"type": "B", "k": float("nan")}, {"type": "B"}]
    assert found("A ; B PARTITION BY k", rows) == [(0, 1)]


def test_contiguity_and_event_counts_are_those_of_the_partition() -> None:
    rows = keyed("A1 A2 B1 C2 B2")
    assert found("A : B PARTITION BY k", rows) == [(0, 2)]
    assert found("SELECT STRICT * WHERE A ; B PARTITION BY k", rows) == [(0, 2)]
    assert found("A ; B PARTITION BY k WITHIN 2 EVENTS", rows) == [(0, 2)]
    assert found("A ; B PARTITION BY k WITHIN 3 EVENTS", rows) == [(0, 2), (1, 4)]


def test_absence_is_that_of_the_partition() -> None:
    assert found("A ; NOT C ; B PARTITION BY k", keyed("A1 C2 B1 A2 C2 B2")) == [(0, 2)]


# Consumption ----------------------------------------------------------------------------------------------------------


def test_consume_forgets_what_began_before() -> None:
    assert found("A ; B", "A B B A B") == [(0, 1), (0, 2), (0, 4), (3, 4)]
    for mode in ("ANY", "PARTITION"):
        assert found(f"A ; B CONSUME BY {mode}", "A A B B A B") == [(0, 2), (1, 2), (4, 5)]
    assert found("A ; B CONSUME BY NONE", "A B B") == [(0, 1), (0, 2)]


def test_consume_by_partition_and_by_any() -> None:
    rows = keyed("A1 A2 B1 B2 A2 B2")
    assert found("A ; B PARTITION BY k CONSUME BY PARTITION", rows) == [(0, 2), (1, 3), (4, 5)]
    assert found("A ; B PARTITION BY k CONSUME BY ANY", rows) == [(0, 2), (4, 5)]


def test_only_a_reported_match_consumes() -> None:
    # {0,2} is not strict, so that 0 and 1 stay; {0,1,3} outside of the window does not consume either.
    assert found("SELECT STRICT * WHERE A ; B CONSUME BY ANY", "A C B A B") == [(3, 4)]
    assert found("A ; B WITHIN 2 EVENTS CONSUME BY ANY", "A C B A B") == [(3, 4)]


def test_strategy_chooses_among_what_is_left_after_consumption() -> None:
    assert found("SELECT NXT * WHERE A ; B CONSUME BY ANY", "A A B A A B") == [(0, 2), (3, 5)]


def test_a_single_event_match_consumes_itself() -> None:
    assert found("A OR (A ; B) CONSUME BY ANY", "A B A") == [(0,), (2,)]


# Labels ---------------------------------------------------------------------------------------------------------------


def test_labels() -> None:
    result = run("A AS x ; (B AS y)+ ; C", "A B B C")
    assert [(match.positions, match.labels, match.end) for match in result.matches] == [
        ((0, 1, 2, 3), {"x": (0,), "y": (1, 2)}, 3),
        ((0, 1, 3), {"x": (0,), "y": (1,)}, 3),
        ((0, 2, 3), {"x": (0,), "y": (2,)}, 3),
    ]


def test_labelled_output_is_distinct_in_order_of_first_completion() -> None:
    result = run("A AS x ; B AS y ; C AS z", "A B A B C C")
    assert result.labelled(["x"]) == [{"x": (0,)}, {"x": (2,)}]
    assert result.labelled(["z", "x"]) == [
        {"z": (4,), "x": (0,)},
        {"z": (4,), "x": (2,)},
        {"z": (5,), "x": (0,)},
        {"z": (5,), "x": (2,)},
    ]


def test_labelled_output_of_an_unbound_variable() -> None:
    assert run("A AS x OR B AS y", "A B B").labelled(["x"]) == [{"x": (0,)}, {"x": ()}]


def test_every_labelling_of_a_selected_set_counts() -> None:
    query = "SELECT MAX * WHERE (A AS x OR ANY AS y)+"
    result = run(query, "A A")
    assert result.positions() == [(0,), (0, 1)]
    assert result.labelled(["x", "y"]) == [
        {"x": (0,), "y": ()},
        {"x": (), "y": (0,)},
        {"x": (0,), "y": (1,)},
        {"x": (0, 1), "y": ()},
        {"x": (1,), "y": (0,)},
        {"x": (), "y": (0, 1)},
    ]


# Relations ------------------------------------------------------------------------------------------------------------


def test_null_type_is_only_any() -> None:
    rows: list[Row] = [{"type": None}, {"type": "A"}]
    assert found("ANY AS x", rows) == [(0,), (1,)]
    assert found("A AS x", rows) == [(1,)]


def test_stream_without_a_type_column() -> None:
    rows = [{"v": 1}, {"v": 2}]
    assert found("SELECT * FROM S WHERE S AS x FILTER x.v > 1", rows) == [(1,)]
    assert found("SELECT * FROM S WHERE ANY AS x ; S AS y", rows) == [(0, 1)]
    assert found("S AS x ; (S AS y FILTER y.v = 2)", rows) == [(0, 1)]
    assert found("SELECT * FROM S WHERE R AS x", rows) == []
    assert found("S AS x ; R AS y", rows) == []
    assert found("A AS x", [{"kind": "A"}, {"kind": "B"}], type="kind") == [(0,)]


def test_empty_stream() -> None:
    assert found("A ; B+", []) == []


def test_null_and_missing_values_do_not_pass() -> None:
    rows: list[Row] = [{"type": "A", "v": 1}, {"type": "A", "v": None}, {"type": "A"}]
    assert found("A AS x FILTER x.v = 1 OR x.v != 1", rows) == [(0,)]
    assert found("A AS x FILTER NOT (x.v = 1)", rows) == []
    assert found("A AS x FILTER x.v IS NULL", rows) == [(1,), (2,)]
    assert found("A AS x FILTER 1 / (x.v - 1) > 0 OR x.v = 1", rows) == [(0,)]
