"""The beginnings of matches, for WITH TIMEOUT ROWS: every way to match a formula in part, over a small stream.

A beginning has at least one event, and lacks at least one more part. What it waits for says which events end it, and
which conditions it still has to meet: where they are known to fail already, it is no beginning of a match.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ostinato.core.expression_interpreter import evaluate_expression
from ostinato.core.expressions import FALSE, TRUE, Call, Expr, variables
from ostinato.patterns.semantics.derivations import (
    Derivation,
    Place,
    Stream,
    absences,
    concatenate,
    derivations,
    look_back_on,
    quiet,
    rounds_of,
)
from ostinato.patterns.syntax import nodes as n
from ostinato.patterns.syntax.earlier_rounds import earlier_names, first_round
from ostinato.patterns.syntax.first_events import first_events
from ostinato.patterns.syntax.nodes import Formula

ANYTHING = n.Absent(n.Event(None, "#gap"))
Beginning = tuple[Derivation, tuple[n.Absent, ...]]  # and what must not come until it goes on


def beginnings(formula: Formula, stream: Stream) -> set[Beginning]:
    """Those of the formula. What a filter says of events that are still to come is left open."""
    if isinstance(formula, n.Filter):
        return _demanding(formula.predicate, beginnings(formula.body, stream), stream)
    if isinstance(formula, n.Or):
        return set().union(*(beginnings(part, stream) for part in formula.parts))
    if isinstance(formula, n.Optional):
        return beginnings(formula.body, stream)
    if isinstance(formula, n.Sequence):
        return _sequence(formula, stream)
    if isinstance(formula, n.Repeat):
        return _repeat(formula, stream)
    assert not isinstance(formula, n.And), "which WITH TIMEOUT ROWS does not take"
    return set()


def _sequence(sequence: n.Sequence, stream: Stream) -> set[Beginning]:
    first, *others = sequence.parts
    if others and isinstance(first, n.Absent) and first.lasting is not None:
        rest = n.Sequence(tuple(others), sequence.link)
        return {(each, ends) for began, ends in _sequence(rest, stream) for each in quiet((first,), (began,), stream)}
    found: set[Beginning] = set()
    lefts = {Derivation()}
    for number, part in enumerate(sequence.parts):
        barred = first_events(part) if sequence.link == "->" else ()
        if not isinstance(part, n.Absent):
            ends = (ANYTHING,) if sequence.link == ":" else barred
            waiting = {(replace(left, after=()), left.barred + ends) for left in lefts if left.marks}
            found |= _demanding(_all(map(_wants, sequence.parts[number:])), waiting, stream)
            inside = {
                (each, later)
                for inner, later in beginnings(part, stream)
                for each in concatenate(lefts, {inner}, sequence.link, barred, stream)
            }
            found |= _demanding(_all(map(_wants, sequence.parts[number + 1 :])), inside, stream)
        lefts = concatenate(lefts, derivations(part, stream), sequence.link, barred, stream)
    return found


def _demanding(predicate: Expr, found: Iterable[Beginning], stream: Stream) -> set[Beginning]:
    demanded = ((began.demanding(predicate, stream), ends) for began, ends in found)
    return {(each, ends) for each, ends in demanded if each is not None}


def _wants(formula: Formula) -> Expr:
    """What every match of the formula meets, as far as its filters say."""
    if isinstance(formula, n.Filter):
        return _all([formula.predicate, _wants(formula.body)])
    if n.nullable(formula) or isinstance(formula, n.Absent):
        return TRUE
    if isinstance(formula, n.Never):
        return FALSE
    if isinstance(formula, n.Repeat):
        return _wants(_first_round(formula))
    if isinstance(formula, n.Or):
        return Call("or", tuple(map(_wants, formula.parts)))
    return _all(map(_wants, n.children(formula)))


def _first_round(repeat: n.Repeat) -> Formula:
    """Its body, where conditions that look back find no earlier round."""
    return first_round(repeat.body, earlier_names(repeat))


def _all(tests: Iterable[Expr]) -> Expr:
    wanted = [test for test in tests if test != TRUE]
    return Call("and", tuple(wanted)) if len(wanted) > 1 else wanted[0] if wanted else TRUE


def _repeat(repeat: n.Repeat, stream: Stream) -> set[Beginning]:
    inner = {(each, ends + repeat.until) for each, ends in beginnings(repeat.body, stream)}
    found = {(each, ends + repeat.until) for each, ends in beginnings(_first_round(repeat), stream)}
    barred = first_events(repeat.body) if repeat.link == "->" else ()
    between = ((ANYTHING,) if repeat.link == ":" else barred) + repeat.until
    for number, reached in rounds_of(repeat, stream):
        if number == repeat.most:
            break
        found |= _demanding(_wants(repeat.body), {(left, between) for left, _ in reached}, stream)
        for left, history in reached:
            for right, ends in inner:
                looking = {look_back_on(left, history)}
                found |= {(each, ends) for each in concatenate(looking, {right}, repeat.link, barred, stream)}
    if not repeat.until:
        return found
    return {
        (each, ends)
        for began, ends in found
        if (each := began.requiring(absences(repeat.until, range(began.first, began.last + 1), stream), stream))
    }


def may_hold(derivation: Derivation, stream: Stream) -> bool:
    """Whether nothing that is known already speaks against the demands that wait."""
    places = dict(derivation.valuation)
    return all(demand.absent is not None or _may(demand.predicate, stream, places)[0] for demand in derivation.demands)


def _may(predicate: Expr, stream: Stream, places: Mapping[str, Place]) -> tuple[bool, bool]:
    """Whether it may be true, and whether it may be false."""
    if isinstance(predicate, Call) and predicate.op in ("and", "or", "not"):
        each = [_may(arg, stream, places) for arg in predicate.args]
        true, false = ([flags[side] for flags in each] for side in (0, 1))
        if predicate.op == "not":
            return false[0], true[0]
        return (all(true), any(false)) if predicate.op == "and" else (any(true), all(false))
    if not variables(predicate) <= places.keys():
        return True, True
    value = evaluate_expression(predicate, {name: stream.row(place, predicate) for name, place in places.items()})
    return value is True, value is False


def is_extended(positions: tuple[int, ...], others: Iterable[tuple[int, ...]]) -> bool:
    """Whether one of the others begins with these, and has more."""
    size = len(positions)
    return any(len(other) > size and other[:size] == positions for other in others)
