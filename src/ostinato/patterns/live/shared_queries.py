"""Queries that one kernel runs together (patterns/kernels/live.py), and what they need while it does."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.core.clock import MAX_TICK, Clock
from ostinato.core.events import StreamColumns
from ostinato.core.jit import prefetch
from ostinato.core.jit.array_struct import StructList
from ostinato.core.reorder import ReleasedRows, write_out
from ostinato.core.window_bounds import first_beyond
from ostinato.errors import DataError, LimitError
from ostinato.patterns.kernels import live, live_layout, protocol
from ostinato.patterns.kernels.layout import DirectState
from ostinato.patterns.kernels.live_layout import SharedState
from ostinato.patterns.live.computed_answers import at_once, compute
from ostinato.patterns.live.event_classes import EventClasses
from ostinato.patterns.live.found import Found
from ostinato.patterns.live.frames import Frames, Placed
from ostinato.patterns.live.kernel_run import KernelRun, Stop, Values, make_room
from ostinato.patterns.live.matches import Answers, QueryMatches
from ostinato.patterns.live.members import FramesOf, Members
from ostinato.patterns.live.statistics import QueryStatistics
from ostinato.patterns.live.wake_index import WakeIndex
from ostinato.patterns.runtime.direct import Direct
from ostinato.patterns.runtime.engine import Engine
from ostinato.patterns.runtime.history import History
from ostinato.patterns.runtime.matcher import extend

_PAIRS = 1 << 20  # of events and queries, at least, that are sorted at a time
_FEW_MATCHES = 16  # for which a query has room at first
_MANY_MATCHES = 1 << 12  # for which room is given back
_EVENTS = 1 << 18  # after which what has expired is given back, even if no later match may hold one of them
_FEW_NODES = 1024  # of a query at first: those that are in use should be in the cache
_MANY_KEYS = 1024  # with fewer keys, looking for dead ones does not pay
_MOST_NUMBERS = 1 << 12  # of one query
_COUNTERS = ("reads", "steps", "matches")
_ROWS_PER_QUERY = 64  # kept rows for each query, before looking for unneeded ones pays


def is_shareable(engine: Engine) -> bool:
    """Whether an engine that is bound can be run together with others: by the plain kernel, and nothing around it."""
    compiled, stream, encoder = engine.compiled, engine.stream, engine.stream.encoder
    if not engine.is_plain or not isinstance(engine.matcher, Direct) or stream.window == protocol.KEY_WINDOW:
        return False
    window = compiled.query.window
    if stream.recent:
        return False
    along = window is not None and window.kind == "attribute"
    tied = stream.ties is not None and compiled.contiguous
    return not (along or tied or encoder.casts) and 0 < encoder.numbers <= _MOST_NUMBERS


class SharedQueries:
    """Queries by number. A query that reaches a limit of its own, or whose answer cannot be computed, is given to
    `stop`, and the others go on.

    Queries that have engines of their own may be watched: `woken` says then which events they have to read.
    """

    def __init__(self, schema: pa.Schema, columns: StreamColumns, clock: Clock | None, stop: Stop) -> None:
        prefetch(live.read)
        self.schema, self.columns, self.stop = schema, columns, stop
        self.index = WakeIndex(schema, typed=columns.type is not None)
        self.frames = Frames(schema, clock)
        self.members = Members()
        self._computing: set[int] = set()  # those with answers that are computed at once
        self.history = History(pa.schema([]))
        self._next_forget = _EVENTS  # the place in the stream
        self._seconds = 0.0
        self._nobody = DirectState.blank()
        self._stale = True
        self.state = SharedState.blank(
            wake=self.index.tables, cursor=np.zeros(live_layout.CURSOR_SIZE, np.int64), bits=np.zeros(1, np.int64)
        )
        self.runs = KernelRun(self.members, self.state, stop)

    def add(self, name: str, engine: Engine, past: ReleasedRows | None = None) -> int:
        """Begin to run a query, as if it had read the `past` before; returns its number."""
        assert isinstance(engine.matcher, Direct)
        own, kept = protocol.FOREVER, engine.history.schema
        if past is None:
            engine.matcher.state.update(nodes=np.zeros(4 * _FEW_NODES, np.int64), marks=np.zeros(_FEW_NODES, np.int64))
        else:
            own = self._read_past(engine, past)
        self.history.widen(kept)
        if past is not None:
            self.history.replace(past.rows, write_out(past.positions))
        engine.history = self.history
        matcher, frames = engine.matcher, self.frames.of(engine.stream)
        number = self._take_number(frames, newest=own)
        self.members.add(number, name, engine, matcher)
        if frames[0] >= 0:
            engine.stream.keys = self.frames.keys[frames[0]].table
        else:
            matcher.grow_keys(max(0, 1 - len(matcher.state.key_count)))
        matcher.state.mode = protocol.WRITE
        make_room(matcher, _FEW_MATCHES)
        self.index.add(number, engine.compiled, engine.stream.encoder)
        if at_once(engine):
            self._computing.add(number)
        return number

    def watch(self, name: str, engine: Engine, *, newest: int = protocol.FOREVER) -> int:
        """Say which events a query has to read; returns its number. `newest` is the tick of the last event that it has
        read so far and that a match may have begun with."""
        lasts = any(absence.lasting is not None for absence in engine.compiled.trailing)
        expires = not lasts and engine.compiled.query.timeout is None
        number = self._take_number(self.frames.watched(engine.stream, expires=expires), newest=newest)
        self.index.add(number, engine.compiled, engine.stream.encoder)
        self.members.watched[number] = name, engine
        return number

    def _take_number(self, frames: FramesOf, newest: int) -> int:
        number = self.members.take_number(frames)
        if (more := len(self.members.frames_of) - len(self.state.reads)) > 0:
            self.state.update(
                **{name: extend(getattr(self.state, name), more, 0) for name in _COUNTERS},
                newest=extend(self.state.newest, more, protocol.FOREVER),
            )
        self.state.newest[number] = newest
        for name in _COUNTERS:
            getattr(self.state, name)[number] = 0
        self._stale = True
        return number

    def _read_past(self, engine: Engine, past: ReleasedRows) -> int:
        """Let a query read events that came before, alone, so that it stands where the others do; returns the tick of
        the last of them that a match may have begun with."""

        def fail(name: str, error: LimitError | DataError) -> None:
            raise error

        alone = SharedQueries(self.schema, self.columns, self.frames.clock, fail)
        number = alone.add("past", engine)
        alone._computing.clear()  # its matches are not given
        alone.frames.continue_to(self.frames, past.rows)
        alone.follow_keys()
        alone.read(past)
        return int(alone.state.newest[number])

    def remove(self, number: int) -> None:
        self.index.remove(number)
        self.members.remove(number)
        self._computing.discard(number)
        self._stale = True

    def _refresh(self) -> None:
        if not self._stale:
            return
        self._stale = False
        count = len(self.members.frames_of)
        self.index.refresh(count)
        state, slots = self.state, self.members.slots
        state.update(
            queries=StructList(
                slots[number].state if number in slots else self._nobody for number in range(count)
            ),
            frames=np.array(self.members.frames_of, np.int32).reshape(-1, 4),
            idle=np.array([frames[-1] for frames in self.members.frames_of], np.int32),
            stamps=np.zeros(count, np.int64), numbers=np.zeros(count, np.int32), candidates=np.zeros(count, np.int32),
            counts=np.zeros(count, np.int64), ends=np.zeros(count, np.int64), awake=np.zeros(count, np.int32),
            completed=np.zeros(count, np.int32), noted=np.zeros(count, np.int32), out_counts=np.zeros(count, np.int64),
        )  # fmt: skip
        room = max(_PAIRS, 4 * count)
        if len(state.events) < room:
            state.update(
                pair_queries=np.empty(room, np.int32),
                pair_events=np.empty(room, np.int64),
                events=np.empty(room, np.int64),
            )
        frames = self.frames
        reaches, widths = frames.reaches()
        bounded = np.full(len(reaches), MAX_TICK)  # as a float that is NaN, which no time is
        state.update(reaches=reaches, widths=widths, bounded=bounded, bounds=np.zeros(len(reaches), np.int64))
        self._one = Placed(
            np.zeros((len(frames.keys), 1), np.int32),
            np.zeros((len(frames.rulers), 1), np.int64),
            np.zeros((0, 1), np.int64),
        )
        self._one_position = np.zeros(1, np.int64)
        self._classes = EventClasses(self.index, self.columns.type)

    def read(self, released: ReleasedRows) -> list[Answers]:
        """Read rows whose turn has come."""
        begun = time.perf_counter()
        self._refresh()
        rows = released.rows
        self.history.open(rows, released.positions)
        positions = write_out(released.positions)
        if released.order is not None:
            rows, positions = rows.take(pa.array(released.order)), positions[released.order]
        placed = self.frames.place(rows)
        self.state.update(
            types=self._classes.types(rows),
            classes=self._classes.classes(rows),
            keys=placed.keys,
            ticks=placed.ticks,
            lows=placed.lows,
            positions=positions,
        )

        def values(row: int) -> Values:
            return lambda names: [rows[name][row].as_py() for name in names]

        found = self._answers(self.runs.run(self.index, values))
        if self._may_hold_last:
            self.history.close()
        else:
            self.history.drop()
        self._prune()
        self._seconds += time.perf_counter() - begun
        return found

    def read_one(self, values: Mapping[str, Any], kind: str | None, tick: int, position: int) -> list[Answers]:
        """Read one event, by the values of its attributes."""
        begun = time.perf_counter()
        self._refresh()
        one, state, classes = self._one, self.state, self._classes
        classes.see_one(values, kind)
        self.frames.place_one(values, tick, one)
        self._one_position[0] = position
        if state.types is not classes.one_type:
            state.update(
                types=classes.one_type,
                classes=classes.one_class,
                keys=one.keys,
                ticks=one.ticks,
                lows=one.lows,
                positions=self._one_position,
            )
        found = self.runs.run(self.index, lambda row: lambda names: [values[name] for name in names])
        if self._may_hold_last or (found is not None and not self._computing.isdisjoint(found.queries.tolist())):
            self.history.add(position, tuple([values[name] for name in self.history.names]))
        answers = self._answers(found) if found is not None else []
        if self._may_hold_last or self.frames.read >= self._next_forget:
            self._prune()
        self._seconds += time.perf_counter() - begun
        return answers

    def _answers(self, found: Found | None) -> list[Answers]:
        """What was found, as it will be asked for: later, perhaps after queries have come and gone."""
        if found is None or not len(found):
            return []
        history, positions = self.history.frozen(), self.state.positions
        engines, names = self.members.engines, self.members.names
        keys = {number: engines[number].stream.keys for number in engines} if self.frames.keys else {}

        def parts() -> Iterator[tuple[int, QueryMatches]]:
            for number, matches in found.by_query():
                engine = engines[number]
                if engine.notes_completed:
                    matches = replace(matches, completed=positions[matches.origins])
                given = (matches, history, keys.get(number))
                table, rows = partial(engine.table_of, *given), partial(engine.rows_of, *given)
                yield number, QueryMatches(names[number], len(matches), table, rows)

        if self._computing and not self._computing.isdisjoint({*found.queries.tolist(), *found.chunks}):
            computed = [part for number, lazy in parts() if (part := self._compute(number, lazy)) is not None]
            return [Answers(sum(part.count for part in computed), lambda: computed)]
        return [Answers(len(found), lambda: [part for _, part in parts()])]

    def _compute(self, number: int, part: QueryMatches) -> QueryMatches | None:
        """The matches of a query, if what it asks for can be computed; else it is stopped."""
        try:
            return compute(part) if number in self._computing else part
        except DataError as error:
            self.state.matches[number] -= part.count
            self.stop(self.members.names[number], error)
            return None

    def advance(self, tick: int) -> None:
        """Time has reached a tick: forget what has expired, if nothing was read since."""
        if self.frames.advance(tick) and len(self.history.kept_positions):
            self._forget()

    def statistics(self, number: int) -> QueryStatistics:
        state = self.state
        share = float(state.steps[number] + state.reads[number]) / max(1.0, float((state.steps + state.reads).sum()))
        size = self.members.slots[number].bytes if number in self.members.slots else 0
        return QueryStatistics(int(state.reads[number]), int(state.matches[number]), size, self._seconds * share)

    def counters(self, number: int) -> dict[str, int]:
        """What is counted of a query."""
        self._refresh()
        return {name: int(getattr(self.state, name)[number]) for name in (*_COUNTERS, "newest")}

    def set_counters(self, number: int, counted: Mapping[str, int]) -> None:
        self._refresh()
        for name in _COUNTERS:
            getattr(self.state, name)[number] = counted.get(name, 0)
        self.state.newest[number] = counted.get("newest", protocol.FOREVER)

    def follow_keys(self) -> None:
        """Let all queries see the key tables that the frames have now."""
        for number, engine in self.members.engines.items():
            if (frame := self.members.frames_of[number][0]) >= 0:
                engine.stream.keys = self.frames.keys[frame].table

    def names(self) -> list[str]:
        """The attributes that events are read by."""
        self._refresh()
        keys = [name for frame in self.frames.keys for name in frame.columns]
        return [*self.index.read_names(), *keys, *self.history.names]

    def migrate_schema(self, schema: pa.Schema) -> None:
        """Go on with types for columns that held only NULL so far."""
        self.schema = self.frames.schema = schema
        self.history.migrate_schema(pa.schema([schema.field(name) for name in self.history.names]))
        for engine in self.members.engines.values():
            engine.migrate_types(schema, rows=False)
        self._computing = {number for number, engine in self.members.engines.items() if at_once(engine)}
        index = WakeIndex(schema, typed=self.columns.type is not None)
        watched = ((number, engine) for number, (_, engine) in self.members.watched.items())
        for number, engine in (*self.members.engines.items(), *watched):
            index.add(number, engine.compiled, engine.stream.encoder)
        self.index, self.state.wake = index, index.tables
        self._stale = True

    def _prune(self) -> None:
        """Forget what can no longer matter, from time to time."""
        if self.history.crowded or self.frames.read >= self._next_forget:
            self._forget()

    def restart(self, read: int) -> None:
        """Go on where so many events have been read."""
        self.frames.restart(read)
        self._next_forget = read + _EVENTS

    def forget(self) -> None:
        """Forget all that can no longer matter."""
        self._forget(fewest_keys=1)

    def expiry(self) -> int | None:
        """The tick of time at which all partial matches have expired that a window of time bounds; None: there are
        none."""
        ticks: list[int] = []
        for number, engine in self.members.engines.items():
            newest, ruler = int(self.state.newest[number]), engine.stream.ruler
            window = engine.compiled.query.window
            if engine.matcher.live and window is not None and ruler is not None and newest != protocol.FOREVER:
                ticks.append(first_beyond(ruler, newest, window.amount))
        return max(ticks, default=None)

    def _forget(self, fewest_keys: int = _MANY_KEYS) -> None:
        frames, engines, slots = self.frames, self.members.engines, self.members.slots
        for number in engines:
            matcher, (key, _, low, _) = slots[number], self.members.frames_of[number]
            if matcher.state.window == protocol.EVENT_WINDOW:
                counts = matcher.state.key_count
                if key < 0:
                    counts[0] = frames.read
                else:
                    known = min(len(counts), len(frames.keys[key].counts))
                    counts[:known] = frames.keys[key].counts[:known]
            matcher.compact(frames.lowest(low))
            if len(matcher.state.ends) > _MANY_MATCHES:
                make_room(matcher, _FEW_MATCHES)
        self._forget_keys(fewest_keys)
        for number in engines:
            slots[number].give_back_nodes(_FEW_NODES)
        self._next_forget = frames.read + _EVENTS
        live = (slots[number].live_positions() for number in engines)
        self.history.keep(np.unique(np.concatenate([np.zeros(0, np.int64), *live])))
        self.history.next_prune = max(self.history.next_prune, _ROWS_PER_QUERY * len(engines))

    def _forget_keys(self, fewest: int) -> None:
        """Forget keys without partial matches, once there are many and most have none."""
        for place, frame in enumerate(self.frames.keys):
            known = frame.table.size
            own = self.members.in_frame(place)
            if known < fewest or not own:
                continue
            live_keys = np.zeros(known, np.bool_)
            for number in own:
                found = self.members.slots[number].live_keys()[:known]
                live_keys[: len(found)] |= found
            kept = np.flatnonzero(live_keys)
            if 2 * len(kept) > known:
                continue
            for number in own:
                matcher = self.members.slots[number]
                matcher.grow_keys(max(0, known - len(matcher.state.key_count)))
                matcher.keep_keys(kept)
            frame.keep(kept)
        self.follow_keys()

    @property
    def _may_hold_last(self) -> bool:
        """Whether a later match may contain one of the events just read."""
        return bool(self.state.cursor[live_layout.HELD])
