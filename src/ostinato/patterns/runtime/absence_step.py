"""How a batch of events changes the matches that wait for an absence: new ones join them, and some are cancelled."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int32, Int64
from ostinato.core.columns.event_codes import PredicateEncoder
from ostinato.patterns.automata.from_formula import TrailingAbsence
from ostinato.patterns.compile import CompiledPattern
from ostinato.patterns.runtime.absence import Wait, WaitingMatches
from ostinato.patterns.runtime.correlated_absence import forget_cancelled
from ostinato.patterns.runtime.history import PLACE, TIME, History
from ostinato.patterns.runtime.matches import Matches


@dataclass(frozen=True)
class AbsenceStep:
    """One batch, whose rows are in the history; `read` events came before it."""

    waiting: WaitingMatches
    compiled: CompiledPattern
    encoder: PredicateEncoder
    history: History
    read: int

    def see(self, matches: Matches, times: Int64, keys: Int64, codes: Int32, rows: pa.Table) -> Matches:
        """Let the waiting matches see a batch of events, `rows` in stream order; returns the matches now certain."""
        matches, branches = self.waiting.drop_extended(*self._split_branches(matches))
        bound = self.history.rows(matches.positions, [TIME, PLACE])
        starts = ends = times[matches.origins]
        if not all(wait.from_last for wait in self.waiting.waits):  # then there is a window, and first events are known
            starts = bound[TIME].to_numpy()[matches.offsets[:-1]]
        self.waiting.add(matches, branches, starts, ends, self.read + matches.origins, bound[PLACE].to_numpy())
        if not len(times) or not len(self.waiting.matches):
            return Matches.none()
        for absence, wait in zip(self.compiled.trailing, self.waiting.waits, strict=True):
            if absence.condition is None:
                continue
            place, encoder = self.compiled.conditions.index(absence.condition), self.encoder
            truth = np.array([encoder.truth(code)[place] for code in range(encoder.size)], bool)
            hits = np.flatnonzero(truth[codes])
            if wait.at_once:
                self._see_next(absence, wait, hits, times, keys, rows)
            elif absence.test is None:
                self.waiting.cancel(wait, times, keys, hits)
            else:
                test, watched = absence.test, self.compiled.watched_symbols()
                first = np.searchsorted(hits, self.waiting.matches.origins, side="right")
                last = np.searchsorted(times[hits], self.waiting.deadlines(wait), side="right")
                forget_cancelled(self.waiting, wait, self.history, test, watched, rows, hits, keys, first, last)
        return self.waiting.until(int(times[-1]))

    def _split_branches(self, matches: Matches) -> tuple[Matches, Int64]:
        """The matches with the symbols of all branches alike, and the branch of each."""
        if not self.compiled.branched:
            return matches, np.zeros(len(matches), np.int64)
        branches, symbols = np.divmod(matches.symbols, self.compiled.symbols)
        ends = matches.offsets[1:]
        last = np.where(matches.lengths > 0, np.append(branches, 0)[ends - 1], 0)
        return replace(matches, symbols=symbols), last

    def _see_next(
        self, absence: TrailingAbsence, wait: Wait, hits: Int64, times: Int64, keys: Int64, rows: pa.Table
    ) -> None:
        """Let the waiting matches see their next events, if they are in this batch."""
        waiting = self.waiting
        following = waiting.next_events(keys)
        known = (following < len(keys)) & (waiting.branches == wait.branch)
        waiting.ends = np.where(known, np.append(times, 0)[following], waiting.ends)
        waiting.deciding = np.where(known, self.read + following, waiting.deciding)
        if absence.test is None:
            waiting.forget(known & np.isin(following, hits))
            return
        first, last = (np.searchsorted(hits, following, side=side) for side in ("left", "right"))
        watched = self.compiled.watched_symbols()
        forget_cancelled(waiting, wait, self.history, absence.test, watched, rows, hits, keys, first, last)
