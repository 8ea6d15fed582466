"""What a model should beat: forecasts that know only the mean rate, or only the last few symbols.

All but the mean rate are prediction suffix trees, so that they are scored like a learned tree.
"""

from __future__ import annotations

import numpy as np

from ostinato.core.arrays import Float32
from ostinato.errors import LimitError
from ostinato.forecast.learn.counts import Counts
from ostinato.forecast.learn.suffix_tree import Learning, SuffixTree, learn_tree

HIGHEST_ORDER = 3
# Every context that was ever seen is in the tree, whether or not it tells more than a shorter one.
FULL = Learning(p_min=0.0, alpha=0.0, gamma=0.0, r=1.0, min_count=0.0, prior=1.0)


def mean_rate(rate: float, horizon: int) -> Float32:
    """The waiting times [1, horizon] where each event completes a match with the same probability: geometric."""
    ahead = np.arange(horizon)
    return (rate * (1 - rate) ** ahead).astype(np.float32)[None, :]


def iid(counts: Counts) -> SuffixTree:
    """Symbols are independent of what came before."""
    return markov(counts, 0)


def markov(counts: Counts, order: int) -> SuffixTree:
    """A Markov chain of full order: all contexts of up to `order` symbols."""
    return learn_tree(counts.at_order(order), FULL)


def baseline_trees(counts: Counts) -> dict[str, SuffixTree]:
    """The baselines that are trees, by name; without orders that have too many contexts."""
    found = {"independent": iid(counts)}
    for order in range(1, min(HIGHEST_ORDER, counts.order) + 1):
        try:
            found[f"Markov {order}"] = markov(counts, order)
        except LimitError:
            break
    return found
