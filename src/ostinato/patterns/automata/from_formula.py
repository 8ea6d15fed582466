"""From a formula in LP-normal form to a transducer (Theorem 3, appendix C.2; RMA paper, Theorem 8).

The paper gives every atom its own initial skip loop. Here the loop lives in the *gap* between two parts instead, so
that `:` is a concatenation without a gap and `NOT` a condition on what the gap may skip.

Every event is stored in a register of its variable, for later tests to read; unread registers are removed at the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ostinato.core import expressions as ex
from ostinato.core.conditions import Condition
from ostinato.core.expressions import Expr
from ostinato.patterns.automata.transducer import START_LOOP, Transition
from ostinato.patterns.syntax import nodes as n
from ostinato.patterns.syntax.nodes import Formula

Fragment = tuple[int, int]  # entry and exit state of a sub-formula
Barred = tuple[Condition, Expr | None]  # what must not come: a unary condition, and a test that reads registers


@dataclass
class EpsilonTransducer:
    """A transducer under construction, with ε-transitions; state 0 is the start state."""

    states: int = 1
    transitions: list[Transition] = field(default_factory=lambda: [START_LOOP])
    epsilons: list[tuple[int, int]] = field(default_factory=list)
    gaps: dict[tuple[int, tuple[Barred, ...]], int] = field(default_factory=dict)
    # A variable under a + is not the one outside, so it has a register of its own.
    registers: Mapping[str, str] = field(default_factory=dict)
    scopes: int = 0

    def state(self) -> int:
        self.states += 1
        return self.states - 1

    def fragment(self, formula: Formula) -> Fragment:
        """One construction per operator."""
        if isinstance(formula, n.Event):
            return self._event(formula, None)
        if isinstance(formula, n.Filter):
            assert isinstance(formula.body, n.Event), "LP-normal form: filters stand on events only"
            return self._event(formula.body, formula.predicate)
        if isinstance(formula, n.Or):
            return self._alternatives([self.fragment(part) for part in formula.parts])
        if isinstance(formula, n.Sequence):
            return self._sequence(formula)
        if isinstance(formula, n.Repeat):
            return self._repeat(formula)
        assert isinstance(formula, n.Never), f"{type(formula).__name__} cannot stand alone"
        return self.state(), self.state()

    def _event(self, event: n.Event, predicate: Expr | None) -> Fragment:
        entry, exit_ = self.state(), self.state()
        condition, test = split_event_predicate(event, predicate, self.registers)
        writes = (self.registers.get(event.variable, event.variable),)
        self.transitions.append(Transition(entry, exit_, condition, mark=event.variable, test=test, writes=writes))
        return entry, exit_

    def _alternatives(self, fragments: list[Fragment]) -> Fragment:
        entry, exit_ = self.state(), self.state()
        for inner_entry, inner_exit in fragments:
            self.epsilons += [(entry, inner_entry), (inner_exit, exit_)]
        return entry, exit_

    def _sequence(self, sequence: n.Sequence) -> Fragment:
        entry, exit_ = self.fragment(sequence.parts[0])
        absents: tuple[Barred, ...] = ()
        for part in sequence.parts[1:]:
            if isinstance(part, n.Absent):
                absents += (split_event_predicate(part.event, part.predicate, self.registers),)
                continue
            part_entry, part_exit = self.fragment(part)
            self.epsilons.append((exit_ if sequence.contiguous else self._gap(exit_, absents), part_entry))
            exit_, absents = part_exit, ()
        return entry, exit_

    def _repeat(self, repeat: n.Repeat) -> Fragment:
        outside = self.registers
        self.scopes += 1
        self.registers = {**outside, **{name: f"{name}#{self.scopes}" for name in n.vdef_plus(repeat.body)}}
        entry, exit_ = self.fragment(repeat.body)
        self.registers = outside
        self.epsilons.append((exit_ if repeat.contiguous else self._gap(exit_, ()), entry))
        return entry, exit_

    def _gap(self, before: int, absents: tuple[Barred, ...]) -> int:
        """A state that skips all that is not forbidden here; one state serves everything that may follow `before`."""
        if (before, absents) not in self.gaps:
            gap = self.gaps[before, absents] = self.state()
            self.epsilons.append((before, gap))
            unless = tuple(condition for condition, test in absents if test is None)
            barred = tuple((condition, test) for condition, test in absents if test is not None)
            self.transitions.append(Transition(gap, gap, unless=unless, barred=barred))
        return self.gaps[before, absents]


def split_event_predicate(event: n.Event, predicate: Expr | None, registers: Mapping[str, str]) -> Barred:
    """Split a predicate into the part that needs only the event and the part that reads registers."""

    def owned(node: Expr) -> Expr:
        if not isinstance(node, ex.Attribute):
            return node
        own = node.variable == event.variable
        return replace(node, variable=ex.CURRENT if own else registers.get(node.variable, node.variable))

    own, test = split_test(ex.TRUE if predicate is None else ex.transform(predicate, owned))
    return replace(own, relation=event.relation), test


def split_test(test: Expr) -> Barred:
    """Split a test into the part that needs only the current event and the part that reads registers."""
    parts: dict[bool, list[Expr]] = {True: [], False: []}
    for conjunct in ex.conjuncts(test) if test != ex.TRUE else ():
        parts[ex.variables(conjunct) <= {ex.CURRENT}].append(conjunct)
    alone, compared = (ex.conjoin(tests) if tests else None for tests in (parts[True], parts[False]))
    return Condition(None, alone), compared


def barred_event(absent: n.Absent) -> Barred:
    """The event that a NOT forbids."""
    return split_event_predicate(absent.event, absent.predicate, {})


def split_trailing(formula: Formula) -> tuple[Formula, tuple[n.Absent, ...]]:
    """The formula without the NOTs at its end, and those NOTs."""
    if not isinstance(formula, n.Sequence) or not isinstance(formula.parts[-1], n.Absent):
        return formula, ()
    parts, trailing = list(formula.parts), []
    while isinstance(last := parts[-1], n.Absent):
        trailing.append(last)
        parts.pop()
    return (parts[0] if len(parts) == 1 else n.Sequence(tuple(parts))), tuple(reversed(trailing))


def build_transducer(formula: Formula) -> tuple[EpsilonTransducer, int]:
    """The ε-transducer of a formula and its single accepting state."""
    built = EpsilonTransducer()
    entry, exit_ = built.fragment(formula)
    built.epsilons.append((0, entry))
    read = frozenset().union(*(transition.reads for transition in built.transitions))
    built.transitions = [replace(t, writes=tuple(name for name in t.writes if name in read)) for t in built.transitions]
    return built, exit_
