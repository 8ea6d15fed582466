"""The algebra of automata (SRA paper, Theorem 5.9), with registers that clash and windows that differ."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato.errors import LimitError
from ostinato.patterns.sra.automaton import Automaton
from ostinato.patterns.sra.from_srem import build_sra
from ostinato.patterns.sra.rename_registers import rename_apart
from ostinato.patterns.syntax.srem.parse import parse

Row = dict[str, Any]


def built(text: str, window: int | None = None) -> Automaton:
    return build_sra(parse(text).expression, window)


def values(*numbers: int) -> list[Row]:
    return [{"v": number} for number in numbers]


RISE, FALL = built("true -> r . ([v > r.v] -> r)+"), built("true -> r . ([v < r.v] -> r)+")


def test_union() -> None:
    either = RISE | FALL
    assert either.accepts(values(1, 2, 3))
    assert either.accepts(values(3, 2, 1))
    assert not either.accepts(values(1, 3, 2))
    assert not either.epsilons


def test_intersection() -> None:
    ends_high = built("true* . [v > 5]")
    both = RISE & ends_high
    assert both.accepts(values(1, 2, 9))
    assert not both.accepts(values(1, 2, 3))
    assert not both.accepts(values(9, 2, 9))


def test_the_tests_of_an_intersection_are_joined_without_repetition() -> None:
    one, both = built("[v = 1]"), built("[v = 1 AND v < 9]")
    assert [str(rule) for rule in (one & both).rules] == ["0 --[v = 1 AND v < 9]--> 1"]
    assert [str(rule) for rule in (one & built("true")).rules] == ["0 --[v = 1]--> 1"]
    assert (one & built("[FALSE]")).rules == ()


def test_rules_that_exclude_each_other_are_not_in_an_intersection() -> None:
    """Of the product of two counters only the states stay that some event leads to."""
    left = built("([v = 1] . [v = 2] . [v = 3])*")
    right = built("([v > 0 AND v < 2] . [v != 1] . [v > 2])*")
    both = left & right
    assert [str(rule) for rule in both.rules] == [
        "0 --[v = 1 AND v > 0 AND v < 2]--> 1",
        "1 --[v = 2 AND v != 1]--> 2",
        "2 --[v = 3 AND v > 2]--> 0",
    ]
    assert (built("[v < 1]") & built("[v > 1]")).rules == ()


def test_intersection_keeps_registers_apart() -> None:
    above_first = built("true -> r . [v > r.v]+")
    below_last_but_one = built("true . true -> r . [v < r.v]")
    both = above_first & below_last_but_one
    assert len(both.registers) == 2
    assert both.accepts(values(1, 9, 5))
    assert not both.accepts(values(1, 9, 0))
    assert not both.accepts(values(1, 5, 9))


def test_concatenation() -> None:
    peak = RISE + FALL
    assert peak.accepts(values(1, 5, 9, 2))
    assert not peak.accepts(values(1, 5, 9))
    assert not peak.accepts(values(9, 5, 1))


def test_the_second_part_starts_with_empty_registers() -> None:
    left = built("true -> r")
    right = built("(true -> r)? . [v = r.v]")
    assert not (left + right).accepts(values(1, 1))
    assert (left + right).accepts(values(1, 2, 2))


def test_every_round_of_a_star_starts_with_empty_registers() -> None:
    inner = built("[v = 1] -> r | ([v = 1] -> r)? . [v = r.v AND v < 1]")
    assert not inner.accepts(values(0))
    rounds = inner.star()
    assert rounds.accepts([])
    assert rounds.accepts(values(1, 1, 1))
    optional = built("[v = 1] -> r | ([v = 5] -> r)? . [v = r.v + 1]")
    assert not optional.star().accepts(values(1, 2))  # as an SREM, ( … )* would read what the first round wrote
    assert optional.star().accepts(values(1, 5, 6))
    sawtooth = RISE.star()
    assert sawtooth.accepts(values(1, 2, 0, 5))
    assert not sawtooth.accepts(values(1, 2, 0))


@pytest.mark.parametrize("count", range(7))
def test_windows(count: int) -> None:
    rows = values(*[1] * count)
    two, three = built("true*", 2), built("true*", 3)
    ones = built("true")
    assert (two | three).accepts(rows) is (count <= 3)
    assert (two | ones).accepts(rows) is (count <= 2)
    assert (two & three).accepts(rows) is (count <= 2)
    assert (built("true*") & three).accepts(rows) is (count <= 3)
    assert (two + three).accepts(rows) is (count <= 5)
    assert (built("true . true", 2) + built("true*")).accepts(rows) is (count >= 2)
    assert built("true . true . true*", 3).star().accepts(rows) is (count != 1)
    assert built("true . true . true", 2).star().accepts(rows) is (count == 0)


def test_equal_windows_stay_windows() -> None:
    assert (built("true*", 5) | built("[v = 1]*", 5)).window == 5
    assert (built("true*", 5) & built("[v = 1]*", 3)).window == 3


@pytest.mark.slow
def test_a_huge_window_is_refused_where_it_would_be_counted() -> None:
    huge = built("true*", 10**9)
    assert (huge & huge).window == 10**9
    assert (huge | huge).window == 10**9
    for operation in (lambda: huge + huge, huge.star, lambda: huge | RISE):
        with pytest.raises(LimitError, match="narrower window"):
            operation()


def test_new_names_do_not_clash() -> None:
    automaton = built("true -> r, r_2 . [v = r.v AND v = r_2.v]")
    moved = rename_apart(automaton, {"r", "r_3"})
    assert moved.registers == {"r_2", "r_4"}
    assert moved.accepts(values(1, 1))
    assert rename_apart(automaton, {"x"}) == automaton
