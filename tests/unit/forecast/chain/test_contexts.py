"""The context automaton follows what a tree would look up."""

from __future__ import annotations

import numpy as np

from ostinato.forecast.chain.contexts import context_automaton
from ostinato.forecast.learn.suffix_tree import SuffixTree

A, B = 0, 1


def tree(*contexts: tuple[int, ...], alphabet: int = 2) -> SuffixTree:
    return SuffixTree(contexts, np.full((len(contexts), alphabet), 1 / alphabet), np.ones(len(contexts)))


def test_without_contexts_nothing_is_remembered() -> None:
    contexts = context_automaton(tree(()))
    assert contexts.next.tolist() == [[0, 0]] and contexts.node.tolist() == [0]


def test_a_prefix_is_remembered_though_it_is_no_context() -> None:
    contexts = context_automaton(tree((), (B,), (A, B)))  # `a` alone says nothing, but it may become `ab`
    assert contexts.states == 4
    after_a = contexts.next[0, A]
    assert contexts.node[after_a] == 0
    assert contexts.node[contexts.next[after_a, B]] == 2
    assert contexts.node[contexts.next[0, B]] == 1


def test_what_no_longer_fits_falls_back_to_the_longest_suffix_that_does() -> None:
    contexts = context_automaton(tree((), (A,), (B,), (A, A), (B, A), (B, A, A)))
    state = 0
    nodes = []
    for symbol in (B, A, A, A, B):
        state = contexts.next[state, symbol]
        nodes.append(int(contexts.node[state]))
    assert nodes == [2, 4, 5, 3, 2]


def test_symbols_may_be_remembered_though_they_are_no_context() -> None:
    contexts = context_automaton(tree((), (B,)), remembered=[A, B])
    assert contexts.states == 3 and contexts.last[0] == -1
    after = {int(contexts.last[state]): state for state in range(3)}
    assert contexts.next[:, A].tolist() == [after[A]] * 3 and contexts.next[:, B].tolist() == [after[B]] * 3
    assert contexts.node[after[A]] == 0 and contexts.node[after[B]] == 1
