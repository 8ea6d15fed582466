"""The examples of the register match automata paper (and the correlated ones of the CEL paper), by the public API."""

from __future__ import annotations

from typing import Any

import pytest

import ostinato as ost

Stream = list[dict[str, Any]]
Positions = list[tuple[int, ...]]


def stream(types: str, ids: list[int], values: list[float]) -> Stream:
    return [{"type": t, "id": i, "value": v} for t, i, v in zip(types, ids, values, strict=True)]


TABLE1 = stream("TTTHHT", [1, 1, 2, 1, 1, 2], [22, 24, 32, 70, 68, 33])  # RMA paper, Table 1
FIGURE1 = stream("HTHHTTTHH", [2, 0, 0, 1, 1, 0, 1, 1, 0], [25, 45, 20, 25, 40, 42, 25, 70, 18])  # CEL paper, Figure 1

EXPRESSION1 = "T AS x ; H AS y FILTER x.id = y.id"
EXPRESSION4 = "((T AS x FILTER x.value < -40) OR (T AS x FILTER x.value > 50)) ; T AS y FILTER y.id = x.id"
NESTED = """((T AS x1 ; T AS x2 FILTER x1.value = x2.value) ;
             (H AS x3 ; H AS x4 FILTER x3.value = x4.value)+)+"""
PHI4 = """[H AS x ; (T AS y FILTER y.id = x.id)+ ; H AS z]
          FILTER x.value < 30 AND z.value > 60 AND x.id = z.id"""


def found(text: str, rows: Stream) -> Positions:
    return sorted(map(tuple, ost.cel(text).detect(rows)["positions"].to_pylist()))


def test_all_pairs_of_table_1() -> None:
    """Section 3: matches need not be contiguous."""
    assert found("(T AS x) ; (H AS y)", TABLE1) == [(0, 3), (0, 4), (1, 3), (1, 4), (2, 3), (2, 4)]


@pytest.mark.parametrize(
    "text",
    [
        EXPRESSION1,
        "(T AS x ; H AS y) FILTER x.id = y.id",
        "T AS x ; (H AS y FILTER x.id = y.id)",
        "T AS x ; H AS y FILTER NOT x.id != y.id",
        "T AS x ; H AS y FILTER x.id <= y.id AND x.id >= y.id",
        "T AS x ; H AS y FILTER x.id - y.id = 0",
        "ANY AS x ; ANY AS y FILTER x.id = y.id AND x.type = 'T' AND y.type = 'H'",
    ],
)
def test_expression_1(text: str) -> None:
    """Expression (1): the same but for those that pair the T of sensor 2 with an H of sensor 1. The test may be written
    with partitioning in mind or not: the automaton of Figure 1 answers the same as one split by id."""
    assert found(text, TABLE1) == [(0, 3), (0, 4), (1, 3), (1, 4)]


def test_the_matches_after_four_events() -> None:
    """Run (3) and the run beside it: after t0 … t3 the automaton of Figure 1 has marked {1, 3} and {0, 3}."""
    engine = ost.cel(EXPRESSION1).engine()
    completed = [sorted(engine.push([row])["positions"].to_pylist()) for row in TABLE1]
    assert completed == [[], [], [], [[0, 3], [1, 3]], [[0, 4], [1, 4]], []]


def test_expression_2_with_equality() -> None:
    """Expression (2) itself is not bounded, but as the paper says, equality alone needs only the first T: all events of
    a match have one id, so each id is matched apart."""
    text = "(T AS x FILTER x.id = y.id)+ ; (H AS y)"
    assert found(text, TABLE1) == [(0, 1, 3), (0, 1, 4), (0, 3), (0, 4), (1, 3), (1, 4)]
    other = ost.cel("(T AS x FILTER x.id + 1 = y.id + 1)+ ; (H AS y)")
    assert sorted(map(tuple, other.detect(TABLE1)["positions"].to_pylist())) == found(text, TABLE1)
    assert "`x#first with" in other.explain()  # kept in a register, where no attribute ties them all


