"""Register automata built state by state, as far as their moves lead."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

from ostinato.core.expressions import Expr
from ostinato.errors import LimitError
from ostinato.patterns.sra.automaton import Automaton, SraRule

MAX_STATES = 100_000

S = TypeVar("S", bound=Hashable)
Move = tuple[Expr, tuple[str, ...], S]  # test, writes, target


def explore(
    start: S, moves: Callable[[S], Iterable[Move[S]]], final: Callable[[S], bool], window: int | None
) -> Automaton:
    """The automaton of all states that the moves lead to, numbered in order of discovery."""
    number = {start: 0}
    todo = [start]
    rules: dict[SraRule, None] = {}
    for source in todo:
        for test, writes, target in moves(source):
            if target not in number:
                if len(todo) >= MAX_STATES:
                    raise _too_many()
                number[target] = len(todo)
                todo.append(target)
            rules.setdefault(SraRule(number[source], number[target], test, writes))
    ends = frozenset(number[state] for state in todo if final(state))
    return Automaton(len(todo), 0, ends, tuple(rules), window=window)


def _too_many() -> LimitError:
    return LimitError(
        "states",
        MAX_STATES,
        reason="the automaton grows beyond what fits",
        fix="use fewer registers, a narrower window, or smaller automata",
    )
