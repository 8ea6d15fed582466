"""When a pattern completes, straight from the definition of W_q (SRA paper, section 8.1): by all futures, path by path.

Written apart from `forecast` on purpose, so that each can be tested against the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from ostinato.forecast.learn.suffix_tree import SuffixTree
from ostinato.forecast.symbols.automaton import SymbolAutomaton

History = tuple[int, ...]


def node(tree: SuffixTree, history: History) -> int:
    """The longest suffix of the history that is a context of the tree."""
    return max(
        (number for number, context in enumerate(tree.contexts) if history[len(history) - len(context) :] == context),
        key=lambda number: len(tree.contexts[number]),
    )


def probability(automaton: SymbolAutomaton, tree: SuffixTree, state: int, history: History, symbol: int) -> float:
    """P(symbol | history), given that a symbol comes that can come in this state of the automaton."""
    row = tree.probabilities[node(tree, history)]
    possible = [other for other in range(tree.alphabet) if automaton.next[state, other] >= 0]
    if symbol not in possible:
        return 0.0
    total = sum(float(row[other]) for other in possible)
    return float(row[symbol]) / total if total > 0 else 1 / len(possible)


def waiting_time(automaton: SymbolAutomaton, tree: SuffixTree, history: History, horizon: int) -> list[float]:
    """P(W = k) for k = 1 … horizon after a history: the sum over all futures of k symbols whose last one, and no other
    before it, completes a match."""
    state = automaton.start
    for symbol in history:
        state = int(automaton.next[state, symbol])
    return [
        sum(_first_completion(automaton, tree, state, history, future) for future in _futures(tree, k))
        for k in range(1, horizon + 1)
    ]


def _futures(tree: SuffixTree, length: int) -> list[History]:
    return list(product(range(tree.alphabet), repeat=length))


def _first_completion(
    automaton: SymbolAutomaton, tree: SuffixTree, state: int, history: History, future: History
) -> float:
    """The probability of a future, or 0 if it does not complete with its last symbol for the first time."""
    chance = 1.0
    for place, symbol in enumerate(future):
        chance *= probability(automaton, tree, state, history, symbol)
        if chance == 0 or bool(automaton.completes[state, symbol]) != (place == len(future) - 1):
            return 0.0
        state, history = int(automaton.next[state, symbol]), (*history, symbol)
    return chance


def shortest_interval(masses: Sequence[float], threshold: float) -> tuple[int, int] | None:
    """Of all pairs of places, counted from 1, the nearest with at least so much mass between them, above zero; of those
    the earliest."""
    exact = [Fraction(mass) for mass in masses]
    pairs = [
        (latest - earliest, earliest, latest)
        for earliest in range(1, len(exact) + 1)
        for latest in range(earliest, len(exact) + 1)
        if sum(exact[earliest - 1 : latest]) >= Fraction(threshold) and any(exact[earliest - 1 : latest])
    ]
    return min(pairs)[1:] if pairs else None
