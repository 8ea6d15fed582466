"""Waiting-time distributions (SRA paper, section 8.1): how many events ahead the next completion is, for every state.

Instead of expanding the futures of each state path by path, all states go back one event at a time: the wait from a
state is k + 1 if the next symbol does not complete and the wait from the state it leads to is k. This is exact, and
takes horizon × transitions steps.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ostinato.core.arrays import Float32, Float64
from ostinato.core.arrow import read_only
from ostinato.errors import Limit, LimitError, Message
from ostinato.forecast.chain.product import Product

_STEPS = 16  # at a time: a cache line of the table


def waiting_times(product: Product, horizon: int, *, max_bytes: int = 2 << 30) -> Float32:
    """P(W = k) for k = 1 … horizon, [states, horizon]: found in double precision, rounded down when stored."""
    from ostinato.forecast.kernels.waiting import store

    if product.states * horizon * 4 > max_bytes:
        raise LimitError(
            "memory",
            max_bytes,
            reason=f"waiting times of {product.states:,} states up to {horizon:,} events ahead take "
            f"{product.states * horizon * 4:,} bytes",
            fix=Message(
                "lower the horizon or, for fewer states, the order; or raise ", Limit("memory", "ForecastLimits")
            ),
        )
    found = np.empty((product.states, horizon), np.float32)
    for column, block in waiting_blocks(product, horizon):
        store(read_only(block), column, found)
    return found


def waiting_blocks(product: Product, horizon: int) -> Iterator[tuple[int, Float64]]:
    """In double precision: [steps, states] for some waits in a row, and how many come before them."""
    from ostinato.forecast.kernels.waiting import likely_edges, step_back

    block = np.empty((_STEPS + 1, product.states))
    ends = np.zeros(product.states + 1, np.int64)
    to, weight = np.empty(product.next.size, np.int32), np.empty(product.next.size)
    likely_edges(
        read_only(product.next),
        read_only(product.completes),
        read_only(product.probability),
        block[1],
        ends,
        to,
        weight,
    )
    edges = (read_only(ends), read_only(to), read_only(weight))
    for column in range(0, horizon, _STEPS):
        steps = min(_STEPS, horizon - column)
        if column:
            block[0] = block[-1]
            step_back(*edges, block, steps)
        else:
            step_back(*edges, block[1:], steps - 1)
        yield column, block[1 : steps + 1]
