from __future__ import annotations

import numpy as np
import pytest

from ostinato.forecast.learn.counts import count_grams
from ostinato.forecast.learn.suffix_tree import Learning
from ostinato.forecast.score import baselines

SYMBOLS = np.array([0, 1, 0, 1, 0, 2] * 50, np.int32)


def test_the_mean_rate_waits_geometrically() -> None:
    assert baselines.mean_rate(0.25, 3).tolist() == [pytest.approx([0.25, 0.1875, 0.140625])]
    assert baselines.mean_rate(0.0, 2).tolist() == [[0, 0]] and baselines.mean_rate(1.0, 2).tolist() == [[1, 0]]


def test_independent_symbols_come_as_often_as_ever() -> None:
    tree = baselines.iid(count_grams(SYMBOLS, None, 2, 3))
    assert tree.contexts == ((),)
    assert tree.probabilities[0] == pytest.approx([1 / 2, 1 / 3, 1 / 6])


def test_a_chain_of_full_order_has_every_context_that_was_seen() -> None:
    tree = baselines.markov(count_grams(SYMBOLS, None, 3, 3), 2)
    assert set(tree.contexts) == {(), (0,), (1,), (2,), (0, 1), (1, 0), (0, 2), (2, 0)}
    after_one = tree.probabilities[tree.contexts.index((1,))]
    assert after_one[0] > 0.7 and after_one.sum() == pytest.approx(1)


def test_orders_are_those_that_were_counted() -> None:
    assert list(baselines.baseline_trees(count_grams(SYMBOLS, None, 2, 3))) == ["independent", "Markov 1", "Markov 2"]
    assert list(baselines.baseline_trees(count_grams(SYMBOLS, None, 5, 3)))[-1] == "Markov 3"


def test_a_baseline_too_large_to_compare_with_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    small = Learning(p_min=0.0, gamma=0.0, r=1.0, min_count=0.0, max_nodes=5)
    monkeypatch.setattr(baselines, "FULL", small)
    assert list(baselines.baseline_trees(count_grams(SYMBOLS, None, 3, 3))) == ["independent", "Markov 1"]
