"""From which states a match can still be completed: sets of states, numbered and computed when they first appear.

Read backwards an automaton needs no preferment: the set before a row follows from the set after it and the row's code.
"""

from __future__ import annotations

import numpy as np

from ostinato.core.arrays import Bools, Int32, UInt8, UInt64
from ostinato.sql.automaton.build import Automaton

MAX_SETS = 4096
MAX_ENTRIES = 1 << 23  # sets times codes


class ReachableSets:
    """Attributes
    ----------
    steps : array
        By set and code: the number of the set before a row of that code; -1 where it is not known yet.
    alive : array
        By set: its states, as bits.
    """

    def __init__(self, automaton: Automaton, allowed: UInt8) -> None:
        self.automaton = automaton
        self.allowed = allowed.astype(np.bool_)  # by code and state
        self.symbol_edges = np.flatnonzero(automaton.edges >= 0)
        self.targets = automaton.edges[self.symbol_edges]
        self.sources = automaton.sources[self.symbol_edges]
        self.numbers: dict[bytes, int] = {}
        self.members: list[Bools] = []
        self.steps: Int32 = np.full((16, max(len(allowed), 1)), -1, np.int32)
        self.alive: UInt64 = np.zeros((16, words(automaton.states)), np.uint64)
        self._number(automaton.accepting_at_end)

    def add_step(self, after: int, code: int) -> bool:
        """Compute an entry of `steps`; False where there would be too many sets."""
        members = self.members[after]
        taken = members[self.targets] & self.allowed[code, self.targets]
        before = self.automaton.accepting.copy()
        before[self.sources[taken]] = True
        number = self._number(before)
        if number is None:
            return False
        self.steps[after, code] = number
        return True

    def _number(self, members: Bools) -> int | None:
        packed = pack(members)
        key = packed.tobytes()
        number = self.numbers.get(key)
        if number is None:
            number = len(self.members)
            if number >= MAX_SETS or (number + 1) * self.steps.shape[1] > MAX_ENTRIES:
                return None
            if number == len(self.steps):
                self.steps = np.concatenate([self.steps, np.full_like(self.steps, -1)])
                self.alive = np.concatenate([self.alive, np.zeros_like(self.alive)])
            self.numbers[key] = number
            self.members.append(members)
            self.alive[number] = packed
        return number


def words(states: int) -> int:
    return (states + 63) // 64


def pack(members: Bools) -> UInt64:
    """A set of states as bits."""
    padded = np.zeros(64 * words(members.size), np.bool_)
    padded[: members.size] = members
    return np.packbits(padded, bitorder="little").view(np.uint64)


def all_states(states: int) -> UInt64:
    """The set that rules nothing out."""
    return pack(np.ones(states, np.bool_)).reshape(1, -1)
