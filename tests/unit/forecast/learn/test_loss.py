"""The log-loss of a tree, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ostinato.errors import DataError
from ostinato.forecast.learn.counts import count_grams
from ostinato.forecast.learn.loss import FLOOR, log_loss, mean_loss
from ostinato.forecast.learn.suffix_tree import SuffixTree

# After symbol 0 the next is 1 for sure; else both are as likely.
TREE = SuffixTree(((), (0,)), np.array([[0.5, 0.5], [0.0, 1.0]]), np.ones(2))


def symbols(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def test_the_longest_context_gives_the_probability() -> None:
    assert log_loss(TREE, symbols(0, 1, 1, 0, 1)) == pytest.approx(3 * math.log(2) / 5)


def test_each_key_begins_anew() -> None:
    assert log_loss(TREE, symbols(0, 1), symbols(0, 1)) == pytest.approx(math.log(2))


def test_what_has_no_probability_costs_no_more_than_the_floor() -> None:
    assert log_loss(TREE, symbols(0, 0)) == pytest.approx((math.log(2) - math.log(FLOOR)) / 2)
    assert log_loss(TREE, symbols(2)) == pytest.approx(-math.log(FLOOR)), "a symbol that the tree does not know"


def test_counts_must_reach_as_far_as_the_tree() -> None:
    with pytest.raises(DataError, match="too short for a tree of order 1"):
        mean_loss(TREE, count_grams(symbols(0, 1), None, 0, 2))
    with pytest.raises(DataError, match="no events to compute the loss of"):
        mean_loss(TREE, count_grams(symbols(), None, 1, 2))
