"""Random small prediction suffix trees and automata over symbols."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from ostinato.forecast.learn.suffix_tree import SuffixTree
from ostinato.forecast.symbols.automaton import SymbolAutomaton


@st.composite
def suffix_trees(draw: st.DrawFn, alphabet: int) -> SuffixTree:
    """With all suffixes of each context; some symbols never follow."""
    chosen = draw(st.lists(st.lists(st.integers(0, alphabet - 1), max_size=4).map(tuple), max_size=4))
    contexts = {context[begin:] for context in chosen for begin in range(len(context) + 1)} | {()}
    ordered = tuple(sorted(contexts, key=lambda context: (len(context), context)))
    weights = st.lists(st.integers(0, 9), min_size=alphabet, max_size=alphabet).filter(any)
    rows = np.array([draw(weights) for _ in ordered], float)
    return SuffixTree(ordered, rows / rows.sum(axis=1, keepdims=True), np.ones(len(ordered)))


@st.composite
def automata(draw: st.DrawFn, alphabet: int) -> SymbolAutomaton:
    """In each state at least one symbol can come."""
    states = draw(st.integers(1, 4))
    rows = st.lists(st.integers(-1, states - 1), min_size=alphabet, max_size=alphabet)
    after = [draw(rows.filter(lambda row: max(row) >= 0)) for _ in range(states)]
    completes = [draw(st.lists(st.booleans(), min_size=alphabet, max_size=alphabet)) for _ in range(states)]
    return SymbolAutomaton(np.array(after, np.int32), np.array(completes), draw(st.integers(0, states - 1)))


@st.composite
def histories(draw: st.DrawFn, automaton: SymbolAutomaton) -> tuple[int, ...]:
    """That the automaton can follow."""
    state, history = automaton.start, []
    for _ in range(draw(st.integers(0, 6))):
        symbol = draw(st.sampled_from(np.flatnonzero(automaton.next[state] >= 0).tolist()))
        state = int(automaton.next[state, symbol])
        history.append(symbol)
    return tuple(history)
