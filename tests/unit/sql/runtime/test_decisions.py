"""Which programs become tests, and where these lead."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from ostinato.sql.kernels import opcodes as p
from ostinato.sql.runtime.decisions import tests_of as to_tests

A, B = (p.COMPARE_ROWS, 0 | p.LESS << 2 * p.PACKED, 1), (p.COMPARE_ROWS, 1 | p.GREATER << 2 * p.PACKED, 2)
AND, OR, NOT, REQUIRE = (p.AND, 0, 0), (p.OR, 0, 0), (p.NOT, 0, 0), (p.REQUIRE, 0, 0)


def expected(steps: list[tuple[int, Any, Any]], values: dict[int, bool | None]) -> bool:
    """In three-valued logic, over a stack."""
    stack: list[bool | None] = []
    for op, a, _ in steps:
        if op == p.COMPARE_ROWS:
            stack.append(values[a & p.MASK])
        elif op == p.NOT:
            value = stack.pop()
            stack.append(None if value is None else not value)
        elif op == p.REQUIRE:
            if stack.pop() is not True:
                return False
        else:
            decisive, pair = op == p.OR, (stack.pop(), stack.pop())
            stack.append(decisive if decisive in pair else None if None in pair else not decisive)
    return True


def outcome(steps: list[tuple[int, Any, Any]], values: dict[int, bool | None]) -> bool:
    tests = to_tests(steps)
    assert tests is not None
    at = 0
    while at >= 0:
        _, packed, _, then, otherwise = tests[at]
        column, asked = packed & p.MASK, packed >> 2 * p.PACKED
        value = values[column]
        outcomes = p.LESS if column == 0 else p.GREATER  # those for which the comparison as it is written is TRUE
        at = then if value is not None and value == (asked == outcomes) else otherwise
    return at == p.PASSED


@pytest.mark.parametrize(
    "steps",
    [
        [A, B, AND, REQUIRE],
        [A, B, OR, REQUIRE],
        [A, REQUIRE, B, NOT, REQUIRE],
        [A, B, AND, NOT, REQUIRE],
        [A, B, NOT, OR, NOT, A, B, OR, AND, REQUIRE],
        [A, NOT, B, AND, A, OR, B, A, NOT, OR, AND, REQUIRE],
    ],
)
def test_tests_say_what_the_program_says(steps: list[tuple[int, Any, Any]]) -> None:
    for one, other in itertools.product((True, False, None), repeat=2):
        assert outcome(steps, {0: one, 1: other}) == expected(steps, {0: one, 1: other})


def test_totals_are_compared_with_whole_numbers_alone() -> None:
    total, compare = (p.LOAD_TOTAL, 3, 0), (p.COMPARE, p.LESS, 0)
    packed = 3 | p.LESS << p.PACKED
    assert to_tests([total, (p.CONSTANT_INT, 300, 0), compare, REQUIRE]) == [
        (p.TEST_TOTAL, packed, 300, p.PASSED, p.NOT_PASSED)
    ]
    assert to_tests([total, total, compare, REQUIRE]) is None
    assert to_tests([(p.LOAD_INT, 0, 0), (p.IS_NULL, 0, 0), NOT, REQUIRE]) == [
        (p.TEST_NOT_NULL, 0, 0, p.PASSED, p.NOT_PASSED)
    ]
    assert to_tests([(p.ASK_ENGINE, 0, 0)]) is None