@pytest.mark.parametrize(
    "condition",
    ["x.id < y.id", "x.id != y.id", "x.id + y.id = 3", "(x.id = y.id OR x.value < y.value)", "NOT x.id = y.id"],
)
def test_expression_2_needs_unbounded_memory(condition: str) -> None:
    """With any other condition all T events would have to be stored."""
    with pytest.raises(ost.QueryError) as caught:
        ost.cel(f"(T AS x FILTER {condition})+ ; (H AS y)")
    assert "`x`" in str(caught.value) and "`y`" in str(caught.value) and "remembered" in str(caught.value)
    assert "fix: compare `x` with an event before the loop" in str(caught.value)


def test_expression_2_read_backwards_is_bounded() -> None:
    """What the fix of Expression (2) suggests: the event to compare with comes first."""
    assert found("H AS y ; (T AS x FILTER x.id != y.id)+", TABLE1) == [(3, 5), (4, 5)]


def test_a_match_of_expression_2_is_found_where_only_two_events_must_agree() -> None:
    """M = {0, 1, 3} is a match of Expression (2); without the + it needs one register for each of its events."""
    text = "(T AS x ; T AS w ; H AS y) FILTER x.id = y.id AND w.id = y.id"
    assert found(text, TABLE1) == [(0, 1, 3), (0, 1, 4)]


def test_nested_iteration() -> None:
    """The bounded expression with nested + (after Definition 2): each round of each + compares its own events."""
    rows = stream("TTHHHTTHH", [0] * 9, [1, 1, 5, 5, 6, 2, 2, 6, 6])
    # The first T pair with the H pairs (2, 3), (4, 7), (4, 8), (7, 8) one after the other, then the second T pair.
    first = [(2, 3), (4, 7), (4, 8), (7, 8), (2, 3, 4, 7), (2, 3, 4, 8), (2, 3, 7, 8)]
    assert found(NESTED, rows) == sorted([(0, 1, *pairs) for pairs in first] + [(5, 6, 7, 8), (0, 1, 2, 3, 5, 6, 7, 8)])


def test_expression_4() -> None:
    """Figure 2: both branches write the register that the last transition reads."""
    rows = stream("TTTTHT", [1, 2, 1, 2, 1, 3], [-50, 60, 20, 20, 0, 20])
    assert found(EXPRESSION4, rows) == [(0, 2), (1, 3)]
    assert found(EXPRESSION4, stream("TTTT", [1, 1, 1, 1], [-41, -40, 50, 51])) == [(0, 1), (0, 2), (0, 3)]


def test_beyond_bounded_expressions() -> None:
    """Not bounded by Definition 2, and yet one register is enough (after Theorem 8)."""
    text = "(T AS x) ; (H AS y FILTER y.id = x.id)+"
    assert found(text, TABLE1) == [(0, 3), (0, 3, 4), (0, 4), (1, 3), (1, 3, 4), (1, 4)]


@pytest.mark.parametrize("many", [1, 7, 500])
def test_more_events_than_any_number_of_registers(many: int) -> None:
    """Theorem 13: m T events and an H of one sensor have m matches, whatever m is."""
    rows = stream("T" * many + "H", [1] * (many + 1), [0] * (many + 1))
    assert found(EXPRESSION1, rows) == [(at, many) for at in range(many)]
    differ = "T AS x ; H AS y FILTER x.id = y.id AND x.value <= y.value"
    assert found(differ, rows) == [(at, many) for at in range(many)]


@pytest.mark.parametrize(
    ("width", "positions"),
    [(1, []), (2, [(1, 2)]), (3, [(0, 2), (1, 2)])],
)
def test_windowed(width: int, positions: Positions) -> None:
    """Definition 14 and Figure 3: max(M) - min(M) < w. The unrolled automaton for w = 2 finds only the second T."""
    rows = stream("TTH", [1, 1, 1], [0, 0, 0])
    assert found(f"{EXPRESSION1} WITHIN {width} EVENTS", rows) == positions


@pytest.mark.parametrize("width", [2, 3, 4, 5])
def test_a_window_is_a_filter_on_the_index(width: int) -> None:
    """Section 6: with the index as an attribute, WINDOW adds no power."""
    rows = [{**row, "index": index} for index, row in enumerate(TABLE1)]
    windowed = found(f"{EXPRESSION1} WITHIN {width} EVENTS", rows)
    assert windowed == found(f"{EXPRESSION1} AND y.index - x.index < {width}", rows)
    assert windowed == [pair for pair in [(0, 3), (0, 4), (1, 3), (1, 4)] if pair[1] - pair[0] < width]


