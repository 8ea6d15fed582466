"""What an event does to a pattern that compares events with each other (SRA paper, section 8.3).

A deterministic register automaton would have a state for every way in which stored events can lie in the window, and a
symbol for every transition: exponentially many. Here states that differ only in what their registers hold are merged:
what is left is, per state of the transducer, the age of its youngest run. An *outcome* is a transition between these:
where each youngest run came from, and whether a match completed. It is observed by exact detection, and its probability
is learned. An outcome that is impossible in a state has no probability there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ostinato.core.arrays import Bools, Int32, Int64
from ostinato.core.columns.intern import IntegerInterner
from ostinato.errors import Limit, LimitError, Message
from ostinato.forecast.symbols.automaton import SymbolAutomaton

# Whether a match completed; the states with a run before (a bit each), and those whose run then grew too old; by how
# much ages grew; then for each state where its youngest run came from: nowhere, since there is none; it began now;
# FROM + s: it was that of state s; or, after all these, its age.
Outcome = tuple[int, ...]

NONE, BEGAN, FROM = 0, 1, 2
NO_RUN = -1  # as an age


class RowTable:
    """Numbers for rows of whole numbers from 0 on, in order of first sight."""

    def __init__(self, known: Sequence[tuple[int, ...]] = ()) -> None:
        self.known: list[tuple[int, ...]] = []
        self._chain: list[IntegerInterner] = []
        if known:
            self.encode(np.array(known, np.int64))

    def encode(self, rows: Int64) -> Int32:
        if not self._chain:
            self._chain = [IntegerInterner() for _ in range(rows.shape[1])]
        ids = np.zeros(len(rows), np.int32)
        for column, interner in zip(rows.T, self._chain, strict=True):
            ids = interner.encode((ids.astype(np.int64) << 32) | column)
        fresh, first = np.unique(ids, return_index=True)
        new = fresh >= len(self.known)
        self.known += [tuple(rows[at].tolist()) for at in first[new]]
        return ids


class AgeTable:
    """Numbers for the ages of runs after an event."""

    def __init__(self) -> None:
        self._rows = RowTable()

    @property
    def known(self) -> list[tuple[int, ...]]:
        return [tuple(age + NO_RUN for age in ages) for ages in self._rows.known]

    def encode(self, ages: Int64) -> Int32:
        return self._rows.encode(ages - NO_RUN)


class OutcomeTable:
    """Numbers for outcomes."""

    def __init__(self, known: Sequence[Outcome] = ()) -> None:
        self._rows = RowTable(known)

    @property
    def known(self) -> list[Outcome]:
        return self._rows.known

    def encode(self, before: Int64, after: Int64, completes: Bools, steps: Int32, bound: int) -> Int32:
        """The outcomes of events, by the ages [events, states] of the youngest runs before and after each. Ages grew by
        `steps`, and runs older than `bound` are dropped."""
        states = range(before.shape[1])
        older = np.where(before == NO_RUN, NO_RUN, before + steps[:, None])
        lineage = np.where(after == NO_RUN, NONE, FROM + len(states) + after)
        for source in reversed(states):
            lineage = np.where((after > 0) & (after == older[:, [source]]), FROM + source, lineage)
        itself = (after > 0) & (after == older)
        lineage = np.where(itself, FROM + np.arange(len(states)), lineage)
        lineage = np.where(after == 0, BEGAN, lineage)
        bits = np.arange(len(states), dtype=np.int64)
        occupied, expired = ((runs << bits).sum(axis=1) for runs in (before != NO_RUN, older > bound))
        return self._rows.encode(np.column_stack([completes.astype(np.int64), occupied, expired, steps, lineage]))


def explore_outcomes(outcomes: Sequence[Outcome | None], states: int, bound: int, max_states: int) -> SymbolAutomaton:
    """The automaton over symbols with these outcomes; None: never observed, and impossible in every state."""
    number: dict[tuple[int, ...], int] = {(NO_RUN,) * states: 0}
    todo = list(number)
    rows: list[list[int]] = []
    distinct = {outcome: place for place, outcome in enumerate(dict.fromkeys(outcomes))}
    for ages in todo:
        row = []
        for outcome in distinct:
            target = None if outcome is None else _after(ages, outcome, bound)
            if target is not None and target not in number:
                if len(todo) >= max_states:
                    raise LimitError(
                        "pattern_states",
                        max_states,
                        reason=f"partial matches of {states} parts of the pattern can have too many different ages, "
                        f"up to {bound}",
                        fix=Message(
                            "narrow WITHIN, use fewer events in the pattern, or raise ",
                            Limit("pattern_states", "ForecastLimits"),
                        ),
                    )
                number[target] = len(todo)
                todo.append(target)
            row.append(-1 if target is None else number[target])
        rows.append(row)
    order = [distinct[outcome] for outcome in outcomes]
    ends = np.array([outcome is not None and outcome[0] == 1 for outcome in outcomes])
    after = np.array(rows, np.int32)[:, order]
    return SymbolAutomaton(after, (after >= 0) & ends, state_by_ages=number)


def _after(ages: tuple[int, ...], outcome: Outcome, bound: int) -> tuple[int, ...] | None:
    """The ages after an outcome; None if it is impossible."""
    _, occupied, expired, step, *lineage = outcome
    alive = [state for state, age in enumerate(ages) if age != NO_RUN]
    if occupied != sum(1 << state for state in alive):
        return None
    if expired != sum(1 << state for state in alive if ages[state] + step > bound):
        return None
    found = []
    for came in lineage:
        if came in (NONE, BEGAN):
            found.append(NO_RUN if came == NONE else 0)
            continue
        source = came - FROM
        age = ages[source] + step if source < len(ages) else source - len(ages)
        if age > bound:
            return None
        found.append(age)
    return tuple(found)
