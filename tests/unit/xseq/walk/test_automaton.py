"""The walk of a path: its moves, and what runs have bound in each state."""

from __future__ import annotations

from ostinato.xseq.plan.check import parse_and_check
from ostinato.xseq.syntax import nodes as n
from ostinato.xseq.walk.automaton import Jump, Walk, build_walk


def walk(text: str) -> Walk:
    return build_walk(parse_and_check(text).path, {})


def test_a_star_is_a_loop() -> None:
    found = walk("//a (/b)* /c")
    assert [(move.source, str(move.axis), move.test and move.test.name, move.target) for move in found.moves] == [
        (0, "descendant", "a", 1),
        (1, "child", "b", 2),
        (1, "child", "c", 3),
        (2, "child", "b", 2),
        (2, "child", "c", 3),
    ] and found.accepting == {3}  # fmt: skip


def test_predicates_with_a_path_come_back() -> None:
    found = walk("//a[b/c]")
    assert [move.axis for move in found.moves] == [
        n.Axis.DESCENDANT,
        Jump.MARK,
        n.Axis.CHILD,
        n.Axis.CHILD,
        Jump.BACK,
    ]
    assert found.marks == 1 and walk("//a[@p]").marks == 0


def test_what_runs_have_bound() -> None:
    found = walk("return $X@p from //$X (/$Y)* /$Z")
    end = next(iter(found.accepting))
    assert found.bound_before[0] == found.maybe_bound[0] == frozenset()
    assert found.bound_before[end] == {"X", "Z"} and found.maybe_bound[end] == {"X", "Y", "Z"}
    assert found.bound_after[0] == {"X", "Y", "Z"} and found.bound_after[end] == frozenset()


def test_a_path_variable_enters_a_round() -> None:
    assert [move.enters for move in walk("return $X@p from // ($Z: $X $Y $Z)").moves if move.binds == "X"] == 3 * [
        ("Z",)
    ]
