"""Programs that only compare values at rows, and totals with constants, as tests that lead from one to the next.

A condition passes where it is TRUE, so a comparison with NULL may as well be false: NOT is moved to the comparisons,
where it asks for the other outcomes. What AND and OR need not know is not evaluated, and nothing goes over a stack.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ostinato.sql.kernels import opcodes as p

Step = tuple[int, int, int, int, int]
Test = tuple[int, int, int]
Tree = tuple[int, Any, Any]  # AND or OR of two, or what a test does and its arguments
_ALL = p.LESS | p.EQUAL | p.GREATER
_TESTS = {p.COMPARE_ROWS: p.TEST_ROWS, p.COMPARE_FLOAT_ROWS: p.TEST_FLOAT_ROWS}
_IS_NULL = {p.LOAD_INT: p.TEST_NULL, p.LOAD_FLOAT: p.TEST_FLOAT_NULL}
_OTHERWISE = {
    p.AND: p.OR, p.OR: p.AND, p.TEST_NULL: p.TEST_NOT_NULL, p.TEST_NOT_NULL: p.TEST_NULL,
    p.TEST_FLOAT_NULL: p.TEST_NOT_FLOAT_NULL, p.TEST_NOT_FLOAT_NULL: p.TEST_FLOAT_NULL,
}  # fmt: skip


def tests_of(steps: Sequence[tuple[int, Any, Any]]) -> list[Step] | None:
    """Tests with the numbers of those that come next where they pass and where they do not; None where there is more
    to a program."""
    conditions = _conditions(steps)
    if not conditions:
        return None
    tests: list[Step] = []  # the last one first
    then = p.PASSED
    for condition in reversed(conditions):
        then = _append(tests, condition, then, p.NOT_PASSED)
    last = len(tests) - 1
    forward = [last - then if then >= 0 else then for _, _, _, then, _ in tests]
    otherwise = [last - other if other >= 0 else other for *_, other in tests]
    return [
        (op, a, b, yes, no) for (op, a, b, _, _), yes, no in reversed(list(zip(tests, forward, otherwise, strict=True)))
    ]


def _append(tests: list[Step], tree: Tree, then: int, otherwise: int) -> int:
    """Where a condition begins."""
    op, one, other = tree
    if op == p.AND:
        return _append(tests, one, _append(tests, other, then, otherwise), otherwise)
    if op == p.OR:
        return _append(tests, one, then, _append(tests, other, then, otherwise))
    tests.append((op, one, other, then, otherwise))
    return len(tests) - 1


def _conditions(steps: Sequence[tuple[int, Any, Any]]) -> list[Tree] | None:
    """What must be TRUE, one after the other."""
    required: list[Tree] = []
    stack: list[Tree] = []
    for op, a, b in steps:
        if op in _TESTS:
            stack.append((_TESTS[op], a, b))
        elif op in (p.LOAD_INT, p.LOAD_FLOAT, p.LOAD_TOTAL, p.LOAD_COUNT, p.CONSTANT_INT):
            stack.append((op, a, b))
        elif op == p.IS_NULL and stack[-1][0] in _IS_NULL:
            loaded, column, place = stack.pop()
            stack.append((_IS_NULL[loaded], column, place))
        elif op == p.COMPARE and len(stack) > 1 and _is_total(stack[-2], stack[-1]):
            (_, constant, _), (loaded, total, _) = stack.pop(), stack.pop()
            stack.append((p.TEST_TOTAL if loaded == p.LOAD_TOTAL else p.TEST_COUNT, total | a << p.PACKED, constant))
        elif op in (p.AND, p.OR) and all(each[0] >= p.AND for each in stack[-2:]):
            right, left = stack.pop(), stack.pop()
            stack.append((op, left, right))
        elif op == p.NOT and stack[-1][0] >= p.AND:
            stack.append(_not(stack.pop()))
        elif op == p.REQUIRE and stack[-1][0] >= p.AND:
            required.append(stack.pop())
        else:
            return None
    return required


def _is_total(left: Tree, right: Tree) -> bool:
    return left[0] in (p.LOAD_TOTAL, p.LOAD_COUNT) and right[0] == p.CONSTANT_INT and isinstance(right[1], int)


def _not(tree: Tree) -> Tree:
    op, one, other = tree
    if op in (p.AND, p.OR):
        return _OTHERWISE[op], _not(one), _not(other)
    if op in _OTHERWISE:
        return _OTHERWISE[op], one, other
    shift = p.PACKED if op in (p.TEST_TOTAL, p.TEST_COUNT) else 2 * p.PACKED
    return op, one ^ _ALL << shift, other
