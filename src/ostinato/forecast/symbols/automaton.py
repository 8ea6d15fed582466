"""The pattern as a deterministic automaton over symbols (SRA paper, section 8.1): its states, and when it completes.

Forecasting needs to know when the next match completes, not which events are in it. So of all runs in one state of the
transducer only the youngest matters: it expires last. A state here says which transducer states have a run and, under a
window, the age of the youngest. A partial match that cannot complete in time is dropped at once, so its completion gets
no probability.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ostinato.core.arrays import Bools, Int32
from ostinato.core.arrow import read_only
from ostinato.core.conditions import Condition
from ostinato.errors import Limit, LimitError, Message
from ostinato.patterns.automata.transducer import Transducer, format_mark

_WEIGHTS = 0x9E3779B97F4A7C15  # an odd number whose powers spread the classes of a row over 64 bits
_ROOM = 1 << 12  # states that there is room for at first


@dataclass(frozen=True)
class SymbolAutomaton:
    """`next[state, symbol]`, -1 where the symbol cannot come in that state; `completes` says where a match ends."""

    next: Int32
    completes: Bools
    start: int = 0
    # Where runs are followed one by one: the state in which they have these ages.
    state_by_ages: Mapping[tuple[int, ...], int] | None = None

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
        """The same automaton with states of the same future merged."""
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
        state_by_ages = self.state_by_ages
        if state_by_ages is not None:
            state_by_ages = {ages: int(place[classes[state]]) for ages, state in state_by_ages.items()}
        return SymbolAutomaton(after.astype(np.int32), self.completes[kept], state_by_ages=state_by_ages)


@dataclass(frozen=True)
class SymbolMoves:
    """What the pattern does with one kind of event: per transducer state, where to, and whether that completes."""

    moves: tuple[tuple[tuple[int, bool], ...], ...]


def symbol_moves(transducer: Transducer, conditions: Sequence[Condition], minterm: int) -> SymbolMoves:
    """`minterm` has a bit for each condition that holds."""
    number = {condition: place for place, condition in enumerate(conditions)}

    def holds(condition: Condition) -> bool:
        return bool(minterm >> number[condition] & 1)

    moves: list[dict[tuple[int, bool], None]] = [{} for _ in range(transducer.states)]
    for t in transducer.transitions:
        passes = (t.condition is None or holds(t.condition)) and not any(map(holds, t.unless))
        if passes and not (t.source == 0 and t.mark is None):
            moves[t.source].setdefault((t.target, t.mark is not None and t.target in transducer.final))
    return SymbolMoves(tuple(tuple(each) for each in moves))


@dataclass(frozen=True)
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

    def explore(self, symbols: Sequence[tuple[SymbolMoves, int]]) -> SymbolAutomaton:
        """One column per symbol: what the pattern reads, and by how much ages grow. Raises LimitError."""
        distinct = {symbol: column for column, symbol in enumerate(dict.fromkeys(symbols))}
        readings = {read: place for place, read in enumerate(dict.fromkeys(read for read, _ in distinct))}
        room = min(_ROOM, self.max_states)
        while True:
            found = self._explore_with(list(readings), [(readings[read], gap) for read, gap in distinct], room)
            if found is not None:
                order = [distinct[symbol] for symbol in symbols]
                return SymbolAutomaton(found.next[:, order], found.completes[:, order])
            room = min(8 * room, self.max_states)

    def _explore_with(
        self, readings: list[SymbolMoves], symbols: list[tuple[int, int]], room: int
    ) -> SymbolAutomaton | None:
        """None if there is no room for all states, but there may be more room."""
        from ostinato.forecast.kernels.explore import explore

        moves = [
            [(source, target, ends) for source, some in enumerate(read.moves) for target, ends in some]
            for read in readings
        ]
        begins = np.cumsum([0, *map(len, moves)], dtype=np.int32)
        flat = np.array([move for some in moves for move in some], np.int32).reshape(-1, 3)
        pairs = np.array(symbols, np.int32).reshape(-1, 2)
        last = np.array([self.last_age(state) for state in range(self.transducer.states)], np.int32)
        bound = -1 if self.bound is None else self.bound
        rows = np.empty((room + 1, self.transducer.states), np.int32)
        after, completes = np.empty((room, len(pairs)), np.int32), np.empty((room, len(pairs)), np.bool_)
        table = np.full(2 << (2 * room).bit_length(), -1, np.int32)
        moving, meant = (read_only(flat), read_only(begins)), (read_only(pairs), read_only(last))
        count = explore(*moving, *meant, bound, self.consume, table, rows, after, completes)
        if count >= 0:
            return SymbolAutomaton(after[:count].copy(), completes[:count].copy())
        if room == self.max_states:
            raise self._too_many(rows[:room])
        return None

    def last_age(self, state: int) -> int:
        """The age up to which a run in the state may still complete; below 0 where it never can."""
        fewest = self._fewest[state]
        if fewest is None:
            return -1
        return 0 if self.bound is None else self.bound - fewest * self.step

    @cached_property
    def _fewest(self) -> list[int | None]:
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
        return fewest

    def _too_many(self, rows: Int32) -> LimitError:
        """Names the parts of the pattern whose runs have the most different ages."""
        ages = [len(np.unique(column[column >= 0])) for column in rows.T]
        worst = sorted(range(len(ages)), key=lambda state: -ages[state])[:3]
        parts = [f"{self._part(state)} ({ages[state]:,} ages)" for state in worst if ages[state]]
        aged = self.bound is not None
        advice = "narrow WITHIN, use fewer events in the pattern" if aged else "use fewer overlapping repetitions"
        return LimitError(
            "pattern_states",
            self.max_states,
            reason="the pattern has too many states when made deterministic"
            + (f"; most of them differ in how old partial matches are after {', '.join(parts)}" if aged else ""),
            fix=Message(advice, ", or raise ", Limit("pattern_states", "ForecastLimits")),
        )

    def _part(self, state: int) -> str:
        entering = [t for t in self.transducer.transitions if t.target == state and t.mark is not None]
        names = {format_mark(t.mark).removeprefix("• ") for t in entering}
        if not names or "•" in names:  # events without a name are named by their condition
            names = {str(t.condition) for t in entering}
        return " or ".join(f"`{name}`" for name in sorted(names)) or f"state {state}"
