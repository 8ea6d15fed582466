"""Random CEL formulas, legal by construction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from hypothesis import assume
from hypothesis import strategies as st

from ostinato.patterns.syntax import nodes
from ostinato.patterns.syntax.nodes import Formula
from support.generators.cel_predicates import condition, correlated_test, draw_lasting, looking_back, predicate
from support.generators.draws import Draw, pick, rarely


@st.composite
def formulas(
    draw: Draw,
    *,
    max_depth: int = 3,
    absent: bool = True,
    wider_filters: bool = False,
    reuse: bool = False,
    correlated: bool = False,
    looks_back: bool = False,
) -> Formula:
    """A well-formed formula, NOT only between the parts of a sequence.

    wider_filters: filters may sit below the place that binds their variable. reuse: variables may be used again
    anywhere, so that parts can never match. correlated: filters may compare events with each other.
    looks_back: those in loops may ask for earlier rounds.
    """
    shape = Shape(draw, absent=absent, reuse=reuse).formula(max_depth)
    return _filtered(draw, shape, frozenset(), wider_filters, correlated, frozenset() if looks_back else None)


@st.composite
def absent_formulas(draw: Draw) -> nodes.AbsentFormula:
    return Shape(draw, absent=True, reuse=False).absent_formula()


@dataclass
class Shape:
    """Draws formulas without filters. Variables are x1, x2, …; `used` counts those taken on the way to this place,
    `bare` and `absents` the events without a name and under NOT in the whole formula."""

    draw: Draw
    absent: bool
    reuse: bool
    used: int = 0
    bare: int = 0
    absents: int = 0

    def formula(self, depth: int) -> Formula:
        kinds = ("event", "event", "sequence", "sequence", "or", "repeat", "optional", "and")
        kind = pick(self.draw, *kinds) if depth else "event"
        if kind == "sequence":
            return self._sequence(depth - 1)
        if kind == "or":
            return self._or(depth - 1)
        if kind == "repeat":
            return self._repeat(depth - 1)
        if kind == "optional":
            return nodes.Optional(self.formula(depth - 1))
        if kind == "and":
            return nodes.And((self.formula(depth - 1), self.formula(depth - 1)), pick(self.draw, False, True))
        return self._event()

    def _repeat(self, depth: int) -> nodes.Repeat:
        body, link = self.formula(depth), self._link()
        least, most = pick(self.draw, (1, None), (1, None), (2, None), (2, 2), (1, 2), (2, 3), (1, 1))
        until = (self.absence(),) if self.absent and rarely(self.draw) else ()
        return nodes.Repeat(body, link, least, most, until)

    def _link(self) -> nodes.Link:
        return pick(self.draw, ";", ";", ";", ";", ":", "->")

    def _event(self) -> nodes.Event:
        relation = pick(self.draw, "A", "B", None, "A", "B", "C", None, "D")
        if self.reuse:
            return nodes.Event(relation, pick(self.draw, "x1", "x2", "x3"))
        if rarely(self.draw):  # no AS: numbered in the order of the text, as the parser does
            self.bare += 1
            return nodes.Event(relation, f"#{self.bare}")
        self.used += 1
        return nodes.Event(relation, f"x{self.used}")

    def _sequence(self, depth: int) -> nodes.Sequence:
        link = self._link()
        parts: list[Formula] = [self.formula(depth)]
        for _ in range(pick(self.draw, 1, 1, 1, 2)):
            before, after = parts[-1], self.formula(depth)
            sure = not nodes.nullable(before) and not nodes.nullable(after)
            while self.absent and link == ";" and sure and rarely(self.draw):
                kind = pick(self.draw, "event", "event", "event", "formula", "for", "at once")
                if kind == "at once" and parts[-1] is before:
                    parts[-1] = nodes.Sequence((before, self.absence()), ":")
                elif kind == "for":
                    parts.append(replace(self.absence(), lasting=draw_lasting(self.draw)))
                else:
                    parts.append(self.absent_formula() if kind == "formula" else self.absence())
            parts.append(after)
        return nodes.Sequence(tuple(parts), link)

    def absent_formula(self) -> nodes.AbsentFormula:
        """NOT of a formula of two events or more, each with a condition of its own or none."""
        body = Shape(self.draw, absent=True, reuse=False, used=10 * self.absents + 100).formula(2)
        assume(not nodes.nullable(body) and not isinstance(body, nodes.Event))
        assume(not any(isinstance(part, nodes.Absent) and part.lasting for part in nodes.subformulas(body)))
        events = body.parts if isinstance(body, nodes.Or) else (body,)
        assume(not all(isinstance(event, nodes.Event) for event in events))
        self.absents += 1
        return nodes.AbsentFormula(_tested(self.draw, body))

    def absence(self) -> nodes.Absent:
        self.absents += 1
        event = nodes.Event(pick(self.draw, "A", "B", "C", "D", None), f"n{self.absents}")
        return nodes.Absent(event, predicate(self.draw, event.variable) if pick(self.draw, False, True) else None)

    def _or(self, depth: int) -> nodes.Or:
        # All branches take their variables from the same place on, so that the whole binds most of them.
        start, most, parts = self.used, self.used, []
        for _ in range(pick(self.draw, 2, 2, 3)):
            self.used = start
            parts.append(self.formula(depth))
            most = max(most, self.used)
        self.used = most
        return nodes.Or(tuple(parts))


def _tested(draw: Draw, formula: Formula) -> Formula:
    """The formula with conditions on some of its events, all of which have names."""
    if isinstance(formula, nodes.Event):
        event = replace(formula, variable=formula.variable.replace("#", "b"))
        return nodes.Filter(event, predicate(draw, event.variable)) if pick(draw, False, True) else event
    return nodes.rebuild(formula, lambda part: _tested(draw, part))


def _filtered(
    draw: Draw,
    formula: Formula,
    scope: frozenset[str],
    wider: bool,
    correlated: bool,
    loops: frozenset[str] | None = None,
) -> Formula:
    """The formula with filters on some of its nodes, each on variables that are bound there. `loops` are variables of
    the loops around it, on which conditions may look back."""
    if isinstance(formula, nodes.AbsentFormula):
        return formula
    if isinstance(formula, nodes.Absent):
        if correlated and named(scope) and not formula.event.variable.startswith("#") and pick(draw, True, False):
            test = correlated_test(draw, formula.event.variable, pick(draw, *named(scope)), formula.event.variable)
            return replace(formula, predicate=test)
        return formula
    outer = scope - nodes.bound(formula)
    scope = scope | nodes.bound(formula)
    # A + gives the variables of its body new values in every iteration: the outer ones of that name are out of sight.
    inner = scope - nodes.vdef_plus(formula.body) if isinstance(formula, nodes.Repeat) else scope
    rounds = loops
    if isinstance(formula, nodes.Repeat) and loops is not None:
        rounds = loops - nodes.vdef_plus(formula.body) | nodes.bound(formula.body)
    result = nodes.rebuild(
        formula, lambda child: _filtered(draw, child, inner if wider else frozenset(), wider, correlated, rounds)
    )
    if nodes.nullable(result):
        return result  # a condition would have nothing to test where it is left out
    if isinstance(result, nodes.Or) and named(outer) and pick(draw, True, False):
        # A condition on an earlier event decides between the branches, as in φ6.
        first, *others = result.parts
        result = replace(result, parts=(nodes.Filter(first, condition(draw, named(outer), correlated)), *others))
    names = named(outer if pick(draw, True, False) else scope) or named(scope)
    wanted = pick(draw, True, False) if correlated else rarely(draw)
    if names and loops and named(loops) and pick(draw, True, False):
        test = looking_back(draw, pick(draw, *named(loops)), pick(draw, *names))
        result = nodes.Filter(result, test)
    return nodes.Filter(result, condition(draw, names, correlated)) if names and wanted else result


def named(variables: Iterable[str]) -> list[str]:
    return sorted(variable for variable in variables if not variable.startswith("#"))
