"""The longest context of a tree after each event, by an automaton (Aho and Corasick) instead of the history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ostinato.core.arrays import Int32
from ostinato.forecast.learn.suffix_tree import SuffixTree


@dataclass(frozen=True, eq=False)
class ContextAutomaton:
    """A state is the longest suffix of the history that is a prefix of a context; 0 is the empty one.

    Nodes of the tree alone would not do: a context may grow out of a history that contains no context itself.
    """

    next: Int32  # [states, alphabet]
    node: Int32  # [states]: of the tree, with the longest context that is a suffix of the history
    last: Int32  # [states]: the last symbol of the history; -1 where it is not remembered

    @property
    def states(self) -> int:
        return len(self.node)


def context_automaton(tree: SuffixTree, remembered: Sequence[int] = ()) -> ContextAutomaton:
    """States also tell when the last symbol was one of `remembered`, whether or not it is a context."""
    children: list[dict[int, int]] = [{}]  # a trie of the contexts, oldest symbol first
    own = [0]  # the tree's node at each state, -1 where the state is only a prefix of contexts
    for node, context in enumerate(tree.contexts):
        state = 0
        for symbol in context:
            if symbol not in children[state]:
                children[state][symbol] = len(children)
                children.append({})
                own.append(-1)
            state = children[state][symbol]
        own[state] = node
    for symbol in remembered:
        if symbol not in children[0]:
            children[0][symbol] = len(children)
            children.append({})
            own.append(-1)
    after = np.zeros((len(children), tree.alphabet), np.int32)
    nodes = np.zeros(len(children), np.int32)
    last = np.full(len(children), -1, np.int32)
    shorter = [0] * len(children)  # the longest other state that is a suffix of this one
    level = [0]
    while level:
        deeper = []
        for state in level:
            after[state] = after[shorter[state]]  # is done: it is shorter
            nodes[state] = own[state] if own[state] >= 0 else nodes[shorter[state]]
            for symbol, child in children[state].items():
                shorter[child] = int(after[state, symbol])  # what reading it would lead to, were there no child
                after[state, symbol] = child
                last[child] = symbol
                deeper.append(child)
        level = deeper
    return ContextAutomaton(after, nodes, last)
