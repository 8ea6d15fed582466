"""Waiting times by going back over all states equal those by expanding every future; intervals are the best of all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.forecast.chain.contexts import context_automaton
from ostinato.forecast.chain.intervals import forecasts
from ostinato.forecast.chain.product import product
from ostinato.forecast.chain.state_tracking import track
from ostinato.forecast.chain.waiting import waiting_times
from ostinato.forecast.learn.suffix_tree import SuffixTree
from ostinato.forecast.semantics import waiting as semantics
from support.forecast import exact_waiting_times, plain_contexts, plain_moves
from support.generators.forecast import automata, histories, suffix_trees


def after(next: np.ndarray, history: tuple[int, ...]) -> int:
    states = np.zeros(1, np.int32)
    track(next, np.array(history, np.int32), None, states)
    return int(states[0])


@given(st.data(), st.integers(1, 3))
def test_the_recursion_equals_all_futures(data: st.DataObject, alphabet: int) -> None:
    automaton, tree = data.draw(automata(alphabet)), data.draw(suffix_trees(alphabet))
    history = data.draw(histories(automaton))
    found = product(automaton, tree, max_states=10_000)
    state = after(found.next, history)
    exact = exact_waiting_times(found, 5)
    expected = semantics.waiting_time(plain_moves(automaton), plain_contexts(tree), automaton.start, history, 5)
    assert exact[state] == pytest.approx(expected, abs=1e-12, rel=0)
    stored = waiting_times(found, 40)
    assert (stored[:, :5] <= exact).all() and stored[:, :5] == pytest.approx(exact, rel=2e-7, abs=1e-30)
    assert stored.sum(axis=1, dtype=np.float64).max() <= 1


@given(st.data(), st.integers(1, 3))
def test_every_row_of_the_product_is_what_can_come_after_the_history(data: st.DataObject, alphabet: int) -> None:
    automaton, tree = data.draw(automata(alphabet)), data.draw(suffix_trees(alphabet))
    history = data.draw(histories(automaton))
    found = product(automaton, tree, max_states=10_000)
    state = after(found.next, history)
    place = int(found.pattern[state])
    moves, contexts = plain_moves(automaton), plain_contexts(tree)
    rows = [semantics.probability(moves, contexts, place, history, symbol) for symbol in range(alphabet)]
    assert found.probability[state] == pytest.approx(rows, abs=1e-15)
    assert found.probability.sum(axis=1) == pytest.approx(np.ones(found.states))
    assert (found.completes[state] == (automaton.completes[place] & (automaton.next[place] >= 0))).all()


@given(suffix_trees(3), st.lists(st.integers(0, 2), max_size=12).map(tuple))
def test_contexts_are_the_longest_suffixes(tree: SuffixTree, history: tuple[int, ...]) -> None:
    contexts = context_automaton(tree)
    state = after(contexts.next, history)
    assert tree.contexts[contexts.node[state]] == semantics.longest_context(plain_contexts(tree), history)
    prefixes = {context[:end] for context in tree.contexts for end in range(len(context) + 1)}
    suffix = next(history[at:] for at in range(len(history) + 1) if history[at:] in prefixes)
    assert contexts.states == len(prefixes) and state == after(contexts.next, suffix)


@given(st.lists(st.integers(0, 64), min_size=1, max_size=12), st.integers(0, 64))
def test_an_interval_is_the_best_of_all_pairs(counts: list[int], least: int) -> None:
    shares = np.array([counts], np.float32) / 64 / max(sum(counts), 64) * 64
    row = (np.floor(shares * 1024) / 1024).astype(np.float32)  # sums of these are exact
    found = forecasts(row, least / 64)
    best = semantics.shortest_interval(row[0].tolist(), least / 64)
    assert (found.earliest[0], found.latest[0]) == (best or (0, 0))
    assert found.mass[0] == (row[0, best[0] - 1 : best[1]].sum() if best else 0)
    assert found.probability[0] == row.sum()
    assert found.point[0] == (row[0].argmax() + 1 if row.any() else 0)


@given(
    st.lists(st.floats(0, 1, width=32), min_size=1, max_size=30),
    st.floats(0.01, 0.999),
    st.integers(1, 30),
)
def test_an_interval_never_holds_less_than_it_promises(weights: list[float], threshold: float, within: int) -> None:
    row = np.array([weights], np.float64)
    row = (row / max(row.sum(), 1) * (1 - 1e-6)).astype(np.float32)
    found = forecasts(row, threshold, within)
    earliest, latest = int(found.earliest[0]), int(found.latest[0])
    if latest:
        mass = row[0, earliest - 1 : latest].astype(np.float64).sum()
        assert threshold <= float(found.mass[0]) <= mass + 1e-12 and latest <= within
    else:
        assert row[0, :within].astype(np.float64).sum() < threshold + 1e-6
