"""Waiting times by the published method: expand the futures of a state path by path, and cut off unlikely paths.

As in section 8.1 and Figure 5 of the SRA paper: from a state, each symbol that may come leads to the next state, with
the probability that the tree gives it; a path ends where it completes a match. There are exponentially many paths, so
a path is given up once it is less likely than a cutoff. Whatever it would have led to is lost.

It gets the same product of pattern and contexts that Ostinato uses, and it is compiled in the same way, so that only
the methods are compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostinato.core.arrow import read_only
from ostinato.core.jit import array, kernel, table
from ostinato.core.jit.types import boolean, float64, int32, int64
from ostinato.forecast.chain.product import Product


def _view(dtype: Any) -> Any:
    return table(dtype, constant=True)


@kernel(
    int64(
        _view(int32), _view(boolean), _view(float64), int64, int64, float64,
        array(int32), array(int32), array(float64), array(float64),
    )
)  # fmt: skip
def _expand(
    after: NDArray[np.int32],
    completes: NDArray[np.bool_],
    probability: NDArray[np.float64],
    start: int,
    horizon: int,
    cutoff: float,
    state: NDArray[np.int32],
    depth: NDArray[np.int32],
    likely: NDArray[np.float64],
    found: NDArray[np.float64],
) -> int:
    """Add the probability of each wait to `found`; return the number of paths followed.

    Paths wait on a stack: the `state` and `depth` each has reached, and how `likely` it is.
    """
    top, visited = 1, 0
    state[0], depth[0], likely[0] = start, 0, 1.0
    while top:
        top -= 1
        here, steps, so_far = state[top], depth[top], likely[top]
        visited += 1
        for symbol in range(after.shape[1]):
            path = so_far * probability[here, symbol]
            if after[here, symbol] < 0 or path == 0.0 or path < cutoff:
                continue
            if completes[here, symbol]:
                found[steps] += path
            elif steps + 1 < horizon:
                state[top], depth[top], likely[top] = after[here, symbol], steps + 1, path
                top += 1
    return visited


def expand_paths(
    product: Product, states: NDArray[np.int32], horizon: int, cutoff: float
) -> tuple[NDArray[np.float32], int]:
    """P(W = k) for k = 1 … horizon of the given states, as far as paths are followed; and the number of paths."""
    room = 1 + horizon * product.alphabet
    state, depth, likely = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room)
    tables = read_only(product.next), read_only(product.completes), read_only(product.probability)
    waiting, visited = np.zeros((len(states), horizon)), 0
    for place, start in enumerate(states.tolist()):
        visited += _expand(*tables, start, horizon, cutoff, state, depth, likely, waiting[place])
    return waiting.astype(np.float32), visited
