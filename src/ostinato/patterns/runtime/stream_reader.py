"""Reads events into the state of an engine, batch by batch, and gives the answers that they complete."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int64
from ostinato.core.engine_errors import INCOMPLETE
from ostinato.core.reorder import ReleasedRows, at_places
from ostinato.core.stopwatch import Stopwatch
from ostinato.errors import DataError
from ostinato.patterns.runtime.absence_step import AbsenceStep
from ostinato.patterns.runtime.batches import Chunk, Events
from ostinato.patterns.runtime.first_matches import FirstMatches
from ostinato.patterns.runtime.grouped import GroupedMatcher
from ostinato.patterns.runtime.history import PLACE
from ostinato.patterns.runtime.matcher_factory import build_matcher
from ostinato.patterns.runtime.matches import Matches
from ostinato.patterns.runtime.skips import Skips
from ostinato.patterns.runtime.state import EngineState
from ostinato.patterns.runtime.strategies import select_matches


class StreamReader(EngineState):
    """How a batch of events changes the state: the matcher first, then what chooses among the matches it completes."""

    _defers = False  # whether events are read on where an answer cannot be computed, and it is raised after them
    _failure: DataError | None = None  # that is to be raised

    def _read(
        self, released: ReleasedRows, *, more: bool = True, go_back: Callable[[], None] | None = None
    ) -> Iterator[pa.Table]:
        """Read rows. While that is not finished, or if it fails, nothing else may be read: the state is incomplete. But
        rows that cannot be understood are as if they had not come, if there is a way to `go_back`."""
        stopped, self.stopped = self.stopped, INCOMPLETE
        return self._matches_of(released, more=more, stopped=stopped, go_back=go_back)

    def _matches_of(
        self, released: ReleasedRows, *, more: bool, stopped: str, go_back: Callable[[], None] | None
    ) -> Iterator[pa.Table]:
        self._defers, given = more, self.matches
        if self.first is None or not self.first.done:
            try:
                events, times = self._open(released)
            except DataError:
                if go_back is not None:
                    go_back()
                    self.stopped = stopped
                raise
            for piece in self._pieces(events):
                yield from self._matches_in(piece, times, released)
        if released.places is None:
            self.read += len(released.rows)
        elif len(released.places):
            self.read = int(released.places[-1]) + 1
        if more:
            self._close_history()
        self.stopped, self.reading, self._defers = stopped, None, False
        if (failure := self._failure) is not None:
            self._failure, self.matches = None, given
            raise failure

    def _mark(self) -> Callable[[], None]:
        """A way back to the state before events were taken, as long as the matcher has read none of them."""
        stream, events, late, late_rows = self._stream, self.events, self.late, len(self.late_rows)
        parts = [self.reorder.mark(), stream.mark()] if stream is not None else []

        def go_back() -> None:
            self._stream, self.events, self.late = stream, events, late
            del self.late_rows[late_rows:]
            for part in parts:
                part()

        return go_back

    def _open(self, released: ReleasedRows) -> tuple[Events, Int64]:
        """Rows as the matcher sees them, and their times where matches wait for time to pass; they can be looked up."""
        stream = self.stream
        rows, positions, order = released.rows, released.positions, released.order
        if released.places is not None and len(rows):
            self.read = int(released.places[0])
        events = stream.events(rows, positions, order, released.places)
        times = np.zeros(0, np.int64)
        places = released.places if released.places is not None else np.arange(self.read, self.read + len(rows))
        if self.waiting is not None:
            timed = self.waits_for_time or (self.identity is not None and stream.clock is not None)
            times = stream.times(rows, order) if timed else places
        if self.compiled.keeps_places:
            rows = self.with_places(rows, order, times, places)
        self.history.open(rows, positions)
        if len(events.lows):
            self.low, self.newest = int(events.lows[-1]), int(events.ticks[-1])
        if self.skips is not None and self.skips.narrows:  # the window is counted in places
            self.in_place &= not len(places) or (not len(events.positions) and events.first_position == places[0])
            events = replace(events, ticks=places, lows=np.zeros_like(places))
        return events, times

    def _read_range(self, released: ReleasedRows, before: int) -> Iterator[pa.Table]:
        """Like `_read_rows`, for a query that may split ranges: without the answers of the first `before` rows."""
        self.stopped = INCOMPLETE
        events, times = self._open(released)
        if before and self.stream.ties is not None:  # which leaves events out, and adds some
            earlier = np.arange(before) if released.order is None else released.order[:before]
            before = int(np.isin(events.positions, at_places(released.positions, earlier)).sum())
        for _ in self._matches_in(events.part(0, before), times, released):
            pass  # those of another range; but they are not to be given again
        yield from self._matches_in(events.part(before, len(events.codes)), times, released)

    def _pieces(self, events: Events) -> Iterator[Events]:
        """A batch as a whole, or where matches of some events say which others are read, in pieces."""
        parts = iter((events,)) if self.first is None else self.first.pieces(events, at_once=self.waiting is not None)
        for part in parts:
            if self.skips is None or self._skips_inside(part) is not None:
                yield part
            else:
                yield from self.skips.pieces(part)

    def _matches_in(self, events: Events, times: Int64, released: ReleasedRows) -> Iterator[pa.Table]:
        """The answers that some events complete, which are all of those released, or a part of them."""
        kept: list[Matches] = []
        undecided: list[Matches] = []
        self.reading = events
        before = len(self.waiting.matches) if self.waiting is not None else 0
        clock = self.options.limits.clock()
        if self.groups is not None:
            yield from self._answers_of_groups(self.groups, events)
            return
        inside = self._skips_inside(events)
        for chunk in inside.read_on(self.matcher, events) if inside is not None else self.matcher.run(events):
            matches = self._unpack(chunk, events)
            if inside is not None:
                begun = (
                    np.searchsorted(matches.origins, matches.origins[-1]) if self.matcher.undecided else len(matches)
                )
                kept.append(matches.part(0, int(begun)))
                if self.matcher.undecided:
                    kept.append(self._take_unskipped(matches.part(int(begun), len(matches)), events, clock))
                continue
            if self.skips is not None:
                if self.skips.narrows:  # the matcher stops at each event that completes some
                    kept.append(self._take_unskipped(matches, events, clock))
                    continue
                begun = int(np.searchsorted(matches.origins, matches.origins[-1]))  # the last event may complete more
                if not begun and undecided and undecided[-1].origins[-1] == matches.origins[-1]:
                    undecided.append(matches)  # so it does
                    continue
                kept.append(self._take_unskipped(Matches.concat([*undecided, matches.part(0, begun)]), events, clock))
                undecided = [matches.part(begun, len(matches))]
                continue
            if not self.compiled.keeps_places:
                yield self._answer(matches)
                continue
            if self.waiting is None and self.first is None and kept and kept[-1].origins[-1] != matches.origins[-1]:
                # All matches of earlier events are known, so the strategy can choose among them.
                begun = int(np.searchsorted(matches.origins, matches.origins[-1]))
                yield self._answer(self._choose(Matches.concat([*kept, matches.part(0, begun)]), clock))
                kept, matches = [], matches.part(begun, len(matches))
            kept.append(matches)
            clock.check()
            if self._are_enough(kept):
                break  # nothing more will be read
            self.options.limits.check_matches(sum(map(len, kept)) + before)
        if self.skips is not None and undecided:
            kept.append(self._take_unskipped(Matches.concat(undecided), events, clock))
        if self.waiting is not None:
            rows, order = released.rows, released.order
            in_order = rows if order is None else rows.take(pa.array(order))
            keys = events.keys_at(np.arange(len(events.codes)))
            step = AbsenceStep(self.waiting, self.compiled, self.stream.encoder, self.history, self.read)
            yield self._answer(step.see(Matches.concat(kept), times, keys, events.codes, in_order))
        elif self.compiled.keeps_matches and self.skips is None:
            yield self._answer(self._choose(Matches.concat(kept), clock))
        elif self.compiled.keeps_places:
            yield self._answer(Matches.concat(kept))
        if self.distinct is not None and not self.compiled.hides_variables:
            # A complex event can only be found again by the same last event, or be another branch's, too.
            if self.compiled.branched and self.waiting is not None and len(self.waiting.matches):
                self.distinct.forget_before(int(self.waiting.matches.first.min()))
            else:
                self.distinct.forget_all()

    def _skips_inside(self, events: Events) -> Skips | None:
        """What the matcher itself decides of these events, if they and it allow that."""
        if self.skips is None or not self.in_place or len(events.positions):
            return None
        return self.skips if self.skips.can_read_on(self.matcher) else None

    def _answers_of_groups(self, groups: GroupedMatcher, events: Events) -> Iterator[pa.Table]:
        """What `_matches_in` gives, where no answer waits for others."""
        if self.distinct is not None or self.identity is not None:  # earlier ones matter
            for matches in groups.map_matches(events, lambda chunk: self._unpack(chunk, events)):
                yield self._answer(matches)
            return
        for table in groups.map_matches(events, lambda chunk: self._table(self._unpack(chunk, events))):
            self.matches += len(table)
            yield table

    def _unpack(self, chunk: Chunk, events: Events) -> Matches:
        shown = self._answers.items is not None or self.compiled.keeps_places or self.distinct is not None
        return Matches.unpack(chunk, events, symbols=shown, completed=self.notes_completed)

    def _are_enough(self, kept: Sequence[Matches]) -> bool:
        """Whether LIMIT is reached for the whole stream by matches of events before the last that completed some."""
        if self.first is None or self.first.keyed or self.skips is not None or self.distinct is not None:
            return False
        if self.compiled.keeps_matches:
            return False
        last = kept[-1].origins[-1]
        found = sum(np.count_nonzero(matches.origins < last) for matches in kept)
        return bool(self.first.given[0] + found >= self.first.limit)

    def _choose(self, matches: Matches, clock: Stopwatch) -> Matches:
        places = self.history.numbers(matches.positions, PLACE)
        every = np.arange(len(matches))
        strategy, groups = self.compiled.strategy, matches.origins
        chosen = select_matches(strategy, every, groups, matches.offsets, places, clock)
        return matches if len(chosen) == len(matches) else matches.pick(chosen)

    def _take_unskipped(self, matches: Matches, events: Events, clock: Stopwatch) -> Matches:
        assert self.skips is not None
        places = self.history.numbers(matches.positions, PLACE)
        return self.skips.take(matches, places, events, clock)

    def _answer(self, matches: Matches) -> pa.Table:
        if self.distinct is not None and (self.indexed is None or not self.indexed.active):
            matches = self.distinct.only_new(matches, self.compiled.alike)
        if self.first is not None and len(matches):
            matches = self._take_first(self.first, matches)
        try:
            table = self._table(matches)
        except DataError as error:
            if not self._defers:
                raise
            self._failure = self._failure or error
            return self._nothing
        self.matches += len(matches)
        return table

    def _take_first(self, first: FirstMatches, matches: Matches) -> Matches:
        """Those within LIMIT; partitions that have reached it are dropped."""
        places = self.history.numbers(matches.positions, PLACE)
        taken, full = first.take(matches, matches.origins, places, self.compiled.ranks)
        if not first.skips or not len(full):
            return taken
        if first.keyed:
            self.matcher.drop_keys(full)
        else:
            self.matcher = build_matcher(self.compiled, self.stream, self.options.limits)
        if self.waiting is not None:
            self.waiting.forget(np.isin(self.waiting.matches.keys, full) | (not first.keyed))
        return taken
