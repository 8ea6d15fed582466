"""From an SRA back to an SREM, by state elimination (SRA paper, Theorem 5.6, Algorithm 3).

The paper first makes the automaton write one register at a time, because its expressions do; ours may write several.
"""

from __future__ import annotations

from collections.abc import Iterable

from ostinato.errors import LimitError
from ostinato.patterns.sra.automaton import Automaton
from ostinato.patterns.sra.closure import count_events_in_states
from ostinato.patterns.sra.definite_registers import make_registers_definite
from ostinato.patterns.syntax.srem import nodes as n
from ostinato.patterns.syntax.srem.nodes import Expression

# Elimination may double an expression with every state; beyond these bounds it cannot be read or parsed.
MAX_TESTS = 10_000
MAX_NESTING = 60


def to_srem(automaton: Automaton) -> Expression:
    """An expression with the same strings; a window becomes part of it, as the lengths that it allows.

    Events that are never read are not stored, and no branch reads a register that was not written: the parser would
    refuse it.
    """
    automaton = make_registers_definite(count_events_in_states(automaton))
    start, final = automaton.states, automaton.states + 1
    generalised = _Generalised()
    generalised.add(start, automaton.start, n.EPSILON)
    for rule in automaton.rules:
        generalised.add(rule.source, rule.target, n.Test(rule.test, rule.writes))
    for state in sorted(automaton.final):
        generalised.add(state, final, n.EPSILON)
    left = set(range(automaton.states))
    while left:
        state = min(left, key=lambda each: (generalised.cost(each), each))
        generalised.remove(state)
        left.discard(state)
    return generalised.edge(start, final)


class _Generalised:
    """A gSRA: at most one transition between two states, with an expression on it; none stands for ∅."""

    def __init__(self) -> None:
        self.after: dict[int, dict[int, Expression]] = {}
        self.before: dict[int, dict[int, Expression]] = {}

    def edge(self, source: int, target: int) -> Expression:
        return self.after.get(source, {}).get(target, n.EMPTY)

    def add(self, source: int, target: int, expression: Expression) -> None:
        expression = _small(either(self.edge(source, target), expression))
        self.after.setdefault(source, {})[target] = expression
        self.before.setdefault(target, {})[source] = expression

    def cost(self, state: int) -> int:
        """How many transitions its removal makes, at most."""
        return len(self.before.get(state, {})) * len(self.after.get(state, {}))

    def remove(self, state: int) -> None:
        """Every way through the state becomes a transition around it."""
        entries, exits = self.before.pop(state, {}), self.after.pop(state, {})
        loop = star(exits.pop(state, n.EMPTY))
        entries.pop(state, None)
        for source in entries:
            del self.after[source][state]
        for target in exits:
            del self.before[target][state]
        for source, entry in entries.items():
            for target, leave in exits.items():
                self.add(source, target, concat(entry, loop, leave))


# The operators, without what changes nothing: ε in a concatenation, ∅ and repetitions in a union. ---------------------


def concat(*expressions: Expression) -> Expression:
    parts: list[Expression] = []
    for part in _flat(n.Concat, expressions):
        if isinstance(part, n.Star) and parts and parts[-1] == part.body:
            parts[-1] = n.Plus(part.body)
        else:
            parts.append(part)
    if n.EMPTY in parts:
        return n.EMPTY
    return parts[0] if len(parts) == 1 else n.Concat(tuple(parts))


def either(*expressions: Expression) -> Expression:
    parts = dict.fromkeys(part for part in _flat(n.Either, expressions) if part != n.EMPTY)
    if n.EPSILON in parts:  # ε comes last, and only where nothing else allows it
        del parts[n.EPSILON]
        parts = {n.Star(part.body) if isinstance(part, n.Plus) else part: None for part in parts}
        if not any(isinstance(part, n.Star) for part in parts):
            parts[n.EPSILON] = None
    return next(iter(parts), n.EMPTY) if len(parts) < 2 else n.Either(tuple(parts))


def star(expression: Expression) -> Expression:
    if expression in (n.EMPTY, n.EPSILON):
        return n.EPSILON
    parts = [part for part in _flat(n.Either, [expression]) if part != n.EPSILON]
    body = either(*(part.body if isinstance(part, n.Star | n.Plus) else part for part in parts))
    return n.Star(body)


def _flat(kind: type[n.Concat | n.Either], expressions: Iterable[Expression]) -> list[Expression]:
    parts = []
    for expression in expressions:
        if isinstance(expression, kind):
            parts += _flat(kind, expression.parts)
        else:
            parts.append(expression)
    return parts


def _small(expression: Expression) -> Expression:
    todo = [(expression, 1)]
    for count, (part, nesting) in enumerate(todo):
        for limit, bound, value in (("tests", MAX_TESTS, count), ("nesting", MAX_NESTING, nesting)):
            if value > bound:
                raise LimitError(
                    limit,
                    bound,
                    reason="the expression of this automaton is too long",
                    fix="use the automaton itself, or a narrower window",
                )
        todo += [(child, nesting + 1) for child in n.children(part)]
    return expression
