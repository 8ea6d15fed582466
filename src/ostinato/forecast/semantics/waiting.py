"""When a pattern completes, straight from the definition of W_q (SRA paper, section 8.1): by all futures, path by path.

It takes plain mappings and shares nothing with `forecast.chain`, so that each can be tested against the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import TypeAlias

History: TypeAlias = tuple[int, ...]  # symbols, oldest first
Contexts: TypeAlias = Mapping[History, Sequence[float]]  # P(σ | s): the distribution of the symbol after each context
# (state, symbol) -> (the state after it, whether it completes a match); without symbols that cannot come in the state
Moves: TypeAlias = Mapping[tuple[int, int], tuple[int, bool]]


def longest_context(contexts: Contexts, history: History) -> History:
    """The longest suffix of the history that is a context."""
    return next(history[begin:] for begin in range(len(history) + 1) if history[begin:] in contexts)


def probability(moves: Moves, contexts: Contexts, state: int, history: History, symbol: int) -> float:
    """P(symbol | history), given that the symbol is one that can come in this state."""
    row = contexts[longest_context(contexts, history)]
    possible = [other for other in range(len(row)) if (state, other) in moves]
    if symbol not in possible:
        return 0.0
    total = sum(float(row[other]) for other in possible)
    return float(row[symbol]) / total if total > 0 else 1 / len(possible)


def waiting_time(moves: Moves, contexts: Contexts, start: int, history: History, horizon: int) -> list[float]:
    """P(W = k) for k = 1 … horizon after a history: the sum over all futures of k symbols whose last one, and no other
    before it, completes a match."""
    state = start
    for symbol in history:
        state, _ = moves[state, symbol]
    symbols = range(len(contexts[()]))
    return [
        sum(_first_completion(moves, contexts, state, history, future) for future in product(symbols, repeat=k))
        for k in range(1, horizon + 1)
    ]


def _first_completion(moves: Moves, contexts: Contexts, state: int, history: History, future: History) -> float:
    """The probability of a future, or 0 if it does not complete with its last symbol for the first time."""
    chance = 1.0
    for place, symbol in enumerate(future):
        chance *= probability(moves, contexts, state, history, symbol)
        if chance == 0:
            return 0.0
        state, completes = moves[state, symbol]
        if completes != (place == len(future) - 1):
            return 0.0
        history = (*history, symbol)
    return chance


def shortest_interval(masses: Sequence[float], threshold: float) -> tuple[int, int] | None:
    """The shortest interval of places, counted from 1, with at least so much mass, above zero; of several, the
    earliest."""
    exact = [Fraction(mass) for mass in masses]
    pairs = [
        (latest - earliest, earliest, latest)
        for earliest in range(1, len(exact) + 1)
        for latest in range(earliest, len(exact) + 1)
        if sum(exact[earliest - 1 : latest]) >= Fraction(threshold) and any(exact[earliest - 1 : latest])
    ]
    return min(pairs)[1:] if pairs else None
