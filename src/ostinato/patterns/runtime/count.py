"""Counting matches, a batch at a time: by adding up where a match is a run of the machine (kernels/count.py), else by
walking over them. What is kept between batches is bounded by the window and the number of keys."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ostinato.core.arrays import Float64, Int32, Int64, UInt64
from ostinato.core.events import time_order, to_arrow
from ostinato.errors import DataError, OstinatoError
from ostinato.patterns.automata.determinise import AllMachine
from ostinato.patterns.compile import CompiledPattern
from ostinato.patterns.kernels import protocol
from ostinato.patterns.kernels.count import RunCount, WindowCount, count_runs, count_windows, longest_window
from ostinato.patterns.limits import Limits
from ostinato.patterns.runtime.counting_maps import Cells, LinearMaps, from_remainders, moduli
from ostinato.patterns.runtime.direct import Direct
from ostinato.patterns.runtime.matcher import Events, Matcher, extend

if TYPE_CHECKING:
    from ostinato.patterns.runtime.bound_query import BoundQuery
    from ostinato.patterns.runtime.engine import Engine


_MAX_CELLS = 64  # beyond this the products cost more than they save
_SLICE = 1 << 18  # rows of a large table at a time
_FEW = 1 << 16  # new events that are not worth reading a window again for


class OutOfOrder(DataError):
    """A batch goes behind an earlier one, so that only the whole stream can be put in order."""


def count_table(engine: Engine, data: Any) -> int:
    """The number of rows `engine.run_batch(data)` would have."""
    rows = engine.conform(to_arrow(data))
    in_order = time_order(rows, engine.stream.binding) is None
    size = _SLICE if in_order else len(rows)
    return count_batches(engine, (rows.slice(at, size) for at in range(0, len(rows), max(1, size))))


def count_batches(engine: Engine, batches: Iterable[Any]) -> int:
    """The number of matches in a stream whose batches follow each other in time."""
    counter = Counter(engine)
    for batch in batches:
        counter.push(batch)
    return counter.total()


class Counter:
    """Counts the matches of one stream. The engine must be fresh, and is read by nobody else."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.events = 0
        self._lists = _lists(engine.compiled)
        self._listed = 0
        self._tally: _Tally | None = None
        self._last: pa.Table | None = None  # the last event read: the next batch must not go behind it
        self._stopped: OstinatoError | None = None

    def push(self, batch: Any) -> None:
        """Read events. Within a batch they are put in order; OutOfOrder where a batch goes behind an earlier one."""
        self._check_open()
        rows = to_arrow(batch)
        if not rows.num_columns:
            return  # an empty list of events names no columns
        if not self.engine.bound or not rows.schema.equals(self.engine.stream.schema):
            self.engine.push(rows.slice(0, 0))  # meets the columns and their types
            rows = self.engine.stream.align(rows)
        if not len(rows):
            return
        order = self._order(rows)
        self._stopped = OstinatoError("this count stopped in the middle of a batch", fix="count again from the start")
        self._read(rows, order)
        self.events += len(rows)
        self._stopped = None

    def total(self) -> int:
        """The stream has ended: the number of its matches."""
        self._check_open()
        self._stopped = OstinatoError("this count has ended", fix="start another one")
        if self._lists:
            return self._listed + (len(self.engine.flush()) if self.engine.bound else 0)
        return self._tally.total() if self._tally is not None else 0

    def _check_open(self) -> None:
        if self._stopped is not None:
            raise self._stopped

    def _order(self, rows: pa.Table) -> Int64 | None:
        """What puts the rows in stream order, once they are known to follow the last event before them."""
        clock, binding = self.engine.stream.clock, self.engine.stream.binding
        names = list(dict.fromkeys([*([clock.column] if clock is not None else []), *binding.order_by]))
        if not names:
            return None
        ordering = rows.select(names)
        before = 0 if self._last is None else 1
        both = ordering if self._last is None else pa.concat_tables([self._last.cast(ordering.schema), ordering])
        ticks = clock.ticks(both[clock.column], first_row=self.events - before) if clock is not None else None
        order = time_order(both, binding, ticks)
        if order is not None:
            if before and order[0] != 0:
                raise OutOfOrder(
                    f"the events go back in time, at row {self.events:,} or later",
                    fix="sort them by time, or count them as one table",
                )
            order = order[before:] - before
        self._last = ordering.take([len(rows) - 1 if order is None else int(order[-1])])
        return order

    def _read(self, rows: pa.Table, order: Int64 | None) -> None:
        if self._lists:
            self._listed += sum(map(len, self.engine.push_each(rows)))
            return
        events = self.engine.stream.events(rows, np.arange(self.events, self.events + len(rows)), order)
        if self._tally is None:
            self._tally = _tally_for(self.engine)
        self._tally.read(events)


