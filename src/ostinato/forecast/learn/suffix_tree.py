"""Prediction suffix trees (Ron, Singer, Tishby): contexts of varying length, each with what tends to follow it.

A context gets a node if it is not too rare and some symbol follows it notably more or less often than it follows the
context's suffix. A context without a node may still have longer ones with one. All suffixes of a node are nodes, too.

The distribution after a context is drawn to that after its suffix: the more so, the less often the context was seen and
the more different symbols followed it (Witten and Bell). A node is used only if no longer context is in the tree. So
events that belong to a longer one are left out of its distribution, which is drawn to that of all its events in the
same way. Otherwise rare contexts would get the odds of the frequent ones that have nodes of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import inf, isfinite
from numbers import Real

import numpy as np

from ostinato.core.arrays import Float64, Int32, Int64
from ostinato.core.arrow import read_only
from ostinato.core.options import bad_option
from ostinato.errors import DataError, LimitError
from ostinato.forecast.learn.counts import Counts, pack_columns

Context = tuple[int, ...]  # oldest symbol first


@dataclass(frozen=True, eq=False)
class SuffixTree:
    """`probabilities[node]` is the distribution of the symbol after `contexts[node]`; node 0 is the empty context."""

    contexts: tuple[Context, ...]  # by length, then by symbols: a context's suffix stands before it
    probabilities: Float64  # [nodes, alphabet]; rows sum to 1
    support: Float64  # [nodes]: how often the context was seen

    @property
    def alphabet(self) -> int:
        return int(self.probabilities.shape[1])

    @property
    def order(self) -> int:
        return len(self.contexts[-1])

    def children(self) -> Int32:
        """children[node, symbol]: the node whose context has the symbol before that of `node`, or -1."""
        found = np.full(self.probabilities.shape, -1, np.int32)
        numbers = {context: number for number, context in enumerate(self.contexts)}
        for context, number in numbers.items():
            if context:
                found[numbers[context[1:]], context[0]] = number
        return found


@dataclass(frozen=True, kw_only=True)
class Learning:
    """When a context gets a node, and how its distribution is estimated."""

    # Chosen by log-loss on held-out events of eight made-up sources (alphabets 3 to 40; 1,000 to 150,000 events learned
    # from): a prior of 200 gains up to 0.03 nats on noisy ones, but loses 0.2 on an almost sure cycle of 1,000 events.
    p_min: float = 1e-4  # the least share of all events that come after the context
    min_count: float = 50.0  # and the least number of them
    gamma: float = 0.01  # a symbol counts only if it follows with probability (1 + alpha) · gamma
    alpha: float = 0.0
    r: float = 1.2  # and its probability is at least r times, or at most 1/r times, that after the suffix
    prior: float = 10.0  # how many events per symbol seen draw a distribution to that of the suffix
    max_nodes: int = 50_000

    def __post_init__(self) -> None:
        ranges = {
            "p_min": (0.0, 1.0), "min_count": (0.0, inf), "gamma": (0.0, 1.0), "alpha": (0.0, inf), "r": (1.0, inf),
            "prior": (0.0, inf), "max_nodes": (1.0, inf),
        }  # fmt: skip
        for name, (least, most) in ranges.items():
            value, kind = getattr(self, name), int if name == "max_nodes" else Real
            number = isinstance(value, kind) and not isinstance(value, bool) and isfinite(value)
            if not (number and least <= value <= most):
                bounds = f"from {least:g} on" if most == inf else f"from {least:g} to {most:g}"
                raise bad_option(name, value, f"a {'whole ' if kind is int else ''}number {bounds}")


def learn_tree(counts: Counts, learning: Learning) -> SuffixTree:
    """The tree of the counts, with contexts up to their order."""
    (tree,) = learn_trees(counts, learning, [counts.order])
    return tree


def learn_trees(counts: Counts, learning: Learning, orders: Iterable[int]) -> Iterator[SuffixTree]:
    """The trees at several orders, none above that of the counts: the counts are sorted once for all of them."""
    if not counts.total > 0:
        raise DataError("there is nothing to learn from: no events were counted", fix="give a history with events")
    rows = _by_recency(counts)
    for order in orders:
        yield _learn(rows, learning, order)


@dataclass(frozen=True)
class _Rows:
    """Counts sorted by the most recent symbol of the context first, as the kernels read them."""

    recent: Int32  # [n, order]
    symbols: Int32
    weights: Float64
    alphabet: int


def _by_recency(counts: Counts) -> _Rows:
    columns = counts.grams[:, :-1][:, ::-1]
    order = np.lexsort(pack_columns(columns.T, counts.alphabet)[::-1]) if counts.order else np.arange(len(columns))
    return _Rows(
        read_only(np.ascontiguousarray(columns[order])),
        read_only(np.ascontiguousarray(counts.grams[order, -1])),
        read_only(counts.weights[order]),
        counts.alphabet,
    )


def _learn(rows: _Rows, learning: Learning, order: int) -> SuffixTree:
    from ostinato.forecast.kernels.suffix_tree import BEGIN, DEPTH, estimate

    chosen, lengths = _choose(rows, learning, order, learning.p_min)
    if lengths.sum() > learning.max_nodes:
        raise _too_many(rows, learning, lengths)
    probabilities, support = np.zeros((len(chosen), rows.alphabet)), np.zeros(len(chosen))
    estimate(chosen, rows.symbols, rows.weights, learning.prior, probabilities, np.zeros_like(probabilities), support)
    contexts = [tuple(rows.recent[begin, :depth][::-1].tolist()) for begin, depth in chosen[:, [BEGIN, DEPTH]]]
    by_length = sorted(range(len(contexts)), key=lambda node: (len(contexts[node]), contexts[node]))
    return SuffixTree(tuple(contexts[node] for node in by_length), probabilities[by_length], support[by_length])


def _choose(rows: _Rows, learning: Learning, order: int, p_min: float) -> tuple[Int64, Int64]:
    """The chosen contexts, as many as there is room for; and how many there are of each length."""
    from ostinato.forecast.kernels.suffix_tree import choose_contexts

    room = min(learning.max_nodes, 1 + order * len(rows.weights))
    chosen, lengths = np.empty((room, 4), np.int64), np.zeros(order + 1, np.int64)
    path, spread = np.empty((order + 1, 4), np.int64), np.zeros((order + 1, rows.alphabet))
    seldom = (1 + learning.alpha) * learning.gamma
    made = choose_contexts(
        rows.recent, rows.symbols, rows.weights, p_min, learning.min_count, seldom, learning.r,
        path, spread, np.zeros(order + 1), chosen, lengths,
    )  # fmt: skip
    return chosen[:made].copy(), lengths


def _too_many(rows: _Rows, learning: Learning, lengths: Int64) -> LimitError:
    """Says which order, or which p_min, would be low or high enough."""
    order = len(lengths) - 1
    fits = int(np.flatnonzero(lengths.cumsum() <= learning.max_nodes).max())
    least = max(learning.p_min, 1 / float(rows.weights.sum()))
    steps = (digit * 10.0**power for power in range(-12, 0) for digit in (1, 2, 5))
    enough = next(
        (
            p_min
            for p_min in steps
            if p_min > least and _choose(rows, learning, order, p_min)[1].sum() <= learning.max_nodes
        ),
        1.0,
    )
    counted = ", ".join(f"{number:,} of length {length}" for length, number in enumerate(lengths) if length)
    return LimitError(
        "max_nodes",
        learning.max_nodes,
        reason=f"the tree has too many contexts at order {order}: {counted}",
        fix=f"lower the order to {fits}, raise p_min from {learning.p_min:g} to {enough:g}, or allow more nodes",
    )
