"""Drives the kernels: owns their arrays, answers their requests for steps and room, hands out chunks of matches.

There is a matcher for each kernel: direct.py, replay.py, ranked.py and correlated.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ostinato.core.arrays import Bools, Int32, Int64
from ostinato.core.jit import prefetch
from ostinato.core.jit.array_struct import ArrayStruct
from ostinato.patterns.automata.determinise import Config
from ostinato.patterns.automata.tables import PlacedConfiguration, StepTables
from ostinato.patterns.kernels import protocol
from ostinato.patterns.kernels.layout import MatcherState, SteppedState, Steps
from ostinato.patterns.limits import Limits
from ostinato.patterns.runtime.batches import Chunk, Events
from ostinato.patterns.runtime.register_terms import TermEncoder

Meta = dict[str, Any]
Arrays = dict[str, npt.NDArray[Any]]

_NO_CODES: Int32 = np.zeros(0, np.int32)
_NONE: Int64 = np.zeros(0, np.int64)
_STEPS = 1 << 22  # of a kernel at a time, some hundredths of a second: then Python looks at signals and the clock
_FEW_VALUES = 1 << 10  # marked events, and matches, of one event; more are given in chunks
_CHUNK_VALUES = 1 << 20  # marked events per chunk of output; more when one match is longer


@dataclass(frozen=True)
class Scope:
    """How far a match may reach, what is forgotten after one, and how much may be used."""

    window: int
    width: int
    consume: int
    limits: Limits


class Matcher(ABC):
    """State of all keys for one query, whatever kernel reads the events."""

    KEYED: ClassVar[tuple[str, ...]] = ("key_count",)  # arrays with a row per key
    ARRAYS: ClassVar[tuple[str, ...]] = ("cursor", *KEYED)  # what a snapshot must hold
    STATE: ClassVar[type[MatcherState]]
    KERNEL: Any  # which runs first, with this state
    HELPERS: ClassVar[tuple[Any, ...]]  # which may run after it
    state: MatcherState

    def __init__(self, scope: Scope, **fields: Any) -> None:
        """`fields` are those of STATE that not all kernels have."""
        prefetch(self.KERNEL)
        self.scope = scope
        self.walked: int | None = 0
        self.undecided = False  # whether CONSUME_ASK, or too many of them, leave it to others which matches count
        self.one = Events(
            np.zeros(1, np.int32), np.zeros(1, np.int32), 1, *(np.zeros(1, np.int64), 0), *np.zeros((2, 1), np.int64)
        )
        cursor = np.zeros(protocol.CURSOR_SIZE, np.int64)
        cursor[protocol.FREE] = protocol.NIL
        self.state = self.STATE(
            codes=_NO_CODES,
            keys=_NO_CODES,
            positions=_NONE,
            first_position=0,
            ticks=_NONE,
            lows=_NONE,
            window=scope.window,
            width=scope.width,
            consume=scope.consume,
            mode=protocol.NOTICE,
            cursor=cursor,
            fuel=np.zeros(2, np.int64),
            key_count=np.zeros(0, np.int64),
            nodes=np.zeros(4 << 12, np.int64),
            marks=np.zeros(1 << 12, np.int64),
            stack=np.zeros(256, np.int64),
            path=np.zeros(128, np.int64),
            values=_NONE,
            ends=_NONE,
            origins=_NONE,
            **fields,
        )

    def run(self, events: Events, mode: int = protocol.WRITE, patience: int | None = None) -> Iterator[Chunk]:
        """Read a batch; yields matches as output fills up. In WALK mode nothing is written, see `walked`: None where
        that took more than `patience` steps, and then nothing more can be read."""
        state = self.state
        if events.key_count > len(state.key_count):
            self.grow_keys(max(events.key_count - len(state.key_count), len(state.key_count)))
        self.show(events, mode)
        cursor = state.cursor
        cursor[protocol.AT] = 0
        if mode == protocol.WRITE and not len(state.ends):
            self.replace_output(_CHUNK_VALUES, _CHUNK_VALUES)
        return self._go_on(events, mode, patience)

    def _go_on(self, events: Events, mode: int, patience: int | None, stopped: int | None = None) -> Iterator[Chunk]:
        """Read what is left of a batch, from where the kernel `stopped` with a status, if it was called already."""
        state, cursor = self.state, self.state.cursor
        clock = self.scope.limits.clock()
        while True:
            if stopped is None:
                state.fuel[protocol.FUEL] = _STEPS
                status = self.call()
            else:
                status, stopped = stopped, None
            clock.check()
            if self.scope.consume == protocol.CONSUME_ASK and mode == protocol.WRITE:
                if status == protocol.OUTPUT_FULL:  # the matches of an event are given together
                    self._grow_output()
                    continue
                if status == protocol.COMPLETED:
                    self.undecided = True
                    yield self.take_output()
                    self.undecided = False
                    clock = self.scope.limits.clock()
                    continue
            if status not in (protocol.DONE, protocol.OUTPUT_FULL):
                if status != protocol.PAUSED:
                    self.provide(status, events)
                elif patience is not None and (patience := patience - _STEPS) < 0:
                    self.walked = None
                    return
                continue
            count, used = int(cursor[protocol.MATCHES]), int(cursor[protocol.VALUES])
            if mode == protocol.WRITE and (count or status != protocol.DONE):
                values, ends, origins = state.values[:used], state.ends[:count], state.origins[:count]
                # Full: a fresh output, large enough for the match that did not fit.
                room = max(len(state.values), 2 * int(cursor[protocol.PENDING]) if count == 0 else 0)
                self.replace_output(*(0, 0) if status == protocol.DONE else (room, len(state.ends)))
                cursor[protocol.MATCHES] = cursor[protocol.VALUES] = 0
                if count:
                    yield Chunk(values, np.concatenate([np.zeros(1, np.int64), ends]), origins)
                    clock = self.scope.limits.clock()  # what the reader does with them takes its own time
            if status == protocol.DONE:
                break
        self.walked = int(cursor[protocol.MATCHES]) if mode == protocol.WALK else 0
        cursor[protocol.MATCHES] = cursor[protocol.VALUES] = 0

    def run_one(self, code: int, key: int, position: int, tick: int, low: int) -> Sequence[Chunk]:
        """Read one event, which costs less than a batch of one. Its terms, if there are any, are in `one`."""
        state, one = self.state, self.one
        if key >= len(state.key_count):
            self.grow_keys(max(key + 1 - len(state.key_count), len(state.key_count)))
        one.codes[0], one.keys[0], one.positions[0], one.ticks[0], one.lows[0] = code, key, position, tick, low
        if state.codes is not one.codes:
            self.show(one, protocol.WRITE)
        return self._read_few(one)

    def run_few(self, events: Events) -> Sequence[Chunk]:
        """Read a small batch, which costs less than `run` does."""
        state = self.state
        if events.key_count > len(state.key_count):
            self.grow_keys(max(events.key_count - len(state.key_count), len(state.key_count)))
        self.show(events, protocol.WRITE)
        return self._read_few(events)

    def _read_few(self, events: Events) -> Sequence[Chunk]:
        state, cursor = self.state, self.state.cursor
        if not len(state.ends):
            self.replace_output(_FEW_VALUES, _FEW_VALUES)
        cursor[protocol.AT] = 0
        state.fuel[protocol.FUEL] = _STEPS
        status = self.call()
        if status == protocol.DONE:
            return (self.take_output(),) if cursor[protocol.MATCHES] else ()
        return list(self._go_on(events, protocol.WRITE, None, status))

    def may_hold_last(self, live: int) -> bool:
        """Whether a later match may contain the event that `run_one` read; before it, `live` nodes were in use."""
        return True

    def show(self, events: Events, mode: int) -> None:
        """Let the kernel see a batch, and what to do with its matches."""
        self.state.update(
            codes=events.codes,
            keys=events.keys,
            positions=events.positions,
            first_position=events.first_position,
            ticks=events.ticks,
            lows=events.lows,
            mode=mode,
        )

    def _grow_output(self) -> None:
        """More room behind what was written, for the match that did not fit."""
        state = self.state
        state.values = np.concatenate([state.values, np.empty(len(state.values) + len(state.path), np.int64)])
        state.ends, state.origins = double(state.ends), double(state.origins)
        self.scope.limits.check_memory(self.bytes + state.values.nbytes)
        self.scope.limits.check_matches(int(state.cursor[protocol.MATCHES]))

    def take_output(self) -> Chunk:
        """A copy of what was written, which is not output any more."""
        state, cursor = self.state, self.state.cursor
        count, used = int(cursor[protocol.MATCHES]), int(cursor[protocol.VALUES])
        cursor[protocol.MATCHES] = cursor[protocol.VALUES] = 0
        offsets = np.concatenate([np.zeros(1, np.int64), state.ends[:count]])
        return Chunk(state.values[:used].copy(), offsets, state.origins[:count].copy())

    def replace_output(self, values: int, matches: int) -> None:
        """Room for so many marked events and matches; what was written is another's now."""
        state = self.state
        state.values = np.empty(values, np.int64)
        state.ends, state.origins = np.empty(matches, np.int64), np.empty(matches, np.int64)

    @abstractmethod
    def call(self) -> int:
        """One kernel call; returns its status."""

    def provide(self, status: int, events: Events) -> None:
        """What a kernel stopped for, so that it can go on."""
        if status == protocol.NEED_NODES:
            self.grow_nodes()
        else:
            assert status == protocol.NEED_STACK
            self.state.stack, self.state.path = double(self.state.stack), double(self.state.path)

    def migrate_terms(self, terms: TermEncoder | None) -> None:
        """Columns that held only NULL have types now: that matters only where terms are compared."""
        assert terms is None

    @abstractmethod
    def live_positions(self) -> Int64:
        """Positions of the events that a later match may still contain, in any order, some perhaps repeated."""

    @abstractmethod
    def compact(self, low: int) -> None:
        """Reclaim what can no longer matter; `low` is the window's current lower bound in ticks."""

    @abstractmethod
    def live_keys(self) -> Bools:
        """Which keys have partial matches, as far as `compact` could tell."""

    def keep_keys(self, kept: Int64) -> None:
        """Forget all keys but these, which are numbered anew in this order."""
        for name in self.KEYED:
            self.set_array(name, self.array(name)[kept])

    @abstractmethod
    def drop_keys(self, keys: Int64) -> None:
        """Drop the partial matches of keys of which no event will be read any more."""

    @property
    def kernels(self) -> tuple[Any, ...]:
        """All that may run."""
        return (self.KERNEL, *self.HELPERS)

    @property
    @abstractmethod
    def live(self) -> int:
        """Nodes (or window records) in use, some of them perhaps already dead."""

    @property
    @abstractmethod
    def states(self) -> int:
        """Configurations met."""

    @property
    def bytes(self) -> int:
        names = {*self.ARRAYS, "nodes", "marks"}
        return sum(self.array(name).nbytes for name in names)

    def grow_keys(self, more: int) -> None:
        self.state.key_count = extend(self.state.key_count, more, 0)

    def grow_nodes(self) -> None:
        self.state.nodes, self.state.marks = double(self.state.nodes), np.zeros(2 * len(self.state.marks), np.int64)
        self.scope.limits.check_memory(self.bytes)

    def used_nodes(self) -> Int64:
        return self.state.nodes[: 4 * int(self.state.cursor[protocol.USED])]

    # -- snapshots

    def struct_of(self, name: str) -> tuple[ArrayStruct, str]:
        """Where an array of ARRAYS is: a struct, and the field's name in it."""
        return self.state, name

    def array(self, name: str) -> npt.NDArray[Any]:
        struct, field = self.struct_of(name)
        found: npt.NDArray[Any] = getattr(struct, field)
        return found

    def set_array(self, name: str, array: npt.NDArray[Any]) -> None:
        struct, field = self.struct_of(name)
        setattr(struct, field, array)

    def save(self) -> tuple[Meta, Arrays]:
        arrays = {name: self.array(name) for name in self.ARRAYS}
        if "nodes" in arrays:
            arrays["nodes"] = self.used_nodes()
        return {}, arrays

    def load(self, meta: Meta, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        for name in self.ARRAYS:
            if name != "nodes":
                self.set_array(name, arrays[name])
        if "nodes" in self.ARRAYS:
            self.load_nodes(arrays["nodes"])

    def load_nodes(self, used: Int64) -> None:
        state = self.state
        while len(state.nodes) < 2 * len(used) or len(state.marks) < 2 * len(state.key_count):
            self.grow_nodes()
        self.used_nodes()[:] = used


class Stepped(Matcher):
    """Reads events by the steps of a lazily determinised machine."""

    KEYED = (*Matcher.KEYED, "key_epoch")
    ARRAYS = ("cursor", *KEYED)
    state: SteppedState

    def __init__(self, tables: StepTables, scope: Scope, rows: int, **fields: Any) -> None:
        """`rows` is how many rows of slots there are before there are keys."""
        self.tables = tables
        super().__init__(scope, key_epoch=np.zeros(0, np.int64), steps=new_steps(tables, rows), **fields)

    def provide(self, status: int, events: Events) -> None:
        if status == protocol.NEED_STEP:
            cursor = self.state.cursor
            self.tables.fill(int(cursor[protocol.CONFIG]), int(cursor[protocol.CODE]))
            self.follow_tables()
        else:
            super().provide(status, events)

    def follow_tables(self) -> None:
        """Follow the tables after they grew: more steps, more slots per key, more codes."""
        follow_tables(self.state.steps, self.tables)

    @property
    def states(self) -> int:
        return len(self.tables.placed)

    def grow_keys(self, more: int) -> None:
        super().grow_keys(more)
        self.state.key_epoch = extend(self.state.key_epoch, more, self.state.cursor[protocol.EPOCH])

    def drop_keys(self, keys: Int64) -> None:
        self.state.key_epoch[keys] = -1  # no epoch: what they have counts as forgotten

    def save(self) -> tuple[Meta, Arrays]:
        meta, arrays = super().save()
        return meta | {"placed": placed_to_json(self.tables)}, arrays

    def load(self, meta: Meta, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        numbers = place_all(self.tables, meta["placed"])
        super().load(meta, self.follow_placing(numbers, meta["placed"], arrays))
        self.follow_tables()

    def follow_placing(
        self, numbers: Sequence[int], saved: list[Any], arrays: Mapping[str, npt.NDArray[Any]]
    ) -> Mapping[str, npt.NDArray[Any]]:
        """The arrays of a snapshot, for tables in which its configurations may have other numbers and slots."""
        assert list(numbers) == list(range(len(saved)))  # tables that hold nothing else yet
        return arrays


def new_steps(tables: StepTables, rows: int) -> Steps:
    """The steps of a machine, with so many rows of empty slots."""
    return Steps(slots=np.full((rows, tables.width), protocol.NIL, np.int32), **_step_arrays(tables))


def follow_tables(steps: Steps, tables: StepTables) -> None:
    """Follow tables that grew."""
    steps.update(slots=widen(steps.slots, tables.width), **_step_arrays(tables))


def _step_arrays(tables: StepTables) -> dict[str, Any]:
    return {
        "entries": tables.entries,
        "stride": tables.stride,
        "ops": tables.ops.array,
        "emits": tables.emits.array,
        "slot_ends": tables.slot_ends.array.ravel(),
        "slot_list": tables.slot_list.array.ravel(),
        "fresh": np.zeros(2 * tables.width, np.int32),
    }


def placed_to_json(tables: StepTables) -> list[Any]:
    return [[placed.config, placed.slots] for placed in tables.placed]


def place_all(tables: StepTables, saved: list[Any]) -> list[int]:
    """Give the configurations of a snapshot their old numbers and slots, where they are new; returns their numbers."""
    numbers: list[int] = []
    for cells, slots in saved:
        config: Config = tuple(tuple(cell) for cell in cells)
        numbers.append(tables.place(PlacedConfiguration(config, tuple(slots))))
    return numbers


def double(array: Any) -> Any:
    """Twice as many rows; the new ones hold zeros."""
    return np.concatenate([array, np.zeros_like(array)])


def extend(array: Any, more: int, value: Any) -> Any:
    """`more` further rows of one value."""
    return np.concatenate([array, np.full((more, *array.shape[1:]), value, array.dtype)])


def widen(array: Any, columns: int) -> Any:
    """At least so many columns; new ones hold no list."""
    more = columns - array.shape[1]
    return array if more <= 0 else np.pad(array, ((0, 0), (0, more)), constant_values=protocol.NIL)