def _tally_for(engine: Engine) -> _Tally:
    """Once the codes of a first batch are known."""
    stream = engine.stream
    if (cells := cells_of(engine, _MAX_CELLS)) is None:
        return _Walked(engine.matcher)
    tally = _Runs if stream.window == protocol.NO_WINDOW else _Windows
    return tally(cells, stream, engine.options.limits)


def cells_of(engine: Engine, most: int) -> Cells | None:
    """What the matches of events like those read so far can be added up by; None where they must be walked over, or
    where it takes more than so many cells."""
    matcher = engine.matcher
    if _lists(engine.compiled) or not isinstance(matcher, Direct) or engine.compiled.query.consume != "NONE":
        return None
    machine = matcher.tables.machine
    if not isinstance(machine, AllMachine):
        return None
    cells = Cells(machine)
    return cells if cells.extend(engine.stream.encoder.size, most) else None


def _lists(compiled: CompiledPattern) -> bool:
    """Only a list of what was found can tell which answers look the same, or were cancelled later."""
    return compiled.hides_variables or compiled.ambiguous or compiled.keeps_matches


class _Tally(ABC):
    """Matches counted so far."""

    @abstractmethod
    def read(self, events: Events) -> None:
        """The next events, in stream order."""

    @abstractmethod
    def total(self) -> int:
        """The number of matches in all that was read."""


class _Walked(_Tally):
    """One by one, but without building them."""

    def __init__(self, matcher: Matcher) -> None:
        self.matcher, self.count = matcher, 0

    def read(self, events: Events) -> None:
        for _ in self.matcher.run(events, protocol.WALK):
            raise AssertionError("walking writes nothing")
        self.count += self.matcher.walked

    def total(self) -> int:
        return self.count


class _Runs(_Tally):
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
        state.update(codes=codes, keys=keys, modulus=0, sizes=sizes, counts=counts)
        found, remainder = count_runs(state)
        self._refine(moduli(max(found, np.max(sizes, where=np.isfinite(sizes), initial=0.0))))
        every = [int(remainder)]
        for partial, divisor in zip(self.remainders[1:], self.divisors[1:], strict=True):
            state.update(modulus=divisor, counts=partial)
            every.append(int(count_runs(state)[1]))
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

        def grown(partial: Any) -> Any:
            partial = np.pad(partial, ((0, more), (0, cells - columns)))
            partial[rows:, 0] = 1
            return partial

        self.sizes, self.remainders = grown(self.sizes), [grown(partial) for partial in self.remainders]
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

    def at(self, places: Any) -> _Window:
        return _Window(*(column[places] for column in self.columns))


class _Windows(_Tally):
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

    def read(self, events: Events) -> None:
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
        self.waiting.append(_Window(events.codes, keys, ticks, lows).at(~idle[events.codes]))
        if sum(map(len, self.waiting)) >= max(_FEW, len(self.kept)):
            self._settle()

    def total(self) -> int:
        self._settle()
        return self.count

    def _places(self, keys: Int32) -> Int64:
        """Which event of its key each is."""
        counts = np.bincount(keys, minlength=len(self.seen))
        places = np.empty(len(keys), np.int64)
        in_order = np.arange(len(keys)) + np.repeat(self.seen - np.cumsum(counts) + counts, counts)
        places[np.argsort(keys, kind="stable")] = in_order
        self.seen += counts
        return places

    def _settle(self) -> None:
        """Count what the waiting events complete, and keep what later ones may still see."""
        pieces = [self.kept, *self.waiting]
        events = _Window(*map(np.concatenate, zip(*(piece.columns for piece in pieces), strict=True)))
        fresh = np.arange(len(events)) >= len(self.kept)
        self.count += self._count_completed(events, fresh)
        self.kept, self.waiting = events.at(events.ticks >= self.lows[events.keys]), []
        self.limits.check_memory(sum(column.nbytes for column in self.kept.columns))

    def _count_completed(self, events: _Window, fresh: npt.NDArray[np.bool_]) -> int:
        maps = self.cells.maps(self.stream.encoder.size, self.limits)
        if self.stream.keys is not None:
            order = np.argsort(events.keys, kind="stable")
            events, fresh = events.at(order), fresh[order]

        cells, longest = maps.cells, longest_window(events.keys, events.ticks, events.lows)
        self.limits.check_memory(2 * 8 * cells * (4 * cells + longest))
        state = WindowCount(
            codes=events.codes,
            keys=events.keys,
            edges=maps.edges,
            edge_ends=maps.edge_ends,
            completions=maps.completions,
            modulus=0,
            sizes=np.empty((4 * cells, cells)),
            counts=np.empty((4 * cells, cells), np.uint64),
            ticks=events.ticks,
            lows=events.lows,
            counted=fresh,
            older_sizes=np.empty((longest, cells)),
            older_counts=np.empty((longest, cells), np.uint64),
        )
        found, remainder = count_windows(state)
        divisors, every = moduli(found), [int(remainder)]
        for divisor in divisors[1:]:
            state.modulus = divisor
            every.append(int(count_windows(state)[1]))
        return int(from_remainders(every, divisors))
