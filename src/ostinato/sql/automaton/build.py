"""From a pattern to an automaton without empty transitions: a state for each symbol, its successors in order.

A state stands after the row of a symbol. Two more stand before the first row of a match: one where that is the first
row of the partition, and one elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ostinato.core.arrays import Bools, Int64
from ostinato.errors import QueryError
from ostinato.sql.automaton.nodes import build, successors
from ostinato.sql.syntax import nodes as n

AT_FIRST, ELSEWHERE, FIRST_SYMBOL = 0, 1, 2  # states
ACCEPT, ACCEPT_AT_END = -1, -2  # targets that are no states: the match is complete
MAX_TRANSITIONS = 2_000_000


@dataclass(frozen=True)
class Automaton:
    """Attributes
    ----------
    variables : tuple
        The pattern variables; numbers of variables are places in it.
    variable : array
        By state: the variable of the row that leads to it; -1 for the two that stand before a match.
    excluded : array
        By state: whether that row stands in an exclusion.
    edges : array
        The targets of all states, in the order of preferment; those of state s are edges[ends[s] : ends[s + 1]].
    """

    variables: tuple[str, ...]
    variable: Int64
    excluded: Bools
    edges: Int64
    ends: Int64

    @property
    def states(self) -> int:
        return self.variable.size

    @cached_property
    def sources(self) -> Int64:
        """The state that each edge leaves."""
        return np.repeat(np.arange(self.states), np.diff(self.ends))

    @cached_property
    def accepting(self) -> Bools:
        """The states after which a match may be complete, wherever the partition ends."""
        found = np.zeros(self.states, np.bool_)
        found[self.sources[self.edges == ACCEPT]] = True
        return found

    @cached_property
    def accepting_at_end(self) -> Bools:
        found = self.accepting.copy()
        found[self.sources[self.edges == ACCEPT_AT_END]] = True
        return found


def build_automaton(pattern: n.Pattern) -> Automaton:
    """Raises QueryError where the pattern is too large when its repetitions are written out."""
    made = build(pattern)
    variables = n.symbols(pattern)
    numbers = {name: number for number, name in enumerate(variables)}
    edges: list[int] = []
    ends = [0]
    after = [(made.start, True), (made.start, False), *((symbol.then, False) for symbol in made.symbols)]
    for start, at_first in after:
        assert start is not None
        for node, at_end in successors(start, at_first):
            accept = ACCEPT_AT_END if at_end else ACCEPT
            edges.append(accept if node.kind == "accept" else FIRST_SYMBOL + node.number)
        ends.append(len(edges))
        if len(edges) > MAX_TRANSITIONS:
            reason = "the pattern is too large: too many of its parts can follow each other"
            raise QueryError(reason, span=pattern.span, fix="repeat fewer optional parts")
    return Automaton(
        variables,
        np.array([-1, -1, *(numbers[symbol.variable] for symbol in made.symbols)], np.int64),
        np.array([False, False, *(symbol.excluded for symbol in made.symbols)], np.bool_),
        np.array(edges, np.int64),
        np.array(ends, np.int64),
    )
