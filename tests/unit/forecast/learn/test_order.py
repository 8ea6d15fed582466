"""The order that knows held-out events best."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ostinato.errors import DataError
from ostinato.forecast.learn.counts import Counts, count_grams
from ostinato.forecast.learn.loss import mean_loss
from ostinato.forecast.learn.order import OrderChoice, choose_order
from ostinato.forecast.learn.suffix_tree import Learning, learn_tree


def split(symbols: Any, keys: Any, alphabet: int, order: int, tail: float = 0.2) -> tuple[Counts, Counts]:
    """Counts of the earlier and of the later events; the later ones know the earlier ones of their key."""
    cut = len(symbols) - int(tail * len(symbols))
    number = 1 if keys is None else int(keys.max(initial=-1)) + 1
    history = np.full((number, order), -1, np.int32)
    head, rest = slice(cut), slice(cut, None)
    return (
        count_grams(symbols[head], None if keys is None else keys[head], order, alphabet, history),
        count_grams(symbols[rest], None if keys is None else keys[rest], order, alphabet, history),
    )


def lagged(lag: int, alphabet: int = 4, length: int = 20_000) -> np.ndarray:
    """Every other event or so repeats the one `lag` before it; the others are random."""
    random = np.random.default_rng(lag)
    symbols, repeats = random.integers(0, alphabet, length).tolist(), random.random(length) < 0.5
    for at in range(lag, length):
        if repeats[at]:
            symbols[at] = symbols[at - lag]
    return np.array(symbols, np.int32)


def choose_grid(symbols: np.ndarray, largest: int = 8, learning: Learning | None = None) -> OrderChoice:
    return choose_order(*split(symbols, None, 4, largest), learning or Learning())


@pytest.mark.parametrize("lag", [1, 2, 3])
def test_the_order_is_how_far_back_events_depend(lag: int) -> None:
    found = choose_grid(lagged(lag))
    assert found.order == lag
    table = {each.order: each for each in found.tried}
    assert list(table) == list(range(lag + 4))  # three more without gain, and no further
    assert table[lag].log_loss < table[lag - 1].log_loss - 0.1
    assert table[lag].nodes > table[0].nodes == 1


def test_events_that_depend_on_nothing_need_no_context() -> None:
    symbols = np.random.default_rng(1).integers(0, 4, 20_000).astype(np.int32)
    assert choose_grid(symbols).order == 0


def test_losses_are_those_of_trees_learned_from_the_head() -> None:
    symbols = lagged(2)
    for each in choose_grid(symbols).tried:
        tree = learn_tree(count_grams(symbols[:16_000], None, each.order, 4), Learning())
        assert each.nodes == len(tree.contexts)
        _, tail = split(symbols, None, 4, each.order)
        assert each.log_loss == pytest.approx(mean_loss(tree, tail), rel=1e-12)


def test_the_tail_knows_the_head() -> None:
    symbols, keys = lagged(2), np.random.default_rng(2).integers(0, 3, 20_000).astype(np.int32)
    head, tail = split(symbols, keys, 4, 5, tail=0.3)
    assert (head.total, tail.total) == (14_000, 6_000)
    whole, merged = count_grams(symbols, keys, 5, 4), head.merge(tail)
    assert np.array_equal(whole.grams, merged.grams) and np.array_equal(whole.weights, merged.weights)


def test_orders_with_too_many_contexts_are_left_out() -> None:
    found = choose_grid(lagged(3), learning=Learning(min_count=0, gamma=0, r=1, max_nodes=50))
    assert [each.order for each in found.tried] == [0, 1, 2]
    assert found.order <= 2


def test_without_later_events_there_is_nothing_to_choose_by() -> None:
    with pytest.raises(DataError, match="order=…"):
        choose_grid(np.zeros(3, np.int32))
