"""How long contexts should be: the order whose tree, learned from earlier events, predicts later ones best."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ostinato.core.arrays import Float64
from ostinato.errors import DataError, LimitError, Message, Option
from ostinato.forecast.learn.counts import Counts
from ostinato.forecast.learn.loss import losses
from ostinato.forecast.learn.suffix_tree import Learning, SuffixTree, learn_trees

MAX_AUTO_ORDER = 10  # the longest order that order="auto" tries
_ERRORS = 2.0  # by how many standard errors of the difference a longer order must be better
_PATIENCE = 3  # after so many orders in a row that are no better than the best, no more are tried


@dataclass(frozen=True)
class OrderLoss:
    """How the tree of one order does on the held-out events."""

    order: int
    log_loss: float  # nats per event
    nodes: int


@dataclass(frozen=True)
class OrderChoice:
    """The order to take, and what was tried."""

    order: int
    tried: tuple[OrderLoss, ...]


def choose_order(head: Counts, tail: Counts, learning: Learning) -> OrderChoice:
    """The shortest order, up to that of the counts, that no longer one beats by more than chance.

    A few orders without gain are skipped, since a symbol may depend on an older one only. Orders whose tree would be
    too large are not tried.
    """
    if not tail.total > 0:
        raise DataError(
            "too few events to choose the order on held-out data",
            fix=Message("give more events, or set ", Option("order")),
            option="order",
        )
    tried: list[OrderLoss] = []
    best, least = 0, np.empty(0)
    for order, tree in enumerate(_trees_within_limit(head, learning)):
        loss = losses(tree, tail)
        tried.append(OrderLoss(order, float(loss @ tail.weights / tail.total), len(tree.contexts)))
        if not order or _better(least - loss, tail.weights):
            best, least = order, loss
        elif best and order - best >= _PATIENCE:
            break
    return OrderChoice(best, tuple(tried))


def _trees_within_limit(counts: Counts, learning: Learning) -> Iterator[SuffixTree]:
    try:
        yield from learn_trees(counts, learning, range(counts.order + 1))
    except LimitError:  # longer ones are larger still
        return


def _better(gains: Float64, weights: Float64) -> bool:
    """Whether the mean gain is more than chance."""
    total = weights.sum()
    mean = gains @ weights / total
    deviation = np.sqrt((gains - mean) ** 2 @ weights / total)
    return bool(mean > _ERRORS * deviation / np.sqrt(total))
