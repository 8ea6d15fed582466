"""From a formula in LP-normal form to a transducer (Theorem 3, appendix C.2).

The paper gives every atom its own initial skip loop. Here the loop lives in the *gap* between two parts instead, so
that `:` is a concatenation without a gap and `NOT` a condition on what the gap may skip.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ostinato.automata.transducer import START_LOOP, Condition, Transition
from ostinato.lang.expr import Expr, on_current
from ostinato.plan.nodes import Absent, Event, Filter, Formula, Never, Or, Repeat, Sequence

Fragment = tuple[int, int]  # entry and exit state of a sub-formula


@dataclass
class EpsilonTransducer:
    """A transducer under construction, with ε-transitions; state 0 is the start state."""

    states: int = 1
    transitions: list[Transition] = field(default_factory=lambda: [START_LOOP])
    epsilons: list[tuple[int, int]] = field(default_factory=list)
    gaps: dict[tuple[int, tuple[Condition, ...]], int] = field(default_factory=dict)

    def state(self) -> int:
        self.states += 1
        return self.states - 1

    def fragment(self, formula: Formula) -> Fragment:
        """One construction per operator."""
        if isinstance(formula, Event):
            return self._event(formula, None)
        if isinstance(formula, Filter):
            assert isinstance(formula.body, Event), "LP-normal form: filters stand on events only"
            return self._event(formula.body, formula.predicate)
        if isinstance(formula, Or):
            return self._alternatives([self.fragment(part) for part in formula.parts])
        if isinstance(formula, Sequence):
            return self._sequence(formula)
        if isinstance(formula, Repeat):
            entry, exit_ = self.fragment(formula.body)
            self.epsilons.append((exit_ if formula.contiguous else self._gap(exit_, ()), entry))
            return entry, exit_
        assert isinstance(formula, Never), f"{type(formula).__name__} cannot stand alone"
        return self.state(), self.state()

    def _event(self, event: Event, predicate: Expr | None) -> Fragment:
        entry, exit_ = self.state(), self.state()
        self.transitions.append(Transition(entry, exit_, condition_of(event, predicate), mark=event.variable))
        return entry, exit_

    def _alternatives(self, fragments: list[Fragment]) -> Fragment:
        entry, exit_ = self.state(), self.state()
        for inner_entry, inner_exit in fragments:
            self.epsilons += [(entry, inner_entry), (inner_exit, exit_)]
        return entry, exit_

    def _sequence(self, sequence: Sequence) -> Fragment:
        entry, exit_ = self.fragment(sequence.parts[0])
        absents: tuple[Condition, ...] = ()
        for part in sequence.parts[1:]:
            if isinstance(part, Absent):
                absents += (condition_of(part.event, part.predicate),)
                continue
            part_entry, part_exit = self.fragment(part)
            self.epsilons.append((exit_ if sequence.contiguous else self._gap(exit_, absents), part_entry))
            exit_, absents = part_exit, ()
        return entry, exit_

    def _gap(self, before: int, absents: tuple[Condition, ...]) -> int:
        """A state that skips whatever is not forbidden here; one serves all that may follow `before`."""
        if (before, absents) not in self.gaps:
            gap = self.gaps[before, absents] = self.state()
            self.epsilons.append((before, gap))
            self.transitions.append(Transition(gap, gap, unless=absents))
        return self.gaps[before, absents]


def condition_of(event: Event, predicate: Expr | None) -> Condition:
    return Condition(event.relation, None if predicate is None else on_current(predicate))


def split_trailing(formula: Formula) -> tuple[Formula, tuple[Condition, ...]]:
    """The formula without the NOTs at its end, and the conditions of those NOTs."""
    if not isinstance(formula, Sequence) or not isinstance(formula.parts[-1], Absent):
        return formula, ()
    parts, conditions = list(formula.parts), []
    while isinstance(last := parts[-1], Absent):
        conditions.append(condition_of(last.event, last.predicate))
        parts.pop()
    return (parts[0] if len(parts) == 1 else Sequence(tuple(parts))), tuple(reversed(conditions))


def construct(formula: Formula) -> tuple[EpsilonTransducer, int]:
    """The ε-transducer of a formula and its single accepting state."""
    built = EpsilonTransducer()
    entry, exit_ = built.fragment(formula)
    built.epsilons.append((0, entry))
    return built, exit_
