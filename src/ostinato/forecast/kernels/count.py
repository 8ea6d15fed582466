"""The last symbols of each key, packed into words that sort as the symbols do.

A gram is a context, oldest symbol first, and the symbol after it. Each takes `bits` bits as symbol + 1, so that -1 (no
symbol) is 0 and stands first; a word holds `per_word` of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.jit import kernel, table, types, view

TABLE = table(types.int32)
WORDS = table(types.uint64)


@kernel(types.void(view(types.int32), view(types.int32), types.int64, types.int64, TABLE, WORDS))
def pack_stream(symbols: Any, keys: Any, bits: Any, per_word: Any, history: Any, words: Any) -> None:
    """words[:, event] is the gram that ends with the event; `history` moves on with the events of its key."""
    order = history.shape[1]
    shift, one = np.uint64(bits), np.uint64(1)
    for at in range(symbols.size):
        key, symbol = keys[at], symbols[at]
        word, filled, place = np.uint64(0), 0, 0
        for column in range(order):
            word = (word << shift) | np.uint64(history[key, column] + 1)
            filled += 1
            if filled == per_word:
                words[place, at] = word
                word, filled, place = np.uint64(0), 0, place + 1
            if column:
                history[key, column - 1] = history[key, column]
        words[place, at] = (word << shift) | (np.uint64(symbol) + one)
        if order:
            history[key, order - 1] = symbol
