"""Counts and trees are those of the naive learner, however the stream is cut into batches or parts."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.forecast.learn.counts import Counts, count_grams
from ostinato.forecast.learn.suffix_tree import Learning, learn_tree
from ostinato.forecast.semantics import learning as naive

ALPHABET = 4


@st.composite
def streams(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Events (key, symbol) with more repetition than chance would give, so that contexts matter; the last symbol of
    the alphabet never comes."""
    motif = draw(st.lists(st.integers(0, ALPHABET - 2), min_size=1, max_size=4))
    noise = draw(st.lists(st.tuples(st.integers(0, 2), st.integers(-3, ALPHABET - 2)), max_size=120))
    return [(key, symbol if symbol >= 0 else motif[at % len(motif)]) for at, (key, symbol) in enumerate(noise)]


learnings = st.builds(
    Learning,
    p_min=st.sampled_from([0.0, 0.02, 0.1]),
    min_count=st.sampled_from([0.0, 2.0, 5.0]),
    alpha=st.sampled_from([0.0, 0.5]),
    gamma=st.sampled_from([0.001, 0.05, 0.3]),
    r=st.sampled_from([1.0, 1.05, 1.5, 3.0]),
    prior=st.sampled_from([0.0, 1.0, 7.5]),
)
orders = st.integers(0, 5)


def counted(events: list[tuple[int, int]], order: int, history: np.ndarray | None = None) -> Counts:
    keys, symbols = np.array(events, np.int32).reshape(-1, 2).T
    return count_grams(symbols, keys, order, ALPHABET, history)


def same(left: Counts, right: Counts) -> bool:
    return np.array_equal(left.grams, right.grams) and np.array_equal(left.weights, right.weights)


@given(streams(), orders)
def test_counts_are_the_naive_counts(events: list[tuple[int, int]], order: int) -> None:
    counts = counted(events, order)
    expected = naive.count_followers(events, order)
    found: dict[naive.Context, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for gram, weight in zip(counts.grams.tolist(), counts.weights.tolist(), strict=True):
        context = tuple(symbol for symbol in gram[:-1] if symbol >= 0)
        for length in range(len(context) + 1):
            found[context[len(context) - length :]][gram[-1]] += weight
    assert found == expected
    grams = [tuple(gram) for gram in counts.grams.tolist()]
    assert grams == sorted(set(grams))


@given(streams(), orders, st.lists(st.integers(0, 120), max_size=4))
def test_batches_add_up_to_the_whole(events: list[tuple[int, int]], order: int, cuts: list[int]) -> None:
    history = np.full((3, order), -1, np.int32)
    found = counted([], order)
    for begin, end in pairwise([0, *sorted(min(cut, len(events)) for cut in cuts), len(events)]):
        found = found.merge(counted(events[begin:end], order, history))
    assert same(found, counted(events, order))


@given(streams(), orders, orders)
def test_parts_by_key_add_up_to_the_whole(events: list[tuple[int, int]], order: int, lower: int) -> None:
    first = counted([event for event in events if event[0] != 1], order)
    second = counted([event for event in events if event[0] == 1], order)
    whole = counted(events, order)
    assert same(first.merge(second), whole) and same(second.merge(first), whole)
    assert same(Counts.from_table(whole.to_table(), order=order, alphabet=ALPHABET), whole)
    assert same(whole.at_order(min(lower, order)), counted(events, min(lower, order)))


@given(streams(), orders, learnings)
def test_the_tree_is_that_of_the_naive_learner(events: list[tuple[int, int]], order: int, learning: Learning) -> None:
    if not events:
        return
    found = naive.count_followers(events, order)
    tree = learn_tree(counted(events, order), learning)
    expected = naive.contexts(
        found,
        p_min=learning.p_min,
        min_count=learning.min_count,
        alpha=learning.alpha,
        gamma=learning.gamma,
        r=learning.r,
    )
    assert set(tree.contexts) == expected and len(tree.contexts) == len(expected)
    for context, row, support in zip(tree.contexts, tree.probabilities, tree.support, strict=True):
        own = naive.own_distribution(found, expected, context, learning.prior, ALPHABET)
        assert row.tolist() == pytest.approx(own, abs=1e-12)
        assert support == sum(found[context].values())


@given(streams(), orders, learnings)
def test_rows_are_distributions_over_what_was_observed(
    events: list[tuple[int, int]], order: int, learning: Learning
) -> None:
    if not events:
        return
    tree = learn_tree(counted(events, order), learning)
    observed = {symbol for _, symbol in events}
    unobserved = [symbol for symbol in range(ALPHABET) if symbol not in observed]
    assert np.allclose(tree.probabilities.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert (tree.probabilities >= 0).all()
    assert (tree.probabilities[:, unobserved] == 0).all()
    assert not learning.prior or (tree.probabilities[0, sorted(observed)] > 0).all()
