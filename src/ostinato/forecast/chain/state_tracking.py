"""The state of a stream after each of its events."""

from __future__ import annotations

import numpy as np

from ostinato.core.arrays import Int32
from ostinato.core.arrow import read_only
from ostinato.errors import DataError
from ostinato.forecast.chain.product import Product
from ostinato.forecast.symbols.reader import SymbolBatch


def track(next: Int32, symbols: Int32, keys: Int32 | None, states: Int32) -> Int32:
    """The state after each event, by the table of an automaton or product.

    `states` has the state of each key and is updated.
    """
    from ostinato.forecast.kernels.state_tracking import follow_keys, follow_one

    found = np.empty(len(symbols), np.int32)
    after = read_only(next)
    if keys is None:
        done = follow_one(after, read_only(symbols), states, found)
    else:
        done = follow_keys(after, read_only(symbols), read_only(keys), states, found)
    if done < len(symbols):
        raise DataError(
            f"symbol {symbols[done]} is impossible in the state of its key",
            row=done,
            fix="read events with the alphabet that the automaton was made for",
        )
    return found


def track_ages(product: Product, read: SymbolBatch, pattern_states: Int32, states: Int32) -> Int32:
    """The same where runs are followed one by one: `pattern_states` has the pattern state after each event, or -1."""
    from ostinato.forecast.kernels.state_tracking import follow_ages

    found = np.empty(len(read.symbols), np.int32)
    keys = np.zeros(len(read.symbols), np.int32) if read.keys is None else read.keys
    tables = read_only(product.next), read_only(product.pattern)
    follow_ages(*tables, read_only(read.symbols), read_only(keys), read_only(pattern_states), states, found)
    return found
