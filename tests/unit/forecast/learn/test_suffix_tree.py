"""Prediction suffix trees: which contexts are worth a node, and what follows them; the log-loss of events."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
import pytest

from ostinato.errors import DataError, LimitError, OstinatoError
from ostinato.forecast.chain.contexts import context_automaton
from ostinato.forecast.learn.counts import Counts, count_grams
from ostinato.forecast.learn.loss import FLOOR, log_loss, losses, mean_loss
from ostinato.forecast.learn.suffix_tree import Learning, SuffixTree, learn_tree, learn_trees

# Every context that was seen is in the tree, with what was seen after it.
ALL = Learning(p_min=0.0, min_count=0.0, gamma=0.0, r=1.0, prior=0.0)


def stream(length: int, alphabet: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, alphabet, length).astype(np.int32)


def probability(tree: SuffixTree, *context: int) -> list[float]:
    return list(tree.probabilities[tree.contexts.index(context)].tolist())


def test_the_root_is_what_was_seen() -> None:
    tree = learn_tree(count_grams(np.array([0, 2, 0, 0], np.int32), None, 0, 4), Learning())
    assert tree.contexts == ((),)
    assert probability(tree) == [0.75, 0, 0.25, 0]
    assert tree.support.tolist() == [4]
    assert (tree.alphabet, tree.order) == (4, 0)


def test_a_context_that_tells_no_more_than_its_suffix_has_no_node() -> None:
    alternating = np.tile(np.array([0, 1], np.int32), 500)
    tree = learn_tree(count_grams(alternating, None, 3, 2), Learning(prior=0.0))
    assert tree.contexts == ((), (0,), (1,))
    assert probability(tree, 0) == [0, 1]


def test_a_longer_context_may_tell_more_where_its_suffix_does_not() -> None:
    """Each symbol is the exclusive or of the two before the last: only contexts of length three tell it."""
    bits = stream(20_000, 2).tolist()
    for at in range(3, len(bits)):
        if at % 3:
            bits[at] = bits[at - 2] ^ bits[at - 3]
    tree = learn_tree(count_grams(np.array(bits, np.int32), None, 3, 2), Learning(r=1.3))
    assert {len(context) for context in tree.contexts} == {0, 1, 2, 3}
    assert probability(tree, 0, 1, 0)[1] > 0.7 > 0.3 > probability(tree, 0, 0, 0)[1]


def test_distributions_are_drawn_to_those_of_the_suffix() -> None:
    counts = count_grams(np.array([0, 1, 0, 1, 0, 0], np.int32), None, 1, 3)
    tree = learn_tree(counts, Learning(p_min=0, min_count=0, gamma=0, r=1, prior=2.0))
    # Of six events four are 0; after 0 came 1 twice and 0 once: two symbols, each of which draws with two events.
    assert probability(tree, 0) == pytest.approx([(1 + 4 * 4 / 6) / 7, (2 + 4 * 2 / 6) / 7, 0])
    # Only the first event came after no context: what the empty one is asked for is that, and what came of all.
    assert probability(tree) == pytest.approx([(1 + 2 * 4 / 6) / 3, (0 + 2 * 2 / 6) / 3, 0])
    assert tree.support.tolist() == [6, 3, 2]


def test_contexts_come_by_length_after_their_suffixes() -> None:
    tree = learn_tree(count_grams(stream(500, 4), None, 3, 4), ALL)
    assert list(tree.contexts) == sorted(tree.contexts, key=lambda context: (len(context), context))
    assert len(tree.contexts) > 1 + 4 + 16
    seen: set[tuple[int, ...]] = set()
    for context in tree.contexts:
        assert not context or context[1:] in seen
        seen.add(context)
    children = tree.children()
    for node, context in enumerate(tree.contexts):
        for symbol in range(4):
            longer = (symbol, *context)
            assert children[node, symbol] == (tree.contexts.index(longer) if longer in tree.contexts else -1)


@pytest.mark.parametrize("change", [{"p_min": 0.2}, {"min_count": 90.0}, {"gamma": 0.9}, {"alpha": 1e9}, {"r": 1e9}])
def test_each_condition_can_keep_contexts_out(change: dict[str, float]) -> None:
    symbols = stream(200, 3)
    loose: dict[str, Any] = {"p_min": 0.0, "min_count": 0.0, "gamma": 0.01, "r": 1.1}
    full = learn_tree(count_grams(symbols, None, 2, 3), Learning(**loose))
    assert len(learn_tree(count_grams(symbols, None, 2, 3), Learning(**(loose | change))).contexts) < len(full.contexts)


def test_weights_need_not_be_whole() -> None:
    counts = count_grams(stream(2000, 3), None, 2, 3)
    whole, half = learn_tree(counts, ALL), learn_tree(counts.decay(0.5), ALL)
    assert whole.contexts == half.contexts
    assert np.array_equal(whole.probabilities, half.probabilities)
    assert np.array_equal(whole.support, 2 * half.support)


def test_all_orders_from_one_counting() -> None:
    symbols = stream(3000, 3)
    for order, tree in enumerate(learn_trees(count_grams(symbols, None, 4, 3), Learning(min_count=5), range(5))):
        alone = learn_tree(count_grams(symbols, None, order, 3), Learning(min_count=5))
        assert tree.contexts == alone.contexts
        assert np.array_equal(tree.probabilities, alone.probabilities)


def test_too_many_contexts_say_which_order_and_p_min_would_do() -> None:
    counts = count_grams(stream(5000, 8), None, 4, 8)
    learning = Learning(p_min=0, min_count=0, gamma=0, r=1, max_nodes=100)
    with pytest.raises(LimitError, match=r"8 of length 1, 64 of length 2, 512 of length 3") as caught:
        learn_tree(counts, learning)
    assert "lower the order to 2, raise p_min from 0 to 0.005" in caught.value.fix
    assert len(learn_tree(counts.at_order(2), learning).contexts) == 73
    assert len(learn_tree(counts, Learning(p_min=0.005, min_count=0, gamma=0, r=1, max_nodes=100)).contexts) <= 100


def test_nothing_can_be_learned_from_nothing() -> None:
    with pytest.raises(DataError, match="nothing to learn from"):
        learn_tree(count_grams(np.zeros(0, np.int32), None, 2, 3), Learning())


@pytest.mark.parametrize(
    ("option", "value", "accepted"),
    [
        ("p_min", 2, "from 0 to 1"),
        ("p_min", "much", "a number"),
        ("r", 0.9, "from 1 on"),
        ("prior", -1, "from 0 on"),
        ("prior", float("nan"), "from 0 on"),
        ("gamma", True, "from 0 to 1"),
        ("max_nodes", 0, "a whole number from 1 on"),
        ("max_nodes", 2.5, "a whole number"),
    ],
)
def test_settings_are_checked(option: str, value: object, accepted: str) -> None:
    with pytest.raises(OstinatoError, match=f"{option} cannot be .*\nfix: give .*{accepted}"):
        Learning(**{option: value})  # type: ignore[arg-type]


def test_log_loss_of_what_is_certain_and_of_what_was_never_seen() -> None:
    symbols = np.tile(np.array([0, 1], np.int32), 10)
    tree = learn_tree(count_grams(symbols, None, 1, 2), ALL)
    assert log_loss(tree, symbols) == 0  # the first event is always 0 as well
    assert log_loss(tree, np.array([0, 5, 0], np.int32)) == pytest.approx(-log(FLOOR) / 3)
    with pytest.raises(DataError, match="no event"):
        log_loss(tree, symbols[:0])
    with pytest.raises(DataError, match="count at order 1"):
        losses(tree, count_grams(symbols, None, 0, 2))


def test_log_loss_is_that_of_following_the_contexts() -> None:
    symbols, keys = stream(4000, 3, seed=4), stream(4000, 5, seed=5)
    tree = learn_tree(count_grams(symbols[:2000], keys[:2000], 3, 3), Learning(min_count=5, prior=3.0))
    assert tree.order == 3
    automaton = context_automaton(tree)
    states, total = [0] * 5, 0.0
    for key, symbol in zip(keys.tolist(), symbols.tolist(), strict=True):
        total -= log(tree.probabilities[automaton.node[states[key]], symbol])
        states[key] = int(automaton.next[states[key], symbol])
    assert log_loss(tree, symbols, keys) == pytest.approx(total / 4000, rel=1e-12)
    longer: Counts = count_grams(symbols, keys, 6, 3)
    assert mean_loss(tree, longer) == pytest.approx(total / 4000, rel=1e-12)
