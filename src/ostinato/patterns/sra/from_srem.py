"""From an SREM to an SRA (SRA paper, Theorem 5.1): a construction for each operator, counts {n,m} among them.

The cases are those of Figure 7. What runs is made of the SRA in segments.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from ostinato.patterns.sra.automaton import Automaton, SraRule
from ostinato.patterns.sra.epsilon import too_large
from ostinato.patterns.sra.loop_rounds import nonempty, nullable
from ostinato.patterns.syntax.srem.nodes import Concat, Either, Expression, Repeat, Star, Test

MAX_STATES = 100_000

Fragment = tuple[int, int]  # start and final state of a sub-expression


@dataclass
class _Construction:
    """An automaton under construction. All parts share the registers, which they name: no part has its own."""

    states: int = 0
    rules: list[SraRule] = field(default_factory=list)
    epsilons: list[tuple[int, int]] = field(default_factory=list)

    def state(self) -> int:
        if self.states == MAX_STATES:
            raise too_large("automaton_states", MAX_STATES)
        self.states += 1
        return self.states - 1

    def fragment(self, expression: Expression) -> Fragment:
        """One construction per operator."""
        if isinstance(expression, Test):  # 7b and 7c
            start, final = self.state(), self.state()
            self.rules.append(SraRule(start, final, expression.test, expression.writes))
            return start, final
        if isinstance(expression, Concat):
            return self._concatenation(expression)
        if isinstance(expression, Either):  # 7e
            start, final = self.state(), self.state()
            for part in expression.parts:
                inner_start, inner_final = self.fragment(part)
                self.epsilons += [(start, inner_start), (inner_final, final)]
            return start, final
        if isinstance(expression, Repeat):
            return self._repeat(expression)
        # 7f; e+ lacks only the way around e
        start, final = self.state(), self.state()
        inner_start, inner_final = self.fragment(expression.body)
        self.epsilons += [(start, inner_start), (inner_final, final), (inner_final, inner_start)]
        if isinstance(expression, Star):
            self.epsilons.append((start, final))
        return start, final

    def _concatenation(self, expression: Concat) -> Fragment:
        if not expression.parts:  # 7a
            start, final = self.state(), self.state()
            self.epsilons.append((start, final))
            return start, final
        parts = [self.fragment(part) for part in expression.parts]  # 7d
        self.epsilons += [(before[1], after[0]) for before, after in pairwise(parts)]
        return parts[0][0], parts[-1][1]

    def _repeat(self, loop: Repeat) -> Fragment:
        """A chain of copies, 7d, from which every round after the fewest may leave; the last one may go on forever."""
        body, least = (nonempty(loop.body), 0) if nullable(loop.body) else (loop.body, loop.least)
        start, final = self.state(), self.state()
        at = again = start
        for rounds in range(max(least, 1) if loop.most is None else loop.most):
            if rounds >= least:
                self.epsilons.append((at, final))
            again, inner_final = self.fragment(body)
            self.epsilons.append((at, again))
            at = inner_final
        self.epsilons.append((at, final))
        if loop.most is None:
            self.epsilons.append((at, again))
        return start, final


def build_sra(expression: Expression, window: int | None = None) -> Automaton:
    """The ε-automaton of an expression; with a window, of its strings of at most that many events (Definition 5.12)."""
    built = _Construction()
    start, final = built.fragment(expression)
    return Automaton(built.states, start, frozenset({final}), tuple(built.rules), tuple(built.epsilons), window)
