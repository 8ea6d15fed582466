"""Numbers of matches, added up as events are read: by linear maps over cells, or one by one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ostinato.core.arrays import Float64, Int32, Int64, UInt64
from ostinato.errors import LimitError
from ostinato.patterns.automata.determinise import AllMachine
from ostinato.patterns.compile import CompiledPattern
from ostinato.patterns.kernels import protocol
from ostinato.patterns.kernels.count import (
    AT,
    BACK,
    SUFFIX,
    RunCount,
    WindowCount,
    count_runs,
    count_starts,
    count_windows,
    longest_window,
)
from ostinato.patterns.kernels.key_groups import number_in_keys, order_by_keys
from ostinato.patterns.limits import Limits
from ostinato.patterns.runtime.batches import Events
from ostinato.patterns.runtime.bound_query import BoundQuery
from ostinato.patterns.runtime.counting_maps import Cells, LinearMaps, from_remainders, moduli
from ostinato.patterns.runtime.direct import Direct
from ostinato.patterns.runtime.matcher import Matcher, extend
from ostinato.patterns.runtime.state import EngineState
from ostinato.patterns.runtime.tally import Tally

_MAX_CELLS = 64  # beyond this the products may cost more than they save: then matches are walked over as long as that
# is cheaper
_FEW_CELLS = 16  # with so few, counting takes little next to listing
_MAX_STEPS = 1 << 13  # cells times codes that are worth looking for
_STEPS = 1 << 24  # additions of a kernel at a time, some hundredths of a second
_SHORT = 64  # events of a window in which walking over matches may cost less than to add them up
_FEW = 1 << 16  # new events that are not worth reading a window again for


def tally_for(engine: EngineState) -> Tally:
    """Once the codes of a first batch are known."""
    stream = engine.stream
    if engine.compiled.registers is not None:
        from ostinato.patterns.runtime.pair_tally import pair_tally  # which has kernels of its own

        if (pairs := pair_tally(engine)) is not None:
            return pairs
    if (cells := cells_of(engine, max(_MAX_CELLS, _MAX_STEPS // max(1, stream.encoder.size)))) is None:
        return _Walked(engine.matcher, engine.options.limits)
    if stream.window == protocol.NO_WINDOW:
        return _Runs(cells, stream, engine.options.limits)
    windows = _Windows(cells, stream, engine.options.limits)
    walks = len(cells.numbers) > _MAX_CELLS or windows.are_short
    return _Walked(engine.matcher, engine.options.limits, windows) if walks else windows


def cells_of(engine: EngineState, most: int) -> Cells | None:
    """What the matches of events like those read so far can be added up by; None where they must be walked over, or
    where it takes more than so many cells."""
    matcher = engine.matcher
    if must_list(engine.compiled) or not isinstance(matcher, Direct) or engine.compiled.query.consume != "NONE":
        return None
    machine = matcher.tables.machine
    if not isinstance(machine, AllMachine):
        return None
    cells = Cells(machine)
    return cells if cells.extend(engine.stream.encoder.size, most, engine.options.limits.clock()) else None


def matches_around(engine: EngineState, events: Events) -> float:
    """At least so many matches are among these events; 0 where that takes long to tell."""
    if (cells := cells_of(engine, _FEW_CELLS)) is None:
        return 0
    stream, limits = engine.stream, Limits()
    tally = (_Runs if stream.window == protocol.NO_WINDOW else _Windows)(cells, stream, limits)
    try:
        tally.read(events)
        return tally.total()
    except LimitError as error:
        return math.inf if error.limit == "count" else 0


def must_list(compiled: CompiledPattern) -> bool:
    """Only a list of what was found can tell which answers look the same, were cancelled later, are skipped, or are
    beyond LIMIT."""
    return compiled.hides_variables or compiled.ambiguous or compiled.keeps_places


class _Walked(Tally):
    """One by one, but without building them; until that takes longer than to count them otherwise, if they can be."""

    def __init__(self, matcher: Matcher, limits: Limits, otherwise: _Windows | None = None) -> None:
        self.matcher, self.limits, self.otherwise, self.count = matcher, limits, otherwise, 0
        self.walking = True
        self.last: list[Events] = []  # that `otherwise` may have to see

    def read(self, events: Events) -> None:
        if self.walking:
            patience = None if self.otherwise is None else self.otherwise.effort(events)
            for _ in self.matcher.run(events, protocol.WALK, patience):
                raise AssertionError("walking writes nothing")
            self.walking = self.matcher.walked is not None
            self.count += self.matcher.walked or 0
        if self.otherwise is None:
            return
        if self.walking and self.otherwise.are_short:
            self._remember(events, self.otherwise.stream.width - 1)
            return
        for earlier in self.last:
            self.otherwise.read(earlier, counted=False)
        self.last = []
        self.otherwise.read(events, counted=not self.walking)

    def _remember(self, events: Events, most: int) -> None:
        """The last events, at least so many, and no long batches."""
        count = len(events.codes)
        own = events.part(max(0, count - most), count)
        self.last = [replace(own, codes=own.codes.copy())] if count >= most else [*self.last, own][-most:]

    def total(self) -> int:
        return self.count + (self.otherwise.total() if self.otherwise is not None else 0)


class _Runs(Tally):
    """Without a window: how many partial matches each key has in each cell, as floats and modulo enough numbers."""

    def __init__(self, cells: Cells, stream: BoundQuery, limits: Limits) -> None:
        self.cells, self.stream, self.limits = cells, stream, limits
        self.count = 0
        self.divisors = moduli(0)
        self.state: RunCount | None = None
        self.sizes: Float64 = np.zeros((0, 1))
        self.remainders: list[UInt64] = [np.zeros((0, 1), np.uint64)]

    def read(self, events: Events) -> None:
        maps = self.cells.maps(self.stream.encoder.size, self.limits)
        busy = ~maps.idle[events.codes]
        codes = events.codes[busy]
        keys = events.keys[busy] if len(events.keys) else np.zeros(len(codes), np.int32)
        self._make_room(events.key_count, maps.cells)

        state, sizes, counts = self._state_for(maps), self.sizes.copy(), self.remainders[0].copy()
        clock = self.limits.clock()

        def count_all(modulus: int, partial: UInt64) -> tuple[float, int]:
            size, total = 0.0, 0
            state.update(modulus=modulus % (1 << 64), sizes=sizes, counts=partial)
            for at in range(0, len(codes), part):
                state.update(codes=codes[at : at + part], keys=keys[at : at + part])
                found, remainder = count_runs(state)
                size, total = size + found, (total + int(remainder)) % modulus
                clock.check()
            return size, total

        part = max(1, _STEPS // (maps.cells + maps.most_edges))
        found, remainder = count_all(1 << 64, counts)
        self._refine(moduli(max(found, np.max(sizes, where=np.isfinite(sizes), initial=0.0))))
        every = [remainder]
        for partial, divisor in zip(self.remainders[1:], self.divisors[1:], strict=True):
            every.append(count_all(divisor, partial)[1])
        self.count += from_remainders(every, self.divisors)
        self.sizes, self.remainders[0] = sizes, counts

    def _state_for(self, maps: LinearMaps) -> RunCount:
        """What the kernel reads, made once for the maps at hand."""
        if self.state is None or self.state.completions is not maps.completions:
            none = np.zeros(0, np.int32)
            self.state = RunCount(
                codes=none,
                keys=none,
                edges=maps.edges,
                edge_ends=maps.edge_ends,
                completions=maps.completions,
                modulus=0,
                sizes=self.sizes,
                counts=self.remainders[0],
                spare_sizes=np.empty(maps.cells),
                spare_counts=np.empty(maps.cells, np.uint64),
            )
        return self.state

    def _refine(self, divisors: list[int]) -> None:
        """Further moduli, where these are not enough for what is to come.

        Partial matches beyond all floats become arbitrary: what completes them is beyond all floats as well.
        """
        more = divisors[len(self.divisors) :]
        if more:
            exact = from_remainders([remainder.astype(object) for remainder in self.remainders], self.divisors)
            self.remainders += [(exact % prime).astype(np.uint64) for prime in more]
            self.divisors = divisors

    def _make_room(self, keys: int, cells: int) -> None:
        """For keys and cells that are new; every key begins with one run without marks."""
        rows, columns = self.sizes.shape
        if keys <= rows and cells <= columns:
            return
        more = max(keys - rows, rows) if keys > rows else 0

        def grow(partial: Any) -> Any:
            partial = np.pad(partial, ((0, more), (0, cells - columns)))
            partial[rows:, 0] = 1
            return partial

        self.sizes, self.remainders = grow(self.sizes), [grow(partial) for partial in self.remainders]
        self.limits.check_memory(self.sizes.nbytes * (1 + len(self.remainders)))

    def total(self) -> int:
        return self.count


@dataclass(frozen=True)
class _Window:
    """Events in stream order, and what their windows are measured by."""

    codes: Int32
    keys: Int32
    ticks: Int64
    lows: Int64

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def columns(self) -> list[Any]:
        return [self.codes, self.keys, self.ticks, self.lows]

    @classmethod
    def concatenate(cls, pieces: Sequence[_Window]) -> _Window:
        return cls(*map(np.concatenate, zip(*(piece.columns for piece in pieces), strict=True)))

    def at(self, places: Any) -> _Window:
        return _Window(*(column[places] for column in self.columns))


class _Windows(Tally):
    """Keeps the events that are still within a window, and reads them again before new ones.

    New events wait until they are as many as those, so that an event is read again only a few times, however small
    the batches are.
    """

    def __init__(self, cells: Cells, stream: BoundQuery, limits: Limits) -> None:
        self.cells, self.stream, self.limits = cells, stream, limits
        self.count = 0
        self.seen: Int64 = np.zeros(0, np.int64)  # events per key, where windows are measured in them
        self.lows: Int64 = np.zeros(0, np.int64)  # per key: where windows of further events begin
        none = np.zeros(0, np.int64)
        self.kept = _Window(none.astype(np.int32), none.astype(np.int32), none, none)
        self.waiting: list[_Window] = []

    @property
    def are_short(self) -> bool:
        """Whether few matches are to be expected, and of one stream the last few events are all that matters."""
        window = self.stream.window == protocol.EVENT_WINDOW and self.stream.width <= _SHORT
        return window and self.stream.keys is None

    def effort(self, events: Events) -> int:
        """About how many additions it takes to count what the events complete."""
        maps = self.cells.maps(self.stream.encoder.size, self.limits)
        width = 2 * maps.cells
        if self.stream.window == protocol.EVENT_WINDOW:
            width = min(width, self.stream.width)
        return len(events.codes) * width * (maps.cells + maps.most_edges)

    def read(self, events: Events, *, counted: bool = True) -> None:
        """With `counted`, what the events complete counts; otherwise they are only seen."""
        keys = events.keys if len(events.keys) else np.zeros(len(events.codes), np.int32)
        ticks, lows = events.ticks, events.lows
        if events.key_count > len(self.seen):
            more = max(events.key_count - len(self.seen), len(self.seen))
            self.seen, self.lows = extend(self.seen, more, 0), extend(self.lows, more, protocol.FOREVER)
        if self.stream.window == protocol.EVENT_WINDOW:
            ticks = self._places(keys)
            lows = ticks - self.stream.width + 1
            self.lows = self.seen - self.stream.width + 1
        elif self.stream.window == protocol.TICK_WINDOW and len(lows):
            self.lows[:] = lows[-1]
        else:
            self.lows[keys] = lows  # the last assignment of a key wins
        idle = self.cells.maps(self.stream.encoder.size, self.limits).idle
        window = _Window(events.codes, keys, ticks, lows).at(~idle[events.codes])
        if not counted:
            assert not self.waiting
            self._keep(_Window.concatenate([self.kept, window]))
            return
        self.waiting.append(window)
        if sum(map(len, self.waiting)) >= max(_FEW, len(self.kept)):
            self._settle()

    def total(self) -> int:
        self._settle()
        return self.count

    def _places(self, keys: Int32) -> Int64:
        """Which event of its key each is."""
        places = np.empty(len(keys), np.int64)
        number_in_keys(keys, self.seen, places)
        return places

    def _settle(self) -> None:
        """Count what the waiting events complete, and keep what later ones may still see."""
        events = _Window.concatenate([self.kept, *self.waiting])
        if self.waiting:
            self.count += self._count_completed(events, np.arange(len(events)) >= len(self.kept))
        self._keep(events)

    def _keep(self, events: _Window) -> None:
        self.kept, self.waiting = events.at(events.ticks >= self.lows[events.keys]), []
        self.limits.check_memory(sum(column.nbytes for column in self.kept.columns))

    def _count_completed(self, events: _Window, fresh: npt.NDArray[np.bool_]) -> int:
        maps = self.cells.maps(self.stream.encoder.size, self.limits)
        if self.stream.keys is not None:
            order = np.empty(len(events), np.int64)
            counts = np.bincount(events.keys, minlength=len(self.seen))
            order_by_keys(events.keys, np.cumsum(counts) - counts, order)
            events, fresh = events.at(order), fresh[order]

        cells, longest = maps.cells, longest_window(events.keys, events.ticks, events.lows)
        # Few events are followed one by one, many by products of what each does.
        apart = longest < cells
        squares, rows = (1, longest + 1) if apart else (4 * cells, longest)
        self.limits.check_memory(2 * 8 * cells * (squares + rows))
        state = WindowCount(
            codes=events.codes,
            keys=events.keys,
            edges=maps.edges,
            edge_ends=maps.edge_ends,
            completions=maps.completions,
            modulus=0,
            sizes=np.empty((squares, cells)),
            counts=np.empty((squares, cells), np.uint64),
            ticks=events.ticks,
            lows=events.lows,
            counted=fresh,
            older_sizes=np.empty((rows, cells)),
            older_counts=np.empty((rows, cells), np.uint64),
            steps=_STEPS,
            progress=np.zeros(7, np.int64),
        )
        clock, kernel = self.limits.clock(), count_starts if apart else count_windows

        def count_all(modulus: int) -> tuple[float, int]:
            size, total, state.modulus = 0.0, 0, modulus % (1 << 64)
            state.progress[:] = 0
            state.progress[SUFFIX], state.progress[BACK] = 2 * cells, -1
            while state.progress[AT] < len(events):
                found, remainder = kernel(state)
                size, total = size + found, (total + int(remainder)) % modulus
                clock.check()
            return size, total

        found, remainder = count_all(1 << 64)
        divisors = moduli(found)
        return int(from_remainders([remainder, *(count_all(divisor)[1] for divisor in divisors[1:])], divisors))
