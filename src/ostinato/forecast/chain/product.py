"""The product of pattern and tree: one state for everything about a key's history that matters for its future."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ostinato.core.arrays import Bools, Float64, Int32
from ostinato.core.arrow import read_only
from ostinato.errors import Limit, LimitError, Message
from ostinato.forecast.chain.contexts import context_automaton
from ostinato.forecast.learn.suffix_tree import SuffixTree
from ostinato.forecast.symbols.automaton import SymbolAutomaton


@dataclass(frozen=True, eq=False)
class Product:
    """A Markov chain with symbols on its transitions; keys start in state 0. Every table is [states, alphabet].

    Any symbol that can come leads to a state, however unlikely it is, so that every history can be followed.
    """

    next: Int32  # -1: the symbol cannot come
    completes: Bools
    probability: Float64  # rows sum to 1, but for states where no symbol can come
    pattern: Int32  # [states], of the automaton
    context: Int32  # [states], of the context automaton
    last: Int32  # [states], the last symbol; -1 where it is not remembered

    @property
    def states(self) -> int:
        return len(self.next)

    @property
    def alphabet(self) -> int:
        return int(self.next.shape[1])


def product(
    automaton: SymbolAutomaton, tree: SuffixTree, *, max_states: int, remembered: Sequence[int] = ()
) -> Product:
    """The part of pattern × contexts that can be reached from the start of a key.

    The probability of a symbol that the pattern rules out is given to the others in proportion; if they have none, all
    are equally likely. If the pattern may be in any state after an unobserved event, state p is pattern state p with
    nothing remembered.
    """
    from ostinato.forecast.kernels.product import explore, fill_rows

    contexts = context_automaton(tree, remembered)
    alphabet = tree.alphabet
    if automaton.next.shape[1] != alphabet:
        raise ValueError(f"the automaton reads {automaton.next.shape[1]} symbols, the tree has {alphabet}")
    limit = min(automaton.states * contexts.states, max_states)
    # Pages of these that are never written to take no memory.
    pattern, context = np.empty(limit, np.int32), np.empty(limit, np.int32)
    after = np.empty((limit, alphabet), np.int32)
    table = np.full(2 << (2 * limit).bit_length(), -1, np.int64)
    found = explore(
        read_only(automaton.next), read_only(contexts.next), automaton.start, automaton.state_by_ages is not None,
        limit, table, pattern, context, after,
    )  # fmt: skip
    if found < 0:
        raise LimitError(
            "states",
            max_states,
            reason=f"the pattern has {automaton.states:,} states and the tree needs {contexts.states:,} contexts: "
            "together these make too many states",
            fix=Message(
                "for fewer contexts lower the order, raise p_min or min_count; for fewer pattern states narrow WITHIN "
                "or leave out features; or raise ",
                Limit("states", "ForecastLimits"),
            ),
        )
    pattern.resize(found, refcheck=False)  # in place: nobody else has seen them
    context.resize(found, refcheck=False)
    after.resize((found, alphabet), refcheck=False)
    completes, probability = np.empty((found, alphabet), np.bool_), np.empty((found, alphabet))
    fill_rows(
        read_only(after),
        read_only(automaton.completes),
        read_only(np.ascontiguousarray(tree.probabilities)),
        read_only(contexts.node),
        read_only(pattern),
        read_only(context),
        completes,
        probability,
    )
    return Product(after, completes, probability, pattern, context, contexts.last[context])
