"""Dense arrays for the kernel that joins the two halves of a window (ranked.py), filled when first needed.

An *ending* is what an event completes in the back half, an *opening* is what the front half offers from one event on.
There are few of each, so the best match of every pair is looked up instead of searched.
"""

from __future__ import annotations

import numpy as np

from ostinato.core.arrays import Int32
from ostinato.patterns.automata.determinise import Alphabet
from ostinato.patterns.automata.ranked import BackMachine, FrontMachine, best_join
from ostinato.patterns.automata.tables import GrowingTable, PlacedConfiguration, StepTables
from ostinato.patterns.kernels.protocol import NO_LIST, NOTHING, UNKNOWN


class BackTables(StepTables):
    """`entries` hold the number of the ending (EMIT_BEGIN and EMIT_END) instead of a range of emits."""

    def __init__(self, machine: BackMachine, *, max_states: int) -> None:
        self.endings: dict[tuple[tuple[int, int], ...], int] = {(): 0}
        super().__init__(machine, max_states=max_states)

    def write_emits(self, emits: list[tuple[int, int]]) -> tuple[int, int]:
        number = self.endings.setdefault(tuple(emits), len(self.endings))
        return number, number


class FrontTables(StepTables):
    """The listed slots of a configuration are those of row 0, best first; `opening` says what they offer.

    Opening 0 is that of an empty front half, and thus of the initial configuration.
    """

    def __init__(self, machine: FrontMachine, *, max_states: int) -> None:
        self.openings: dict[tuple[int, ...], int] = {}
        self.opening = GrowingTable(1)
        self.row_0 = (1 << machine.states) - 1  # the paths of row 0 are the first
        self.lists = 0  # the most slots that a configuration lists
        super().__init__(machine, max_states=max_states)

    def listed_slots(self, placed: PlacedConfiguration) -> tuple[int, ...]:
        unmarked, *marked = (paths & self.row_0 for (paths,) in placed.config)
        slots = tuple(slot for slot, states in zip(placed.slots, marked, strict=True) if states)
        opening = (*(states for states in marked if states), unmarked)
        self.opening.add(self.openings.setdefault(opening, len(self.openings)))
        self.lists = max(self.lists, len(slots))
        return slots


class Joins:
    """Both halves of one query. `best[opening, ending]` is (place among the opening's lists, slot of the back half)."""

    def __init__(self, alphabet: Alphabet, *, latest: bool, max_states: int) -> None:
        self.latest = latest
        self.back = BackTables(BackMachine(alphabet, latest=latest), max_states=max_states)
        self.front = FrontTables(FrontMachine(alphabet, latest=latest), max_states=max_states)
        self.best: Int32 = np.full((4, 4, 2), UNKNOWN, np.int32)

    def fill(self, opening: int, ending: int) -> None:
        rows, columns, _ = self.best.shape
        if opening >= rows or ending >= columns:
            grown = np.full((max(rows, 2 * opening), max(columns, 2 * ending), 2), UNKNOWN, np.int32)
            grown[:rows, :columns] = self.best
            self.best = grown
        states, emits = list(self.front.openings)[opening], list(self.back.endings)[ending]
        join = best_join(states, emits, latest=self.latest)
        if join is None:
            self.best[opening, ending] = NOTHING
        else:
            # The last place is that of the string without marks.
            place = join[0] if join[0] < len(states) - 1 else NO_LIST
            self.best[opening, ending] = place, join[1]