@pytest.mark.parametrize(
    "text",
    [
        "T AS x",
        "T AS x FILTER x.value > 20",
        "(T AS x ; H AS y) FILTER x.id = y.id FILTER x.value < y.value",
        "((T AS x ; H AS y) OR (H AS y ; T AS x)) FILTER x.id = y.id AND x.value < y.value",
        "((T AS x ; H AS y) FILTER x.id = y.id)+",
        "(((T AS x ; H AS y) FILTER x.id = y.id)+ ; T AS z ; H AS w) FILTER z.value < w.value",
        "((T AS x ; H AS y ; T AS z) FILTER x.value + z.value > 2 * y.value) OR (H AS v)",
        EXPRESSION1,
        EXPRESSION4,
        NESTED,
    ],
)
def test_bounded_expressions_are_accepted(text: str) -> None:
    """Definition 2: all variables of a formula are bound where it stands."""
    ost.cel(text).detect(TABLE1)
    assert ost.cel(f"{text} WITHIN 3 EVENTS").count(TABLE1) <= ost.cel(text).count(TABLE1)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("T AS x FILTER x.id = y.id", "y"),
        ("((T AS x) OR (H AS y)) ; T AS z FILTER x.id = z.id", "x"),
        ("(T AS x)+ ; H AS y FILTER x.id = y.id", "x"),
        ("(H AS x) FILTER y.value <= 30", "y"),
    ],
)
def test_what_is_not_well_formed_is_refused_by_name(text: str, named: str) -> None:
    with pytest.raises(ost.QueryError, match=f"`{named}`") as caught:
        ost.cel(text)
    assert "fix:" in str(caught.value)


# The CEL paper --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", [PHI4, PHI4 + " AND x.value <= z.value", PHI4.replace("x.id = z.id", "x.id - z.id = 0")]
)
def test_phi_4(text: str) -> None:
    """Section 2: φ₃ for whatever sensor. The two variants take other ways: the first is still split by id, the second
    cannot be."""
    assert found(text, FIGURE1) == [(3, 4, 6, 7), (3, 4, 7), (3, 6, 7)]


def test_phi_4_does_not_mix_sensors() -> None:
    rows = stream("HTTHH", [1, 2, 1, 2, 1], [20, 0, 0, 70, 70])
    assert found(PHI4, rows) == [(0, 2, 4)]


@pytest.mark.parametrize(
    ("strategy", "positions"),
    [
        ("NXT", [(3, 4, 6, 7)]),
        ("LAST", [(3, 4, 6, 7)]),
        ("MAX", [(3, 4, 6, 7)]),
        ("STRICT", []),
    ],
)
def test_phi_4_with_strategies(strategy: str, positions: Positions) -> None:
    """Section 4: strategies choose among correlated matches as among others."""
    for last in ("x.id = z.id", "x.id - z.id = 0"):
        text = f"SELECT {strategy} * WHERE {PHI4.replace('x.id = z.id', last)}"
        assert found(text, FIGURE1) == positions


def test_a_filter_inside_the_iteration_sees_the_outer_event() -> None:
    """Section 3: in (T AS y FILTER y.id = x.id)+ every y is compared with the one x that is bound outside."""
    rows = stream("HTTT", [1, 1, 2, 1], [0, 1, 2, 3])
    assert found("H AS x ; (T AS y FILTER y.id = x.id)+", rows) == [(0, 1), (0, 1, 3), (0, 3)]
    assert found("H AS x ; (T AS y FILTER y.id != x.id)+", rows) == [(0, 2)]


def test_phi_1_and_phi_2_with_equal_sensors() -> None:
    """Section 2 asks for sensor 0; asking only for one sensor finds those of sensor 1 besides."""
    pair = "FILTER x.value > 40 AND y.value <= 25 AND x.id = y.id"
    assert found(f"(T AS x ; H AS y) {pair}", FIGURE1) == [(1, 2), (1, 8), (5, 8)]
    assert found(f"[(T AS x ; H AS y) OR (H AS y ; T AS x)] {pair}", FIGURE1) == [(1, 2), (1, 8), (2, 5), (5, 8)]
    warm = pair.replace("> 40", ">= 40")
    assert found(f"[(T AS x ; H AS y) OR (H AS y ; T AS x)] {warm}", FIGURE1) == [
        (1, 2), (1, 8), (2, 5), (3, 4), (5, 8)
    ]  # fmt: skip
