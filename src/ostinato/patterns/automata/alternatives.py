"""Tests as look-ups, one state for each of them: then runs are found by what they equal, or by their order.

An OR of equalities and inequalities is one such test. A band, as in `abs(x.v - y.v) < 5`, is another: values are cut
into ranges that are twice as wide, and those that are close enough lie in the same range or in neighbouring ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from ostinato.core import expressions as ex
from ostinato.core.expressions import CURRENT, Expr
from ostinato.patterns.automata.transducer import Transducer, Transition

_MOST = 8  # alternatives; each is a run more
_FAR = 2.0**48  # ranges from zero, beyond which floats cannot tell neighbours apart: what is farther is all one range


def split_alternatives(
    transducer: Transducer, is_number: Callable[[str], bool] = lambda attribute: False
) -> Transducer:
    """The same matches, each found once: of the alternatives of a test, only the first that holds counts.

    Only where such a test is the one way on from a state, and inequalities and bands only where all attributes are
    numbers. Conditions keep the order of their first use.
    """
    states = transducer.states
    tests: dict[int, list[Expr]] = {}  # per state that is split, the test of each of its copies
    copies: dict[int, list[int]] = {}
    for state in range(1, transducer.states):
        leaving = [t for t in transducer.transitions if t.source == state and not t.stays]
        if len(leaving) == 1 and state not in transducer.final and leaving[0].target != state:
            found = _alternatives(leaving[0], is_number)
            if 1 < len(found) <= _MOST:
                tests[state] = found
                copies[state] = [state, *range(states, states + len(found) - 1)]
                states += len(found) - 1
    if not tests:
        return transducer
    transitions = [
        replace(t, source=source, target=target, test=test)
        for t in transducer.transitions
        for source, test in zip(copies.get(t.source, [t.source]), _tests_of(t, tests), strict=True)
        for target in ([source] if t.stays else copies.get(t.target, [t.target]))
    ]
    return Transducer(states, tuple(transitions), transducer.final)


def _tests_of(transition: Transition, tests: dict[int, list[Expr]]) -> list[Expr | None]:
    found = tests.get(transition.source, [])
    return [transition.test] * max(1, len(found)) if transition.stays or not found else [*found]


def _alternatives(transition: Transition, is_number: Callable[[str], bool]) -> list[Expr]:
    """Tests that exclude each other, each with an equality or an order, that hold where the transition's test does."""
    if transition.test is None or transition.barred or transition.folds:
        return []
    parts = ex.conjuncts(transition.test)
    if any(map(_is_equality, parts)):
        return []  # which runs are found by already
    for at, part in enumerate(parts):
        choices = [found for choice in _choices(part) for found in _in_ranges(choice, is_number)]
        choices.sort(key=lambda choice: not _has_equality(choice))  # which find fewer runs
        if len(choices) > 1 and all(_has_equality(choice) or _has_order(choice, is_number) for choice in choices):
            others = [*parts[:at], *parts[at + 1 :]]
            return [
                ex.conjoin([choice, *others, *map(_denied, choices[:place])]) for place, choice in enumerate(choices)
            ]
    return []


def _choices(test: Expr) -> list[Expr]:
    if isinstance(test, ex.Call) and test.op == "or":
        return [choice for arg in test.args for choice in _choices(arg)]
    if isinstance(test, ex.Call) and test.op == "in":
        needle, *values = test.args
        return [ex.Call("=", (needle, value), test.span) for value in values]
    return [test]


def _in_ranges(choice: Expr, is_number: Callable[[str], bool]) -> list[Expr]:
    """The choice, or if it has a band, one for each way in which the ranges of its values may lie beside each other."""
    if not _has_equality(choice):
        for part in ex.conjuncts(choice):
            if ranges := _ranges(part, is_number):
                return [ex.conjoin([near, choice]) for near in ranges]
    return [choice]


def _ranges(test: Expr, is_number: Callable[[str], bool]) -> list[Expr]:
    """For a band: that its values lie in neighbouring ranges, or in the same one. No two of these hold at once."""
    if not isinstance(test, ex.Call) or test.op not in ("<", "<=", ">", ">="):
        return []
    distance, width = test.args if test.op in ("<", "<=") else test.args[::-1]
    if not isinstance(width, ex.Literal) or not isinstance(width.value, int | float) or not 0 < width.value < math.inf:
        return []
    difference = distance.args[0] if isinstance(distance, ex.Call) and distance.op == "abs" else None
    if not isinstance(difference, ex.Call) or difference.op != "-" or len(difference.args) != 2:
        return []
    if not _is_equality(replace(difference, op="=")) or not all(
        is_number(each.name) for each in ex.attributes(difference)
    ):
        return []
    here, there = (_range_of(arg, 2.0 * width.value) for arg in difference.args)
    return [ex.Call("=", (here, ex.Call("+", (there, ex.Literal(step))))) for step in (-1, 0, 1)]


def _range_of(value: Expr, width: float) -> Expr:
    place, far = ex.Call("/", (value, ex.Literal(width))), ex.Literal(_FAR)
    below = ex.Call("neg", (far,))
    near = ex.Call(ex.CASE, (ex.Call(">", (place, far)), far, ex.Call("<", (place, below)), below, place))
    return ex.Call("floor", (near,))


def _has_equality(choice: Expr) -> bool:
    return any(map(_is_equality, ex.conjuncts(choice)))


def _has_order(choice: Expr, is_number: Callable[[str], bool]) -> bool:
    """Whether it says that something of the current event is below or above something of one register, itself or by
    their difference (differences.py)."""

    def compares(test: Expr) -> bool:
        if not isinstance(test, ex.Call) or test.op not in ("<", "<=", ">", ">="):
            return False
        differences = [arg for arg in test.args if isinstance(arg, ex.Call) and arg.op == "-" and len(arg.args) == 2]
        sides = [test, *(differences if any(isinstance(arg, ex.Literal) for arg in test.args) else [])]
        return any(_is_equality(replace(side, op="=")) for side in sides)

    tests = (test for test in ex.conjuncts(choice) if compares(test))
    return any(all(is_number(each.name) for each in ex.attributes(test)) for test in tests)


def _is_equality(test: Expr) -> bool:
    """Whether it says that something of the current event equals something of one register."""
    if not isinstance(test, ex.Call) or test.op != "=":
        return False
    left, right = (ex.variables(arg) for arg in test.args)
    return len(left) == len(right) == 1 and (left == {CURRENT}) != (right == {CURRENT})


def _denied(test: Expr) -> Expr:
    return ex.Call("not", (ex.Call("is_true", (test,), test.span),), test.span)
