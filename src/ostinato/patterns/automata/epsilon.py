"""ε-removal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ostinato.core.expressions import CURRENT, Expr, conjoin, variables
from ostinato.patterns.automata.transducer import Barred, Transducer, Transition


@dataclass(frozen=True)
class Guard:
    """What an ε-transition asks of the event after it: to be none of the barred ones, and to pass the tests."""

    barred: tuple[Barred, ...] = ()
    tests: tuple[Expr, ...] = ()

    @property
    def reads(self) -> frozenset[str]:
        """The registers that it reads."""
        tests = (test for _, test in self.barred if test is not None)
        return frozenset().union(*map(variables, (*tests, *self.tests))) - {CURRENT}

    def join(self, other: Guard) -> Guard:
        barred, tests = self.barred + other.barred, self.tests + other.tests
        return Guard(tuple(dict.fromkeys(barred)), tuple(dict.fromkeys(tests)))

    def on(self, transition: Transition) -> Transition:
        """The transition, where the guard holds as well."""
        if self.barred:
            transition = transition.refusing(self.barred)
        if not self.tests:
            return transition
        own = () if transition.test is None else (transition.test,)
        return replace(transition, test=conjoin([*own, *self.tests]))


FREE = Guard()
Epsilon = tuple[int, int, Guard]  # source, target


def remove_epsilon(
    states: int, transitions: Sequence[Transition], epsilons: Sequence[Epsilon], accepting: Sequence[int]
) -> Transducer:
    """Each state takes the transitions of every state it reaches by ε (appendix C.2), guarded as the way there is."""
    after: dict[int, list[tuple[int, Guard]]] = {}
    for source, target, guard in epsilons:
        after.setdefault(source, []).append((target, guard))
    leaving: dict[int, list[Transition]] = {}
    for transition in transitions:
        leaving.setdefault(transition.source, []).append(transition)
    found: dict[Transition, None] = {}
    final = set()
    for state in range(states):
        reached = _closure(state, after)
        if state and any(guard == FREE and inner in accepting for inner, guard in reached):
            final.add(state)
        for inner, guard in sorted(reached, key=lambda each: each[0]):
            for transition in leaving.get(inner, ()):
                found.setdefault(replace(guard.on(transition), source=state))
    return Transducer(states, tuple(found), frozenset(final))


def _closure(state: int, after: Mapping[int, Sequence[tuple[int, Guard]]]) -> list[tuple[int, Guard]]:
    """The states that one reaches by ε, each with every guard on the way."""
    reached = {(state, FREE): None}
    todo = [(state, FREE)]
    for inner, guard in todo:
        for target, own in after.get(inner, ()):
            way = target, guard if own == FREE else guard.join(own)
            if way not in reached:
                reached[way] = None
                todo.append(way)
    return todo
