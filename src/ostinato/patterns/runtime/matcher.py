"""Drives the kernels: owns their arrays, answers their requests for steps and room, hands out chunks of matches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ostinato.core.arrays import Bools, Int32, Int64
from ostinato.patterns.automata.determinise import Config
from ostinato.patterns.automata.tables import PlacedConfiguration, StepTables
from ostinato.patterns.kernels import match, protocol
from ostinato.patterns.limits import Limits
from ostinato.patterns.runtime.register_terms import TermEncoder

Meta = dict[str, Any]
Arrays = dict[str, npt.NDArray[Any]]

_CHUNK_VALUES = 1 << 20  # marked events per chunk of output; more when one match is longer


@dataclass(frozen=True)
class Events:
    """One batch as the kernels see it. Empty arrays mean: one key, rows as they come, no ticks needed."""

    codes: Int32
    keys: Int32
    key_count: int
    positions: Int64
    first_position: int
    ticks: Int64
    lows: Int64
    # Only where a pattern compares events with each other: a row of values per term, and where there is one.
    terms: Int64 = field(default_factory=lambda: np.zeros((1, 0), np.int64))
    present: Bools = field(default_factory=lambda: np.zeros((1, 0), np.bool_))

    def pick(self, places: Int64) -> Events:
        """The events at these places."""
        given = {
            name: getattr(self, name)[places]
            for name in ("codes", "keys", "positions", "ticks", "lows")
            if len(getattr(self, name))
        }
        if self.terms.shape[1]:
            given |= {"terms": self.terms[:, places], "present": self.present[:, places]}
        return replace(self, **given)


@dataclass(frozen=True)
class Chunk:
    """Complete matches: `offsets` cut `values` (position << 8 | symbol); `origins` index the completing events."""

    values: Int64
    offsets: Int64
    origins: Int64

    def __len__(self) -> int:
        return len(self.origins)


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

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.walked = 0
        self.cursor: Int64 = np.zeros(protocol.CURSOR_SIZE, np.int64)
        self.cursor[protocol.FREE] = protocol.NIL
        self.key_count: Int64 = np.zeros(0, np.int64)
        self.nodes: Int64 = np.zeros(4 << 12, np.int64)
        self.marks: Int64 = np.zeros(1 << 12, np.int64)
        self.stack: Int64 = np.zeros(256, np.int64)
        self.path: Int64 = np.zeros(128, np.int64)

    def run(self, events: Events, mode: int = protocol.WRITE) -> Iterator[Chunk]:
        """Read a batch; yields matches as output fills up. In WALK mode nothing is written, see `walked`."""
        if events.key_count > len(self.key_count):
            self.grow_keys(max(events.key_count - len(self.key_count), len(self.key_count)))
        cursor = self.cursor
        cursor[protocol.AT] = 0
        room = _CHUNK_VALUES if mode == protocol.WRITE else 0
        values, ends, origins = (np.empty(room, np.int64) for _ in range(3))
        while True:
            status = self.call(events, mode, values, ends, origins)
            if status not in (protocol.DONE, protocol.OUTPUT_FULL):
                self.provide(status, events)
                continue
            count, used = int(cursor[protocol.MATCHES]), int(cursor[protocol.VALUES])
            if mode == protocol.WRITE and count:
                offsets = np.concatenate([np.zeros(1, np.int64), ends[:count]])
                yield Chunk(values[:used], offsets, origins[:count])
            if status == protocol.DONE:
                break
            # Full: a fresh output, large enough for the match that did not fit.
            room = max(room, 2 * int(cursor[protocol.PENDING]) if count == 0 else 0)
            values, ends, origins = (
                np.empty(room, np.int64),
                np.empty(len(ends), np.int64),
                np.empty(len(ends), np.int64),
            )
            cursor[protocol.MATCHES] = cursor[protocol.VALUES] = 0
        self.walked = int(cursor[protocol.MATCHES]) if mode == protocol.WALK else 0
        cursor[protocol.MATCHES] = cursor[protocol.VALUES] = 0

    @abstractmethod
    def call(self, events: Events, mode: int, values: Int64, ends: Int64, origins: Int64) -> int:
        """One kernel call; returns its status."""

    def provide(self, status: int, events: Events) -> None:
        """What a kernel stopped for, so that it can go on."""
        if status == protocol.NEED_NODES:
            self.grow_nodes()
        else:
            assert status == protocol.NEED_STACK
            self.stack, self.path = doubled(self.stack), doubled(self.path)

    def adopt(self, terms: TermEncoder | None) -> None:
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
            setattr(self, name, getattr(self, name)[kept])

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
        return sum(getattr(self, name).nbytes for name in names)

    def grow_keys(self, more: int) -> None:
        self.key_count = extended(self.key_count, more, 0)

    def grow_nodes(self) -> None:
        self.nodes, self.marks = doubled(self.nodes), np.zeros(2 * len(self.marks), np.int64)
        self.scope.limits.check_memory(self.bytes)

    def used_nodes(self) -> Int64:
        return self.nodes[: 4 * int(self.cursor[protocol.USED])]

    def call_arguments(self, events: Events, mode: int) -> list[Any]:
        """What all kernels begin with."""
        arguments: list[Any] = [events.codes, events.keys, events.positions, events.first_position]
        return [*arguments, events.ticks, events.lows, self.scope.window, self.scope.width, self.scope.consume, mode]

    # -- snapshots

    def save(self) -> tuple[Meta, Arrays]:
        arrays = {name: getattr(self, name) for name in self.ARRAYS}
        if "nodes" in arrays:
            arrays["nodes"] = self.used_nodes()
        return {}, arrays

    def load(self, meta: Meta, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        for name in self.ARRAYS:
            if name != "nodes":
                setattr(self, name, arrays[name])
        if "nodes" in self.ARRAYS:
            self.load_nodes(arrays["nodes"])

    def load_nodes(self, used: Int64) -> None:
        while len(self.nodes) < 2 * len(used) or len(self.marks) < 2 * len(self.key_count):
            self.grow_nodes()
        self.used_nodes()[:] = used


class Stepped(Matcher):
    """Reads events by the steps of a lazily determinised machine."""

    KEYED = (*Matcher.KEYED, "key_epoch")
    ARRAYS = ("cursor", *KEYED)

    def __init__(self, tables: StepTables, scope: Scope) -> None:
        super().__init__(scope)
        self.tables = tables
        self.key_epoch: Int64 = np.zeros(0, np.int64)
        self.fresh: Int32 = np.zeros(2, np.int32)

    def provide(self, status: int, events: Events) -> None:
        if status == protocol.NEED_STEP:
            self.tables.fill(int(self.cursor[protocol.CONFIG]), int(self.cursor[protocol.CODE]))
            self.follow_tables()
        else:
            super().provide(status, events)

    @abstractmethod
    def follow_tables(self) -> None:
        """Follow the tables after they grew: more slots per key, more codes."""

    @property
    def states(self) -> int:
        return len(self.tables.placed)

    def grow_keys(self, more: int) -> None:
        super().grow_keys(more)
        self.key_epoch = extended(self.key_epoch, more, self.cursor[protocol.EPOCH])

    def save(self) -> tuple[Meta, Arrays]:
        meta, arrays = super().save()
        return meta | {"placed": placed_as_json(self.tables)}, arrays

    def load(self, meta: Meta, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        place_all(self.tables, meta["placed"])
        super().load(meta, arrays)
        self.follow_tables()


class Direct(Stepped):
    """ALL, STRICT, and any strategy without a window: the machine reads every event once."""

    KEYED = (*Stepped.KEYED, "key_config", "slots")
    ARRAYS = ("cursor", *KEYED, "nodes")

    def __init__(self, tables: StepTables, scope: Scope) -> None:
        super().__init__(tables, scope)
        self.key_config: Int32 = np.zeros(0, np.int32)
        self.slots: Int32 = np.full((0, 1), protocol.NIL, np.int32)
        self.follow_tables()

    def call(self, events: Events, mode: int, values: Int64, ends: Int64, origins: Int64) -> int:
        tables = self.tables
        arguments = [*self.call_arguments(events, mode), self.key_config, *self._keys(), self.fresh]
        arguments += [tables.entries, tables.stride, tables.ops.array, tables.emits.array, *layout(tables)]
        arguments += [self.nodes, self.marks, self.cursor, self.stack, self.path, values, ends, origins]
        return match.run(*arguments)

    def _keys(self) -> list[Any]:
        return [self.key_epoch, self.key_count, self.slots.ravel(), self.slots.shape[1]]

    def follow_tables(self) -> None:
        self.slots = widened(self.slots, self.tables.width)
        self.fresh = np.zeros(2 * self.tables.width, np.int32)

    def grow_keys(self, more: int) -> None:
        super().grow_keys(more)
        self.key_config = extended(self.key_config, more, 0)
        self.slots = extended(self.slots, more, protocol.NIL)
        # Collecting visits every key, so there must be work enough between two collections.
        while len(self.marks) < 2 * len(self.key_epoch):
            self.grow_nodes()

    def live_positions(self) -> Int64:
        values = self.used_nodes()[::4]
        return values[values >= 0] >> protocol.SYMBOL_BITS

    def compact(self, low: int) -> None:
        arguments: list[Any] = [self.nodes, self.marks, self.cursor, self.key_config, *self._keys()]
        arguments += [*layout(self.tables), self.scope.window, self.scope.width, low]
        match.collect(*arguments)

    def live_keys(self) -> Bools:
        live: Bools = np.zeros(len(self.key_epoch), np.bool_)
        arguments: list[Any] = [self.cursor, self.key_config, self.key_epoch, self.slots.ravel(), self.slots.shape[1]]
        arguments += [*layout(self.tables), self.scope.window, live]
        match.find_live(*arguments)
        return live

    @property
    def live(self) -> int:
        return int(self.cursor[protocol.USED])


def layout(tables: StepTables) -> list[Any]:
    return [tables.slot_ends.array.ravel(), tables.slot_list.array.ravel()]


def placed_as_json(tables: StepTables) -> list[Any]:
    return [[placed.config, placed.slots] for placed in tables.placed]


def place_all(tables: StepTables, saved: list[Any]) -> None:
    """Give the configurations of a snapshot their old numbers and slots."""
    for cells, slots in saved:
        config: Config = tuple(tuple(cell) for cell in cells)
        tables.place(PlacedConfiguration(config, tuple(slots)))


def doubled(array: Any) -> Any:
    return np.concatenate([array, np.zeros_like(array)])


def extended(array: Any, more: int, value: Any) -> Any:
    """`more` further rows of one value."""
    return np.concatenate([array, np.full((more, *array.shape[1:]), value, array.dtype)])


def widened(array: Any, columns: int) -> Any:
    """At least so many columns; new ones hold no list."""
    more = columns - array.shape[1]
    return array if more <= 0 else np.pad(array, ((0, 0), (0, more)), constant_values=protocol.NIL)
