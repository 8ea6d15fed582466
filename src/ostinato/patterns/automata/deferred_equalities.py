"""Equalities with an event that comes later: `(A AS x FILTER x.id = y.id)+ ; B AS y`.

All events of the + must then agree with each other, so one register is enough: it holds the first of them, and the
others and the later event are compared with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ostinato.core import expressions as ex
from ostinato.core.expressions import Expr
from ostinato.patterns.automata.transducer import START_LOOP, Transducer, Transition

State = tuple[int, frozenset[str]]  # a state, and which of the registers at hand have been written


@dataclass(frozen=True)
class _Equality:
    """`own` of the current event equals `other` of the one in register `later`; `first` will hold the first of them."""

    part: Expr
    own: Expr
    other: Expr
    later: str
    first: str


def defer_equalities(transducer: Transducer) -> Transducer:
    """The same transducer, with such equalities replaced by ones that read only registers already written."""
    deferred = {t: list(_equalities(t)) for t in transducer.transitions if t.mark is not None}
    late = _unwritten(transducer)
    deferred = {t: [each for each in found if (t.source, each.later) in late] for t, found in deferred.items() if found}
    every = [each for found in deferred.values() for each in found]
    if not every:
        return transducer
    known = {each.first for each in every} | {each.later for each in every}
    numbers: dict[State, int] = {(0, frozenset()): 0}
    todo, transitions = list(numbers), []
    for state, written in todo:
        for t in transducer.transitions:
            if t.source == state:
                moved, after = _move(t, deferred.get(t, []), every, written)
                target = (t.target, after & known) if t != START_LOOP else (0, frozenset[str]())
                if target not in numbers:
                    numbers[target] = len(numbers)
                    todo.append(target)
                transitions.append(replace(moved, source=numbers[state, written], target=numbers[target]))
    final = frozenset(number for (state, _), number in numbers.items() if state in transducer.final)
    return Transducer(len(numbers), tuple(dict.fromkeys(transitions)), final)


def _move(
    t: Transition, own: list[_Equality], every: list[_Equality], written: frozenset[str]
) -> tuple[Transition, frozenset[str]]:
    """The transition where the registers `written` are written, and those written after it."""
    moved = [each.part for each in own]
    tests = [part for part in ex.conjuncts(t.test) if part not in moved] if t.test is not None else []
    writes = set(t.writes)
    for each in own:
        if each.later in written:
            tests.append(each.part)
        elif each.first in written:
            tests.append(ex.Call("=", (each.own, _stored_attributes(each.own, each.first)), each.part.span))
        else:
            writes.add(each.first)
    for each in every:
        if each.later in t.writes and each.first in written:
            tests.append(ex.Call("=", (_current(each.other), _stored_attributes(each.own, each.first)), each.part.span))
    test = ex.conjoin(tests) if tests else None
    return replace(t, test=test, writes=tuple(sorted(writes))), written | writes


def _equalities(t: Transition) -> Iterator[_Equality]:
    for part in ex.conjuncts(t.test) if t.test is not None else ():
        if isinstance(part, ex.Call) and part.op == "=":
            own, other = sorted(part.args, key=lambda side: ex.variables(side) != {ex.CURRENT})
            owners = ex.variables(other)
            if ex.variables(own) == {ex.CURRENT} and len(owners) == 1 and ex.CURRENT not in owners:
                (later,) = owners
                if "#" not in later:  # under a + of its own it would be another one in every round
                    # One register for each equality: another equality may be about other events of the same name.
                    yield _Equality(part, own, other, later, f"{t.mark}#first with {ex.to_text(part)}")


def _stored_attributes(expr: Expr, register: str) -> Expr:
    return ex.transform(expr, lambda node: replace(node, variable=register) if isinstance(node, ex.Attribute) else node)


def _current(expr: Expr) -> Expr:
    return _stored_attributes(expr, ex.CURRENT)


def _unwritten(transducer: Transducer) -> set[tuple[int, str]]:
    """Pairs of a state and a register that may be unwritten there."""
    registers = transducer.registers
    found = {(0, register) for register in registers}
    changed = True
    while changed:
        before = len(found)
        for t in transducer.transitions:
            found |= {(t.target, r) for r in registers if (t.source, r) in found and r not in t.writes}
        changed = len(found) > before
    return found
