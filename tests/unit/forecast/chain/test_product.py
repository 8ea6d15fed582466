"""The product has what can be reached, with what can come there."""

from __future__ import annotations

import numpy as np
import pytest

from ostinato.errors import LimitError
from ostinato.forecast.chain.product import product
from ostinato.forecast.learn.suffix_tree import SuffixTree
from ostinato.forecast.symbols.automaton import SymbolAutomaton

ONE = SuffixTree(((),), np.array([[0.5, 0.3, 0.2]]), np.ones(1))


def automaton(rows: list[list[int]], completes: list[list[int]] | None = None, start: int = 0) -> SymbolAutomaton:
    after = np.array(rows, np.int32)
    return SymbolAutomaton(
        after, np.zeros(after.shape, bool) if completes is None else np.array(completes, bool), start
    )


def test_the_start_is_state_0_and_only_what_is_reached_is_there() -> None:
    found = product(automaton([[0, 0, 0], [2, 2, 2], [1, 1, 1]], start=2), ONE, max_states=10)
    assert found.pattern.tolist() == [2, 1]
    assert found.next.tolist() == [[1, 1, 1], [0, 0, 0]]


def test_what_cannot_come_gives_its_probability_to_the_others() -> None:
    found = product(automaton([[0, 0, -1]], [[1, 0, 1]]), ONE, max_states=10)
    assert found.probability[0] == pytest.approx([0.625, 0.375, 0.0])
    assert found.next.tolist() == [[0, 0, -1]]
    assert found.completes.tolist() == [[True, False, False]]


def test_where_only_what_was_never_seen_can_come_all_of_it_is_as_likely() -> None:
    tree = SuffixTree(((),), np.array([[1.0, 0.0, 0.0]]), np.ones(1))
    assert product(automaton([[-1, 0, 0]]), tree, max_states=10).probability.tolist() == [[0.0, 0.5, 0.5]]


def test_symbols_without_probability_are_followed_too() -> None:
    tree = SuffixTree(((),), np.array([[1.0, 0.0]]), np.ones(1))
    assert product(automaton([[0, 1], [0, 1]]), tree, max_states=10).states == 2


def test_too_many_states_are_an_error_that_says_what_to_lower() -> None:
    contexts = ((), (0,), (1,), (2,))
    tree = SuffixTree(contexts, np.full((4, 3), 1 / 3), np.ones(4))
    ring = automaton([[(state + 1) % 5, state, state] for state in range(5)])
    assert product(ring, tree, max_states=16).states == 16  # after a key's start there is always a last symbol
    with pytest.raises(LimitError, match=r"5 states and the tree needs 4 contexts(.|\n)*states=15(.|\n)*order"):
        product(ring, tree, max_states=15)


def test_an_automaton_with_other_symbols_is_refused() -> None:
    with pytest.raises(ValueError, match="reads 2 symbols, the tree has 3"):
        product(automaton([[0, 0]]), ONE, max_states=10)
