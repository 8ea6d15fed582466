"""NXT and LAST within a sliding window: the best runs through two halves of the window, each by its own machine.

A complex event is a string over the window's events, 1 where it marks one. NXT compares such strings from the front,
LAST from the back; at the first difference 1 wins (appendix C.3.2, C.3.3). Best strings compose: split the window
anywhere, and the best string through it is a best one through the first half, to some state, and a best one through the
second half, from that state. So the back half grows by appending events, the front half is made once by prepending them
(so that it is known from each of its events on), and no event is read more than twice (two-stack aggregation).

A configuration lists distinct strings, best first; cell 0 is the string that marks nothing, the worst of all. A cell
says for each *row*, the state before the half, which states its string leads to. A state that a better string of the
same row reaches is dropped (TPO). Strings are ordered only where it can matter, among those of one *kin*.
"""

from __future__ import annotations

from abc import abstractmethod
from itertools import pairwise, product

from ostinato.automata.determinise import Alphabet, Config, Machine, Move, Step, bits
from ostinato.automata.transducer import Transducer, Transition

Key = tuple[int, int, int]  # kin, then two that say how good a string is: the smaller the better
Found = dict[Key, tuple[int, int, list[int]]]  # source cell, mark, states reached per row


class HalfMachine(Machine):
    """What both halves share. `latest`: LAST, else NXT."""

    def __init__(self, alphabet: Alphabet, *, latest: bool) -> None:
        super().__init__(alphabet)
        self.latest = latest
        self.kin = kin(alphabet.transducer, latest=latest)
        states = range(alphabet.transducer.states)
        self._kin_masks = {name: sum(1 << q for q in states if self.kin[q] == name) for name in self.kin}

    @property
    def initial(self) -> Config:
        """No event yet: each row is where it was."""
        states = range(self.alphabet.transducer.states)
        return (tuple(self.alphabet.lasting & 1 << state for state in states),)

    def step(self, config: Config, code: int) -> Step:
        found: Found = {}
        for source, mark, row, states in self.candidates(config, code):
            # The string without marks is the worst of all, though it is cell 0.
            rank, not_marked = source or len(config), 1 - mark
            better = (rank, not_marked) if self.latest == self.prepends else (not_marked, rank)
            for name, mask in self._by_kin(row, states & self.alphabet.lasting):
                if (key := (name, *better)) not in found:
                    found[key] = source, mark, [0] * len(config[0])
                found[key][2][row] |= mask
        return _ranked(found, self.emits(config, code))

    def _by_kin(self, row: int, states: int) -> list[tuple[int, int]]:
        """NXT compares what comes from kin rows, LAST what leads to kin states."""
        masks = self._kin_masks.items() if self.latest else ((self.kin[row], states),)
        return [(name, states & mask) for name, mask in masks if states & mask]

    def marked(self, code: int) -> list[int]:
        """Per state the targets of marking the event."""
        return [targets.get(1, 0) for targets in self.alphabet.moves(code).shown]

    prepends: bool

    @abstractmethod
    def candidates(self, config: Config, code: int) -> list[tuple[int, int, int, int]]:
        """(source cell, mark, row, states reached) of every longer string."""

    @abstractmethod
    def emits(self, config: Config, code: int) -> tuple[tuple[int, int], ...]:
        """(source, row) of the best string that the event completes from each row, best first."""


class BackMachine(HalfMachine):
    """Appends events; completes matches."""

    prepends = False

    def candidates(self, config: Config, code: int) -> list[tuple[int, int, int, int]]:
        skipped, marked = self.alphabet.moves(code).skipped, self.marked(code)
        return [
            (source, mark, row, _targets(states, reached))
            for source, cell in enumerate(config)
            for row, states in enumerate(cell)
            for mark, reached in ((0, skipped), (1, marked))
        ]

    def emits(self, config: Config, code: int) -> tuple[tuple[int, int], ...]:
        marked = self.marked(code)
        best: dict[int, int] = {}
        for source in (*range(1, len(config)), 0):
            for row, states in enumerate(config[source]):
                if _targets(states, marked) & self.alphabet.final:
                    best.setdefault(row, source)
        return tuple((source - 1, row) for row, source in best.items())


class FrontMachine(HalfMachine):
    """Prepends events. A string's first event leads from its row to the row of the rest."""

    prepends = True

    def candidates(self, config: Config, code: int) -> list[tuple[int, int, int, int]]:
        skipped, marked = self.alphabet.moves(code).skipped, self.marked(code)
        return [
            (source, mark, row, cell[follower])
            for source, cell in enumerate(config)
            for row in bits(self.alphabet.lasting)
            for mark, reached in ((0, skipped), (1, marked))
            for follower in bits(reached[row])
        ]

    def emits(self, config: Config, code: int) -> tuple[tuple[int, int], ...]:
        return ()


def best_join(front: tuple[int, ...], emits: tuple[tuple[int, int], ...], *, latest: bool) -> tuple[int, int] | None:
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


def kin(transducer: Transducer, *, latest: bool) -> list[int]:
    """The kin of each state. NXT: what two strings may reach that are equal so far; LAST: what they may come from.

    The same kin for two states means the same for wherever one event may take them (back): a congruence.
    """
    names = list(range(transducer.states))

    def unite(one: int, other: int) -> bool:
        old, new = sorted((names[one], names[other]), reverse=True)
        names[:] = [new if name == old else name for name in names]
        return old != new

    # Whichever final state a match reaches, it is compared with all that end at the same event.
    for one, other in pairwise(sorted(transducer.final) if latest else ()):
        unite(one, other)
    pairs = [pair for pair in product(transducer.transitions, repeat=2) if _together(*pair)]
    changed = True
    while changed:
        changed = False
        for first, second in pairs:
            if latest and names[first.target] == names[second.target]:
                changed |= unite(first.source, second.source)
            elif not latest and names[first.source] == names[second.source]:
                changed |= unite(first.target, second.target)
    return names


def _together(one: Transition, other: Transition) -> bool:
    """Whether one event may take both transitions with the same mark."""
    relations = {t.condition.relation for t in (one, other) if t.condition is not None} - {None}
    return (one.mark is None) == (other.mark is None) and len(relations) < 2


def _ranked(found: Found, emits: tuple[tuple[int, int], ...]) -> Step:
    """Drop what is beaten, and number the strings that are left."""
    cells: list[tuple[int, ...]] = []
    moves: list[Move] = []
    # The string without marks, which has no list of its own, comes last; it may stand in several kins.
    in_order = sorted(found, key=lambda key: (found[key][:2] == (0, 0), key))
    width = len(found[in_order[0]][2])
    taken, unmarked = [0] * width, [0] * width
    for key in in_order:
        source, mark, rows = found[key]
        cell = tuple(states & ~seen for states, seen in zip(rows, taken, strict=True))
        taken = [states | seen for states, seen in zip(cell, taken, strict=True)]
        if (source, mark) == (0, 0):
            unmarked = [states | seen for states, seen in zip(cell, unmarked, strict=True)]
        elif any(cell):
            moves.append(Move(source - 1, len(cells), mark))
            cells.append(cell)
    return Step((tuple(unmarked), *cells), tuple(moves), emits)


def _targets(states: int, reached: list[int]) -> int:
    targets = 0
    for state in bits(states):
        targets |= reached[state]
    return targets
