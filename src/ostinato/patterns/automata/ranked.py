"""NXT and LAST within a sliding window: the best runs through two halves of the window, each by its own machine.

A complex event is a string over the window's events, 1 where it marks one. NXT compares such strings from the front,
LAST from the back; at the first difference 1 wins (appendix C.3.2, C.3.3). Best strings compose: split the window
anywhere, and the best string through it is a best one through the first half, to some state, and a best one through the
second half, from that state. So the back half grows by appending events, the front half is made once by prepending them
(so that it is known from each of its events on), and no event is read more than twice (two-stack aggregation).

A configuration lists distinct strings, best first; cell 0 is the string that marks nothing, the worst of all. A cell is
the set of *paths* its string can take: from which state before the half (the *row*) to which after it. A path that a
better string takes is dropped (TPO), and so is one for which that of a better string can stand in (simulation.py): for
NXT from the same row, since what follows cannot change which string is better, for LAST to the same state. Strings are
ordered only where it matters: among paths of one class (comparable_states.py).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from itertools import product

from ostinato.patterns.automata.comparable_states import comparable_states
from ostinato.patterns.automata.determinise import (
    Alphabet,
    Config,
    ListMove,
    MachineStep,
    StrategyMachine,
    iterate_bits,
)
from ostinato.patterns.automata.simulation import replaceable_states

Emits = tuple[tuple[int, int], ...]


class HalfMachine(StrategyMachine):
    """What both halves share. `latest`: LAST, else NXT. The path from row r to state q is bit r · states + q."""

    prepends: bool

    def __init__(self, alphabet: Alphabet, *, latest: bool) -> None:
        super().__init__(alphabet)
        self.latest = latest
        self.states = alphabet.transducer.states
        self.lasting = list(iterate_bits(alphabet.lasting))
        names = comparable_states(alphabet.transducer, latest=latest)
        # NXT compares strings from rows of one class, LAST strings to states of one class.
        self.path_class = [
            names[state if latest else row] for row in range(self.states) for state in range(self.states)
        ]
        masks = replaceable_states(alphabet.transducer, backwards=latest)
        if latest:
            masks = tuple(sum(1 << row * self.states for row in iterate_bits(mask)) for mask in masks)
        self._replaceable = masks
        self._followers: dict[int, list[tuple[tuple[int, int], ...]]] = {}

    @property
    def initial(self) -> Config:
        """No event yet: each row is where it was."""
        return ((sum(1 << state * (self.states + 1) for state in self.lasting),),)

    def step(self, config: Config, code: int) -> MachineStep:
        followers = self.followers(code)
        found: dict[tuple[int, int, int], list[int]] = {}  # how good a string is -> source cell, mark, paths
        for source, (paths,) in enumerate(config):
            rank = source or len(config)  # the string without marks is the worst of all, though it is cell 0
            for path in iterate_bits(paths):
                for mark, follower in followers[path]:
                    better = (rank, -mark) if self.latest == self.prepends else (-mark, rank)
                    entry = found.setdefault((self.path_class[follower], *better), [source, mark, 0])
                    entry[2] |= 1 << follower
        return self._rank(found, self.emits(config, code))

    def _rank(self, found: dict[tuple[int, int, int], list[int]], emits: Emits) -> MachineStep:
        """Drop what is beaten, and number the strings that are left."""
        cells: list[tuple[int]] = []
        moves: list[ListMove] = []
        taken = unmarked = 0
        for key in sorted(found):
            source, mark, paths = found[key]
            if source == mark == 0:
                unmarked |= paths  # has no list of its own, and may stand in several classes, last in each
            elif paths := paths & ~taken:
                moves.append(ListMove(source - 1, len(cells), mark))
                cells.append((paths,))
                for path in iterate_bits(paths):
                    taken |= self._replaced(path)
        return MachineStep(((unmarked & ~taken,), *cells), tuple(moves), emits)

    def _replaced(self, path: int) -> int:
        """The paths for which this one stands in, where its string is better."""
        row, state = divmod(path, self.states)
        if self.latest:
            return self._replaceable[row] << state
        return self._replaceable[state] << row * self.states

    def followers(self, code: int) -> list[tuple[tuple[int, int], ...]]:
        """Per path the (mark, path) it becomes by one more event."""
        if code not in self._followers:
            longer: list[list[tuple[int, int]]] = [[] for _ in range(self.states**2)]
            for path, mark, follower in self.longer(code):
                longer[path].append((mark, follower))
            self._followers[code] = [tuple(sorted(follow)) for follow in longer]
        return self._followers[code]

    def hops(self, code: int) -> Iterator[tuple[int, int, int]]:
        """(source, mark, target) of every transition between lasting states on the code."""
        skipped, marked = self.alphabet.moves(code).skipped, self.mark_targets(code)
        for source in self.lasting:
            for mark, targets in enumerate((skipped[source], marked[source])):
                yield from ((source, mark, target) for target in iterate_bits(targets & self.alphabet.lasting))

    def mark_targets(self, code: int) -> list[int]:
        """Per state the targets of marking the event."""
        return [targets.get(1, 0) for targets in self.alphabet.moves(code).shown]

    @abstractmethod
    def longer(self, code: int) -> Iterator[tuple[int, int, int]]:
        """(path, mark, path that is one event longer)."""

    @abstractmethod
    def emits(self, config: Config, code: int) -> Emits:
        """(source, row) of the best string that the event completes from each row, best first."""


class BackMachine(HalfMachine):
    """Appends events; completes matches."""

    prepends = False

    def longer(self, code: int) -> Iterator[tuple[int, int, int]]:
        for (source, mark, target), row in product(self.hops(code), self.lasting):
            yield row * self.states + source, mark, row * self.states + target

    def emits(self, config: Config, code: int) -> Emits:
        closing = {state for state, targets in enumerate(self.mark_targets(code)) if targets & self.alphabet.final}
        best: dict[int, int] = {}
        if closing:
            for source in (*range(1, len(config)), 0):
                for path in iterate_bits(config[source][0]):
                    row, state = divmod(path, self.states)
                    if state in closing:
                        best.setdefault(row, source)
        return tuple((source - 1, row) for row, source in best.items())


class FrontMachine(HalfMachine):
    """Prepends events. A path's first event leads from its row to the row of the rest."""

    prepends = True

    def longer(self, code: int) -> Iterator[tuple[int, int, int]]:
        for (source, mark, target), state in product(self.hops(code), self.lasting):
            yield target * self.states + state, mark, source * self.states + state

    def emits(self, config: Config, code: int) -> Emits:
        return ()


def best_join(front: tuple[int, ...], emits: Emits, *, latest: bool) -> tuple[int, int] | None:
    """The best match as (place in `front`, source in `emits`): `front` are the states that strings lead to, best first.

    Among `emits`, also best first, rows of one source complete the same string.
    """
    if not latest:
        for place, states in enumerate(front):
            for source, row in emits:
                if states >> row & 1:
                    return place, source
        return None
    for source in dict.fromkeys(source for source, _ in emits):
        rows = sum(1 << row for other, row in emits if other == source)
        for place, states in enumerate(front):
            if states & rows:
                return place, source
    return None
