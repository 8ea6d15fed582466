"""A cycle of events to forecast; parts of a forecast as plain data, as its semantics reads them; exact waits."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Float64
from ostinato.forecast.chain.product import Product
from ostinato.forecast.chain.waiting import waiting_blocks
from ostinato.forecast.learn.suffix_tree import SuffixTree
from ostinato.forecast.semantics.waiting import Contexts, Moves
from ostinato.forecast.symbols.automaton import SymbolAutomaton

CYCLE = "A AS a ; B AS b ; C AS c WITHIN 3 EVENTS"


def cycle(length: int = 3000, noise: float = 0.0, seed: int = 1) -> pa.Table:
    """A B C A B C …, one second apart, some of them replaced by D."""
    random = np.random.default_rng(seed)
    kinds = np.array(list("ABC"))[np.arange(length) % 3]
    kinds = np.where(random.random(length) < noise, "D", kinds)
    return pa.table({"ts": np.arange(length, dtype=np.float64), "type": kinds})


def plain_moves(automaton: SymbolAutomaton) -> Moves:
    return {
        (state, symbol): (int(after), bool(automaton.completes[state, symbol]))
        for (state, symbol), after in np.ndenumerate(automaton.next)
        if after >= 0
    }


def plain_contexts(tree: SuffixTree) -> Contexts:
    return dict(zip(tree.contexts, tree.probabilities.tolist(), strict=True))


def exact_waiting_times(product: Product, horizon: int) -> Float64:
    """In double precision."""
    found = np.empty((product.states, horizon))
    for column, block in waiting_blocks(product, horizon):
        found[:, column : column + len(block)] = block.T
    return found
