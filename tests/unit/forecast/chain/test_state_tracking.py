"""Following a stream: the same for one key as for many, whole or in batches."""

from __future__ import annotations

import numpy as np
import pytest

from ostinato.errors import DataError
from ostinato.forecast.chain.state_tracking import track

RING = np.array([[1, 0], [2, 0], [0, 0]], np.int32)


def test_one_key() -> None:
    states = np.array([1], np.int32)
    assert track(RING, np.array([0, 0, 1, 0], np.int32), None, states).tolist() == [2, 0, 0, 1]
    assert states.tolist() == [1]


def test_keys_go_their_own_ways_and_batches_go_on() -> None:
    rng = np.random.default_rng(1)
    symbols, keys = rng.integers(0, 2, 500).astype(np.int32), rng.integers(0, 7, 500).astype(np.int32)
    whole = track(RING, symbols, keys, np.zeros(7, np.int32))
    for key in range(7):
        own = track(RING, symbols[keys == key], None, np.zeros(1, np.int32))
        assert (whole[keys == key] == own).all()
    states = np.zeros(7, np.int32)
    parts = [track(RING, symbols[at : at + 99], keys[at : at + 99], states) for at in range(0, 500, 99)]
    assert (np.concatenate(parts) == whole).all()


@pytest.mark.parametrize("symbol", [1, 2, -1])
@pytest.mark.parametrize("keys", [None, np.zeros(3, np.int32)])
def test_a_symbol_that_cannot_come_is_an_error_that_names_the_row(symbol: int, keys: np.ndarray | None) -> None:
    only_first = np.array([[0, -1]], np.int32)
    with pytest.raises(DataError, match=f"row 1: symbol {symbol} is impossible"):
        track(only_first, np.array([0, symbol, 0], np.int32), keys, np.zeros(1, np.int32))
