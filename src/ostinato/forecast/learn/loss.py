"""The log-loss: how surprising events are to a tree, in nats. Less is better."""

from __future__ import annotations

import numpy as np

from ostinato.core.arrays import Float64, Int32
from ostinato.core.arrow import read_only
from ostinato.errors import DataError
from ostinato.forecast.learn.counts import Counts, count_grams
from ostinato.forecast.learn.suffix_tree import SuffixTree

# A symbol that a tree never saw has no probability, and its loss would be infinite: it is given this probability.
FLOOR = 1e-9


def log_loss(tree: SuffixTree, symbols: Int32, keys: Int32 | None = None) -> float:
    """The mean over the events of -log P(symbol | context), each key beginning anew; at most -log FLOOR."""
    alphabet = max(tree.alphabet, int(symbols.max(initial=0)) + 1)
    return mean_loss(tree, count_grams(symbols, keys, tree.order, alphabet))


def mean_loss(tree: SuffixTree, counts: Counts) -> float:
    """The log-loss of events that were counted, at the tree's order or above."""
    if not counts.total > 0:
        raise DataError("there are no events to compute the loss of")
    return float(losses(tree, counts) @ counts.weights / counts.total)


def losses(tree: SuffixTree, counts: Counts) -> Float64:
    """The loss of each gram; the counts must be at the tree's order or above."""
    from ostinato.forecast.kernels.suffix_tree import gram_losses

    if counts.order < tree.order:
        raise DataError(
            f"counts of order {counts.order} are too short for a tree of order {tree.order}",
            fix=f"count at order {tree.order}",
        )
    found = np.empty(len(counts.grams))
    probabilities = read_only(np.ascontiguousarray(tree.probabilities))
    gram_losses(read_only(counts.grams), read_only(tree.children()), probabilities, FLOOR, found)
    return found
