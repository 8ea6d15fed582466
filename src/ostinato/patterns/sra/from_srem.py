"""From an SREM to an SRA (SRA paper, Theorem 5.1; the cases are those of Figure 7)."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby, pairwise

from ostinato.errors import LimitError
from ostinato.patterns.sra.automaton import Automaton, SraRule
from ostinato.patterns.syntax.srem.nodes import EPSILON, Concat, Either, Expression, Star, Test

MAX_STATES = 20_000

Fragment = tuple[int, int]  # start and final state of a sub-expression


@dataclass
class _Construction:
    """An automaton under construction. All parts share the registers, which they name: no part has its own."""

    states: int = 0
    rules: list[SraRule] = field(default_factory=list)
    epsilons: list[tuple[int, int]] = field(default_factory=list)

    def state(self) -> int:
        if self.states == MAX_STATES:
            raise LimitError(
                "automaton_states",
                MAX_STATES,
                reason="the automaton of this pattern is too large",
                fix="let loops count to less, or use + and * and bound them by WITHIN … EVENTS",
            )
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
        runs = [list(run) for _, run in groupby(expression.parts)]
        parts = [fragment for run in runs for fragment in self._in_a_row(run)]  # 7d
        self.epsilons += [(before[1], after[0]) for before, after in pairwise(parts)]
        return parts[0][0], parts[-1][1]

    def _in_a_row(self, parts: list[Expression]) -> list[Fragment]:
        """Equal parts. Of those that may be left out, the last ones are, so that each has one way to leave out the rest
        and not one for each of them."""
        first = parts[0]
        if len(parts) == 1 or not isinstance(first, Either) or len(first.parts) != 2 or first.parts[1] != EPSILON:
            return [self.fragment(part) for part in parts]
        rounds, end = [self.fragment(first.parts[0]) for _ in parts], self.state()
        self.epsilons += [(before[1], after[0]) for before, after in pairwise(rounds)]
        self.epsilons += [(rounds[-1][1], end), *((start, end) for start, _ in rounds)]
        return [(rounds[0][0], end)]


def build_sra(expression: Expression, window: int | None = None) -> Automaton:
    """The ε-automaton of an expression; with a window, of its strings of at most that many events (Definition 5.12)."""
    built = _Construction()
    start, final = built.fragment(expression)
    return Automaton(built.states, start, frozenset({final}), tuple(built.rules), tuple(built.epsilons), window)
