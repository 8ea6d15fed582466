"""Tests of differences by order: `y.ts - x.ts < 5 minutes` says that x.ts is above y.ts - 5 minutes.

Runs are found by the order of what they hold, which a difference hides. For times, the one test takes the place of the
other. For numbers it is added to it, and is never narrower: it leaves room where floats are rounded, and keeps whole
numbers away from the ends of 64 bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Literal as OneOf

from ostinato.core import expressions as ex
from ostinato.core.expressions import CURRENT, Attribute, Call, Expr, Literal
from ostinato.patterns.automata.transducer import Transducer, Transition

Scale = OneOf["whole", "float", "time", None]  # None: no numbers, or times that may leave their range

_ROUNDING = 8e-15  # relative, some tens of times what the operations here can be off by
_FAR = 1 << 62
_LEAST, _GREATEST = -(1 << 63), (1 << 63) - 1
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def add_orders(transducer: Transducer, scale_of: Callable[[str], Scale]) -> Transducer:
    """The same matches."""
    transitions = tuple(_with_orders(t, scale_of) for t in transducer.transitions)
    return transducer if transitions == transducer.transitions else replace(transducer, transitions=transitions)


def _with_orders(transition: Transition, scale_of: Callable[[str], Scale]) -> Transition:
    if transition.test is None or transition.stays:
        return transition
    tests = ex.conjuncts(transition.test)
    ordered = [each for test in tests for each in _ordered(test, scale_of)]
    return transition if ordered == [*tests] else replace(transition, test=ex.conjoin(ordered))


def _ordered(test: Expr, scale_of: Callable[[str], Scale]) -> tuple[Expr, ...]:
    """A test; one of a difference with what it says of the event in the register: on which side of a value it lies."""
    if not isinstance(test, Call) or test.op not in _FLIPPED:
        return (test,)
    (difference, limit), op = test.args, test.op
    if isinstance(difference, Literal):
        difference, limit, op = limit, difference, _FLIPPED[op]
    if not isinstance(difference, Call) or difference.op != "-" or len(difference.args) != 2:
        return (test,)
    left, right = difference.args
    if type(left) is not Attribute or type(right) is not Attribute or not isinstance(limit, Literal):
        return (test,)
    if (left.variable == CURRENT) == (right.variable == CURRENT):
        return (test,)
    scale = scale_of(left.name)
    distance = _distance(limit.value, scale)
    if scale is None or scale != scale_of(right.name) or distance is None:
        return (test,)
    if left.variable == CURRENT:  # ~ - r < d: r lies above ~ - d
        now, held, shift, op = left, right, "-", _FLIPPED[op]
    else:  # r - ~ < d: r lies below ~ + d
        now, held, shift = right, left, "+"
    above = op in (">", ">=")
    if scale == "time":
        return (Call(op, (held, Call(shift, (now, limit))), test.span),)
    order = Call(">=" if above else "<=", (held, _bound(now, shift, distance, scale, above=above)), test.span)
    return test, order


def _distance(value: object, scale: Scale) -> int | float | None:
    """As a number, for times of seconds."""
    if scale == "time" and not isinstance(value, ex.Duration):
        return None
    number = value.seconds if isinstance(value, ex.Duration) else value
    if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
        return None
    return number if abs(number) < _FAR / 2 else None


def _bound(now: Expr, shift: str, distance: int | float, scale: Scale, *, above: bool) -> Expr:
    if scale == "float":
        room = Call("*", (Call("+", (Call("abs", (now,)), Literal(abs(float(distance))))), Literal(_ROUNDING)))
        return Call("-" if above else "+", (Call(shift, (now, Literal(float(distance)))), room))
    # The distance is rounded so that the bound moves away.
    whole = math.ceil(distance) if above == (shift == "-") else math.floor(distance)
    near = Call(ex.CASE, (_is(">", now, _FAR), Literal(_FAR), _is("<", now, -_FAR), Literal(-_FAR), now))
    moved = Call(shift, (near, Literal(whole)))
    far, none = (_is("<", now, -_FAR), _LEAST) if above else (_is(">", now, _FAR), _GREATEST)
    return Call(ex.CASE, (far, Literal(none), moved))


def _is(op: str, value: Expr, number: int) -> Expr:
    return Call(op, (value, Literal(number)))
