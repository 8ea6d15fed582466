"""What tells matches apart, as columns of the answer: `match_id`, `start` and `end`, and when the match is known.

An id is made of what the query means and of the content of the events that the answer shows, so it is the same however
the stream is cut, spread over machines, or read again. patterns/semantics/identity.py says what it is made of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import repeat
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int64, UInt64
from ostinato.core.clock import MIN_TICK, SECOND, Clock, to_ordered_ints
from ostinato.core.columns.value_hashes import SEEDS, hash_values, take_in
from ostinato.core.events import StreamColumns
from ostinato.errors import Message, Option, QueryError
from ostinato.patterns.compile import CompiledPattern
from ostinato.patterns.plan.required_columns import required_attributes
from ostinato.patterns.runtime.absence import NEVER
from ostinato.patterns.runtime.history import History
from ostinato.patterns.runtime.matches import Matches
from ostinato.patterns.syntax.format import to_text

MATCH_ID, START, END, KNOWN = "match_id", "start", "end", "known"
_DIGITS = np.frombuffer(b"0123456789abcdef", np.uint8)
_DENSE = 4  # positions in a range of so many times their number are looked up in a table


def may_be_known_later(compiled: CompiledPattern) -> bool:
    """Whether an answer may be known later than its last event: where matches wait, or where the event that completes
    them is not shown."""
    return bool(compiled.trailing) or compiled.hides_variables


def names_added(compiled: CompiledPattern) -> list[str]:
    """The columns that the answer to a query gets."""
    times = [] if compiled.query.items is None else [START, END]
    return [*times, *([KNOWN] if may_be_known_later(compiled) else []), MATCH_ID]


class Ordinals:
    """Counts matches of the same content, which events that are alike make: they end at the same time, and all others
    are forgotten."""

    def __init__(self) -> None:
        self.tick = MIN_TICK
        self.counts: dict[bytes, int] = {}

    def count(self, ids: UInt64, ticks: Int64) -> Int64:
        """How many matches of the same id, which ends at these ticks, there were before each of these."""
        size = ids.shape[1]
        found: Int64 = np.zeros(size, np.int64)
        if not size:
            return found
        order = np.lexsort(ids)
        new = np.ones(size, np.bool_)
        new[1:] = (np.diff(ids[:, order], axis=1) != 0).any(axis=0)
        if not new.all():
            starts = np.flatnonzero(new)
            found[order] = np.arange(size) - np.repeat(starts, np.diff(np.append(starts, size)))
        if self.counts:
            again = np.flatnonzero(ticks == self.tick)
            keys = _as_keys(ids[:, again])
            found[again] += np.fromiter(map(self.counts.get, keys, repeat(0)), np.int64, len(keys))
        newest = int(ticks.max())
        if newest > self.tick:
            self.tick, self.counts = newest, {}
        last = np.flatnonzero(ticks == self.tick)
        last = last[np.argsort(found[last], kind="stable")]  # the last of each id has the highest count
        self.counts.update(zip(_as_keys(ids[:, last]), (found[last] + 1).tolist(), strict=True))
        return found

    def save(self) -> dict[str, Any]:
        return {"tick": self.tick, "counts": {key.hex(): count for key, count in self.counts.items()}}

    def load(self, saved: Mapping[str, Any] | None) -> None:
        """What `save` gave; None: nothing was counted."""
        self.tick = saved["tick"] if saved is not None else MIN_TICK
        self.counts = {bytes.fromhex(key): count for key, count in saved["counts"].items()} if saved is not None else {}


@dataclass(frozen=True)
class Identity:
    """For answers of one query over one stream. `content` are the columns that identify an event, first its time; there
    are none but the position where the stream has no time."""

    compiled: CompiledPattern
    clock: Clock | None
    content: tuple[str, ...]

    @staticmethod
    def of(
        compiled: CompiledPattern, schema: pa.Schema, binding: StreamColumns, clock: Clock | None, more: Sequence[str]
    ) -> Identity:
        """`more` are columns that identify events beside those that the query reads."""
        if clock is None or binding.time is None:
            return Identity(compiled, None, ())
        first = [binding.time, *([binding.type] if binding.type is not None else [])]
        read = sorted({*required_attributes(compiled.query), *more} & {*schema.names} - {*first})
        return Identity(compiled, clock, (*first, *read))

    def check_names(self, names: Sequence[str]) -> None:
        """Raise QueryError where the answer has a column of such a name already."""
        own = names_added(self.compiled)
        for name in names:
            if name in own:
                raise QueryError(
                    Message("with ", Option("identity", True), f" the answer has a column `{name}` of its own"),
                    fix="rename the column in the data" if self.compiled.query.items is None else "rename it with AS",
                )

    def add_to(self, table: pa.Table, matches: Matches, history: History, ordinals: Ordinals) -> pa.Table:
        """The answer to some matches with the columns that tell them apart."""
        shown, labels = self._shown(matches)
        offsets = matches.offsets if shown is None else np.append(0, np.cumsum(shown))[matches.offsets]
        positions = matches.positions if shown is None else matches.positions[shown]
        empty = offsets[:-1] == offsets[1:]
        edges = [np.where(empty, 0, offsets[:-1]), np.where(empty, 0, offsets[1:] - 1)]
        places = [positions[edge] if len(positions) else np.zeros(len(edge), np.int64) for edge in edges]
        times = [self._times(each, empty, history) for each in places]
        for name, values in zip((START, END), times, strict=True):
            if name not in table.column_names:
                table = table.append_column(name, values)
        ids = self._content(positions, labels, offsets, matches, history)
        last = times[1]
        if may_be_known_later(self.compiled):
            known = self._known(matches, history)
            table = table.append_column(KNOWN, known)
            if self.compiled.hides_variables:  # so that alike are only those that are known at once
                ids, last = take_in(ids, hash_values(known)), known
        counted = np.zeros(len(matches), np.int64)
        if self.clock is not None:
            there = last.is_valid()
            there_too = np.asarray(there.to_numpy(zero_copy_only=False), bool)
            counted[there_too] = ordinals.count(ids[:, there_too], self.clock.ticks(last.filter(there)))
        return table.append_column(MATCH_ID, _as_text(take_in(ids, counted.view(np.uint64))))

    def _shown(self, matches: Matches) -> tuple[Any, UInt64]:
        """Which of the marked events the answer shows (None: all), and hashes of the names by which it shows them."""
        names = self._names
        if self.compiled.query.items is None:
            return None, np.repeat(names[:, :1], len(matches.positions), axis=1)
        symbols = np.where(matches.symbols < names.shape[1], matches.symbols, 0)
        shown = symbols > 0
        return (None if shown.all() else shown), names[:, symbols[shown]]

    @cached_property
    def _names(self) -> UInt64:
        """By symbol: a hash of the names that the answer shows it by."""
        compiled = self.compiled
        labels = [",".join(sorted(label & compiled.selected)) for label in compiled.labels]
        return hash_values(pa.array([None, *labels], pa.string()))

    @cached_property
    def _query(self) -> UInt64:
        query = self.compiled.query
        digest = blake2b(f"{query.language}\0{to_text(query)}".encode(), digest_size=16).digest()
        return np.frombuffer(digest, ">u8").astype(np.uint64).reshape(2, 1)

    def _content(self, positions: Int64, labels: UInt64, offsets: Int64, matches: Matches, history: History) -> UInt64:
        """Of each match the hash of what it shows."""
        events = take_in(self._events(positions, history), labels)
        totals = np.concatenate([np.zeros((2, 1), np.uint64), np.cumsum(events, axis=1, dtype=np.uint64)], axis=1)
        found = take_in(self._query, totals[:, offsets[1:]] - totals[:, offsets[:-1]])
        reached = np.zeros(len(matches), np.int64) if matches.reached is None else matches.reached
        return take_in(take_in(found, np.diff(offsets).view(np.uint64)), reached.view(np.uint64))

    def _events(self, positions: Int64, history: History) -> UInt64:
        """The hashes of the events at some positions; one in many matches is looked at once."""
        if not self.content:
            return take_in(SEEDS, hash_values(pa.array(positions)))
        if not len(positions):
            return np.zeros((2, 0), np.uint64)
        different, places = _distinct(positions)
        rows = history.rows(different, list(self.content))
        hashes = np.repeat(SEEDS, len(different), axis=1)
        for name in self.content:
            hashes = take_in(hashes, hash_values(rows[name]))
        return hashes[:, places]

    def _times(self, positions: Int64, missing: Any, history: History) -> pa.Array:
        """The times of some events, or their positions."""
        if self.clock is None:
            return pa.array(positions, mask=missing)
        if missing.all():
            return pa.nulls(len(positions), self.clock.type)
        name = self.clock.column
        chosen = positions if not missing.any() else np.where(missing, positions[np.argmin(missing)], positions)
        values = history.rows(chosen, [name])[name].combine_chunks()
        return values if not missing.any() else values.take(pa.array(np.arange(len(positions)), mask=missing))

    def _known(self, matches: Matches, history: History) -> pa.Array:
        """When each match is known: when its absence is certain, or when the event came that completes it. NULL where
        only the end of the stream says so."""
        if matches.known is None:
            completed = matches.completed if matches.completed is not None else np.zeros(0, np.int64)
            return self._times(completed, np.zeros(len(completed), np.bool_), history)
        never = matches.known >= NEVER
        pulses = np.where(never, 0, matches.known)
        if self.clock is None:
            return pa.array(pulses, mask=never)
        ticks = pulses if self.clock.kind != "float" else to_ordered_ints(pulses / SECOND)
        return self.clock.values(ticks).take(pa.array(np.arange(len(never)), mask=never))


def _as_keys(ids: UInt64) -> list[bytes]:
    keys: list[bytes] = np.ascontiguousarray(ids.T).view("V16").ravel().tolist()
    return keys


def _distinct(positions: Int64) -> tuple[Int64, Int64]:
    """The different positions, ascending, and for each position its place among them."""
    first, last = int(positions.min()), int(positions.max())
    if last - first >= _DENSE * len(positions):
        different, places = np.unique(positions, return_inverse=True)
        return different, places
    there = np.zeros(last - first + 1, np.bool_)
    there[positions - first] = True
    different = np.flatnonzero(there)
    numbers = np.cumsum(there) - 1
    return different + first, numbers[positions - first]


def _as_text(ids: UInt64) -> pa.Array:
    """As 32 hexadecimal digits."""
    data = np.ascontiguousarray(ids.T.astype(">u8")).view(np.uint8)
    digits = np.empty((len(data), 32), np.uint8)
    digits[:, 0::2], digits[:, 1::2] = _DIGITS[data >> 4], _DIGITS[data & 15]
    offsets = np.arange(0, 32 * len(data) + 1, 32, dtype=np.int32)
    return pa.StringArray.from_buffers(len(data), pa.py_buffer(offsets), pa.py_buffer(digits.tobytes()))
