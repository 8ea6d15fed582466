"""Parts of a forecast as plain data, as its semantics reads them; and waiting times before they are rounded."""

from __future__ import annotations

import numpy as np

from ostinato.core.arrays import Float64
from ostinato.forecast.chain.product import Product
from ostinato.forecast.chain.waiting import waiting_blocks
from ostinato.forecast.learn.suffix_tree import SuffixTree
from ostinato.forecast.semantics.waiting import Contexts, Moves
from ostinato.forecast.symbols.automaton import SymbolAutomaton


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
