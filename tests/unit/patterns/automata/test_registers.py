"""Registers: what is refused, what runs remember, and when a complex event can be found twice."""

from __future__ import annotations

import pytest

import ostinato as ost
from ostinato.patterns.automata.registers import is_ambiguous
from ostinato.patterns.compile import compile_text


@pytest.mark.parametrize(
    ("text", "place", "reason", "fix"),
    [
        (
            "(T AS y FILTER y.v > x.v)+ ; H AS x",
            "x.v",
            "every `y` of the loop would have to be remembered",
            "before the loop",
        ),
        ("T AS x ; (NOT H AS h FILTER h.id = y.id) ; K AS y", "y.id", "only with events before it", "before the NOT"),
        (
            "(T AS x ; H AS y) FILTER concat(x.s, y.s) = 'ab'",
            "concat(x.s, y.s)",
            "concat cannot combine",
            "on its own",
        ),
    ],
)
def test_what_is_refused(text: str, place: str, reason: str, fix: str) -> None:
    with pytest.raises(ost.QueryError) as caught:
        ost.cel(text)
    assert reason in caught.value.reason and fix in str(caught.value.fix)
    assert caught.value.span is not None and text[caught.value.span.start : caught.value.span.end] == place


def test_a_test_stands_on_the_last_event_it_reads() -> None:
    transducer = compile_text("(A AS x ; B AS y ; C AS z) FILTER x.v < y.v AND x.id = 1").transducer
    (tested,) = [t for t in transducer.transitions if t.test is not None]
    assert tested.mark == "y" and tested.reads == {"x"}
    assert [t.writes for t in transducer.transitions if t.mark == "x"] == [("x",)]
    assert all(not t.writes for t in transducer.transitions if t.mark in ("y", "z"))


def test_a_filter_before_its_event_moves_to_it() -> None:
    """The value of y is kept until x comes, in the branch that asks for it alone."""
    transducer = compile_text("((B AS y FILTER y.v > x.v) OR C AS w) ; A AS x").transducer
    tested = [t for t in transducer.transitions if t.test is not None]
    assert {t.mark for t in tested} == {"x"} and {register for t in tested for register in t.reads} == {"y"}


def test_cells_are_only_what_later_tests_read() -> None:
    registers = compile_text("(A AS x ; B AS y ; C AS z) FILTER x.v < y.v AND z.w > 2 * y.w").registers
    assert registers is not None
    assert len(registers.cells) == 2
    assert [len(cells) for cells in registers.needed] == [0, 1, 1, 0]


def test_a_variable_under_a_plus_is_another_one() -> None:
    query = ost.cel("A AS x ; (B AS x ; B AS y FILTER y.v = x.v)+ ; A AS z FILTER z.v = x.v")
    rows = [("A", 1), ("B", 5), ("B", 5), ("B", 6), ("B", 6), ("A", 1)]
    events = [{"type": kind, "v": value} for kind, value in rows]
    assert [0, 1, 2, 3, 4, 5] in query.detect(events)["positions"].to_pylist()


@pytest.mark.parametrize(
    ("text", "twice"),
    [
        ("(A AS x ; B AS y) FILTER x.v < y.v", False),
        ("(A AS x ; (B AS y)+ ; C AS z) FILTER x.v < z.v", False),
        ("((A AS x ; B AS y) FILTER x.v < y.v) OR ((A AS x ; B AS y) FILTER x.w < y.w)", True),
        ("((A AS x ; B AS y) FILTER x.v < y.v) OR ((A AS x ; C AS y) FILTER x.w < y.w)", False),
    ],
)
def test_ambiguity(text: str, twice: bool) -> None:
    assert is_ambiguous(compile_text(text).transducer) is twice


def test_a_complex_event_that_two_runs_find_is_given_once() -> None:
    query = ost.cel("((A AS x ; B AS y) FILTER x.v < y.v) OR ((A AS x ; B AS y) FILTER x.w < y.w)")
    events = [{"type": "A", "v": 1, "w": 1}, {"type": "B", "v": 2, "w": 2}]
    assert query.detect(events)["positions"].to_pylist() == [[0, 1]]
    assert query.count(events) == 1


@pytest.mark.parametrize(
    ("text", "never"),
    [
        ("A AS x ; B AS y FILTER x.v < y.v AND y.v < x.v", True),
        ("A AS x ; B AS y FILTER x.v < y.v AND x.v > 5 AND y.v < 3", False),  # seen only by both events together
        ("(A AS x ; B AS y FILTER x.v < y.v AND y.v < x.v) OR C AS z", False),
        ("A AS x ; B AS y FILTER x.v < y.v AND y.w < x.v", False),
    ],
)
def test_conditions_that_no_events_pass(text: str, never: bool) -> None:
    assert any("no events pass" in warning for warning in ost.cel(text).warnings) is never


def test_a_diagram_shows_tests_and_registers() -> None:
    dot = ost.cel("A AS x ; (NOT C AS n FILTER n.id = x.id) ; B AS y FILTER x.v < y.v").diagram().dot()
    assert "A / • x → x" in dot and "B[x.v < v]" in dot and "not C[id = x.id]" in dot


def test_events_that_must_equal_a_later_one() -> None:
    """They must equal each other, so the first of them is enough; another condition has a register of its own."""
    rows = [("A", 1, 0), ("A", 1, 0), ("A", 2, 0), ("B", 0, 1), ("C", 0, 0), ("B", 0, 2)]
    events = [{"type": kind, "id": number, "k": other} for kind, number, other in rows]
    query = ost.cel("(A AS x FILTER x.id = y.k)+ ; B AS y ; C AS z")
    assert sorted(query.detect(events)["positions"].to_pylist()) == [[0, 1, 3, 4], [0, 3, 4], [1, 3, 4]]
    either = ost.cel("((A AS x FILTER x.id = y.k) OR (C AS x FILTER x.k = y.id))+ ; B AS y")
    assert [2, 4, 5] in either.detect(events)["positions"].to_pylist()
    with pytest.raises(ost.QueryError, match="would have to be remembered"):
        ost.cel("((A AS x FILTER x.id = y.k)+ ; B AS y)+")  # y is another one in each round
