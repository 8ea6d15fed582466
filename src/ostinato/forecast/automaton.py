"""The pattern as a deterministic automaton over symbols (SRA paper, section 8.1): where it stands, when it completes.

Forecasting needs to know when the next match completes, not which events are in it. So of all runs in one state of the
transducer only the youngest matters: it expires last. A state here says which transducer states have a run and, under a
window, the age of the youngest: a partial match that cannot complete in time is dropped at once, and no probability is
given to its completion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ostinato.automata.transducer import Condition, Transducer, label
from ostinato.errors import LimitError

Int32 = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]

Ages = tuple[tuple[int, int], ...]  # transducer state, age of its youngest run; sorted

_WEIGHTS = 0x9E3779B97F4A7C15  # an odd number whose powers spread the classes of a row over 64 bits


@dataclass(frozen=True)
class SymbolAutomaton:
    """`next[state, symbol]`, -1 where the symbol cannot come in that state; `completes` says where a match ends."""

    next: Int32
    completes: Bools
    start: int = 0
    # Where runs are followed one by one: the state in which they have these ages.
    standing: Mapping[tuple[int, ...], int] | None = None

    @property
    def states(self) -> int:
        return len(self.next)

    def distance(self) -> Int32:
        """Per state the fewest events to a completion; -1 where there is none."""
        far = np.iinfo(np.int32).max - 1
        found = np.where((self.completes & (self.next >= 0)).any(axis=1), 1, far)
        while True:
            ahead = np.where(self.next >= 0, found[self.next], far).min(axis=1)
            nearer = np.minimum(found, ahead + (ahead < far))
            if (nearer == found).all():
                return np.where(found == far, -1, found).astype(np.int32)
            found = nearer

    def minimal(self) -> SymbolAutomaton:
        """The same with states of the same future as one."""
        weights = np.array([pow(_WEIGHTS, power, 1 << 64) for power in range(1, 2 * self.next.shape[1] + 2)], np.uint64)
        ends = self.completes.astype(np.uint64) @ weights[self.next.shape[1] : -1]
        classes, count = np.zeros(self.states, np.int64), 1
        while True:
            ahead = np.where(self.next >= 0, classes[self.next] + 1, 0).astype(np.uint64)
            rows = ahead @ weights[: self.next.shape[1]] + ends + classes.astype(np.uint64) * weights[-1]
            _, first, classes = np.unique(rows, return_index=True, return_inverse=True)
            if len(first) == count:
                break
            count = len(first)
        # The start state is numbered 0, so that it is so in every product.
        order = np.argsort(np.where(first == first[classes[self.start]], -1, first), kind="stable")
        place = np.empty(count, np.int32)
        place[order] = np.arange(count, dtype=np.int32)
        kept = first[order]
        after = np.where(self.next[kept] >= 0, place[classes[self.next[kept]]], np.int32(-1))
        standing = self.standing
        if standing is not None:
            standing = {ages: int(place[classes[state]]) for ages, state in standing.items()}
        return SymbolAutomaton(after.astype(np.int32), self.completes[kept], standing=standing)


@dataclass(frozen=True)
class Reading:
    """What the pattern does with one kind of event: per transducer state, where to, and whether that completes."""

    moves: tuple[tuple[tuple[int, bool], ...], ...]


def reading(transducer: Transducer, conditions: Sequence[Condition], minterm: int) -> Reading:
    """`minterm` has a bit for each condition that holds."""
    number = {condition: place for place, condition in enumerate(conditions)}

    def holds(condition: Condition) -> bool:
        return bool(minterm >> number[condition] & 1)

    moves: list[dict[tuple[int, bool], None]] = [{} for _ in range(transducer.states)]
    for t in transducer.transitions:
        passes = (t.condition is None or holds(t.condition)) and not any(map(holds, t.unless))
        if passes and not (t.source == 0 and t.mark is None):
            moves[t.source].setdefault((t.target, t.mark is not None and t.target in transducer.final))
    return Reading(tuple(tuple(each) for each in moves))


@dataclass
class Explorer:
    """Builds the automaton from the start state as far as the symbols lead.

    `bound` is the largest age of a run that may still complete (None: no window), `step` the least by which an event
    makes it older, `consume` says that a match ends all others.
    """

    transducer: Transducer
    bound: int | None
    step: int
    consume: bool
    max_states: int
    ages: list[set[int]] = field(default_factory=list)

    def explore(self, symbols: Sequence[tuple[Reading, int]]) -> SymbolAutomaton:
        """One column per symbol: what the pattern reads, and by how much ages grow."""
        self.ages = [set() for _ in range(self.transducer.states)]
        distinct = dict.fromkeys(symbols)
        columns = {symbol: place for place, symbol in enumerate(distinct)}
        number: dict[Ages, int] = {(): 0}
        todo: list[Ages] = [()]
        nexts: list[list[int]] = []
        ends: list[list[bool]] = []
        for ages in todo:
            after: list[int] = []
            ending: list[bool] = []
            for read, gap in distinct:
                target, completes = self.read(ages, read, gap)
                if target not in number:
                    self._note(target)
                    if len(todo) >= self.max_states:
                        raise self._too_many()
                    number[target] = len(todo)
                    todo.append(target)
                after.append(number[target])
                ending.append(completes)
            nexts.append(after)
            ends.append(ending)
        order = [columns[symbol] for symbol in symbols]
        return SymbolAutomaton(np.array(nexts, np.int32)[:, order], np.array(ends, np.bool_)[:, order])

    def read(self, ages: Ages, read: Reading, gap: int) -> tuple[Ages, bool]:
        """Where the pattern stands after an event, and whether the event completes a match."""
        found: dict[int, int] = {}
        completes = False
        for state, age in ((0, -gap), *ages):
            older = age + gap if self.bound is not None else 0
            if self.bound is not None and older > self.bound:
                continue
            for target, ends in read.moves[state]:
                completes |= ends
                if older <= self.last_age(target) and older < found.get(target, older + 1):
                    found[target] = older
        return () if completes and self.consume else tuple(sorted(found.items())), completes

    def last_age(self, state: int) -> int:
        """The age up to which a run in the state may still complete; below 0 where it never can."""
        fewest = self._fewest[state]
        if fewest is None:
            return -1
        return 0 if self.bound is None else self.bound - fewest * self.step

    def __post_init__(self) -> None:
        """Per transducer state, the fewest further events to a completion."""
        fewest: list[int | None] = [None] * self.transducer.states
        changed = True
        while changed:
            changed = False
            for t in self.transducer.transitions:
                ahead = 0 if t.mark is not None and t.target in self.transducer.final else fewest[t.target]
                known = fewest[t.source]
                if ahead is not None and (known is None or ahead + 1 < known):
                    fewest[t.source] = ahead + 1
                    changed = True
        self._fewest = fewest

    def _note(self, ages: Ages) -> None:
        for state, age in ages:
            self.ages[state].add(age)

    def _too_many(self) -> LimitError:
        """Names the parts of the pattern whose runs have the most different ages."""
        worst = sorted(range(self.transducer.states), key=lambda state: -len(self.ages[state]))[:3]
        parts = [f"{self._part(state)} ({len(self.ages[state]):,} ages)" for state in worst if self.ages[state]]
        aged = self.bound is not None
        return LimitError(
            "pattern_states",
            self.max_states,
            reason="the pattern can stand in too many ways when made deterministic"
            + (f"; most of them differ in how old partial matches are after {', '.join(parts)}" if aged else ""),
            fix="narrow WITHIN, use fewer events in the pattern, or raise ForecastLimits(pattern_states=…)"
            if aged
            else "use fewer overlapping repetitions, or raise ForecastLimits(pattern_states=…)",
        )

    def _part(self, state: int) -> str:
        entering = [t for t in self.transducer.transitions if t.target == state and t.mark is not None]
        names = {label(t.mark).removeprefix("• ") for t in entering}
        if not names or "•" in names:  # events without a name are told by what is asked of them
            names = {str(t.condition) for t in entering}
        return " or ".join(f"`{name}`" for name in sorted(names)) or f"state {state}"
