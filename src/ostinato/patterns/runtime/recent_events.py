"""NOT … FOR at the start of a pattern: whether such an event came within some time before each event of the stream.

That is known before any automaton reads the event, so it is a column like any other, which conditions can test.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ostinato.core.arrays import Int64
from ostinato.core.columns.event_codes import PredicateEncoder
from ostinato.core.conditions import Condition
from ostinato.core.deadlines import earlier
from ostinato.core.expressions import CURRENT, Attribute, attributes
from ostinato.patterns.automata.from_formula import PrecedingAbsence
from ostinato.patterns.runtime.correlated_absence import find_cancelled

Bool = npt.NDArray[np.bool_]

KEY, TIME = "#key", "#time"


class Holder(Protocol):
    """What holds the events for a while, and can put them back."""

    def settle(self) -> None: ...


class RecentEvents:
    """The events that must not come before, with their keys and times: those that may still matter."""

    def __init__(self, absence: PrecedingAbsence, reach: int, schema: pa.Schema, relation: str | None) -> None:
        self.absence, self.reach = absence, reach
        conditions = (absence.condition, *(Condition(name) for name in absence.firsts))
        self.encoder = PredicateEncoder(conditions, relation=relation)
        self._index: Holder | None = None  # where few events come at a time
        self._kept: pa.Table = self._fields(schema).empty_table()

    @property
    def kept(self) -> pa.Table:
        """In the order in which they came."""
        if self._index is not None:
            self._index.settle()
        return self._kept

    @kept.setter
    def kept(self, rows: pa.Table) -> None:
        self._kept = rows

    def look_up_in(self, index: Holder) -> None:
        """Let this hold them while events come one at a time."""
        if self._index is not None:
            self._index.settle()
        self._index = index

    def _fields(self, schema: pa.Schema) -> pa.Schema:
        test = self.absence.test
        read = {node.name for node in attributes(test) if node.variable == CURRENT} if test is not None else set()
        columns = [schema.field(name) for name in sorted(read)]
        return pa.schema([pa.field(KEY, pa.int64()), pa.field(TIME, pa.int64()), *columns])

    def migrate_schema(self, schema: pa.Schema) -> None:
        self.kept = self.kept.cast(self._fields(schema))

    @property
    def keys(self) -> Int64:
        return np.asarray(self.kept[KEY].to_numpy(), np.int64)

    def renumber(self, kept: Int64) -> None:
        """Keys have new numbers: `kept` are the old ones, in order."""
        self.kept = self.kept.set_column(0, KEY, pa.array(np.searchsorted(kept, self.keys)))

    def before(self, rows: pa.Table, type_column: str | None, keys: Int64, times: Int64) -> Bool:
        """Whether one came in the time before each of the rows, which are in stream order."""
        codes = self.encoder.encode(rows, type_column)
        truths = np.array([self.encoder.truth(code) for code in range(self.encoder.size)], bool)
        holds = truths.reshape(-1, 1 + len(self.absence.firsts))[codes]
        new = np.flatnonzero(holds[:, 0])
        kept = len(self.kept)
        self.kept = pa.concat_tables([self.kept, self._select(rows, keys, times, new)]).combine_chunks()
        first = np.searchsorted(self.kept[TIME].to_numpy(), earlier(times, self.reach), side="left")
        last = kept + np.searchsorted(new, np.arange(len(rows)), side="left")
        if self.absence.test is None:
            found = self._same_key(keys, first, last)
        else:
            found = np.zeros(len(rows), np.bool_)
            wanted = np.flatnonzero(holds[:, 1:].any(axis=1))
            found[wanted] = self._compare(rows.take(pa.array(wanted)), keys[wanted], first[wanted], last[wanted])
        self._forget(times)
        return found

    def _select(self, rows: pa.Table, keys: Int64, times: Int64, new: Int64) -> pa.Table:
        columns = [rows[name].take(pa.array(new)) for name in self.kept.column_names[2:]]
        return pa.table([pa.array(keys[new]), pa.array(times[new]), *columns], schema=self.kept.schema)

    def _same_key(self, keys: Int64, first: Int64, last: Int64) -> Bool:
        """Whether one of the kept events from `first` to before `last` has the key."""
        size = len(self.kept) + 1
        places = np.sort(self.keys * size + np.arange(len(self.kept)))
        at = np.searchsorted(places, keys * size + last, side="left") - 1
        place = np.where(at >= 0, places[np.maximum(at, 0)] if len(places) else -1, -1)
        found: Bool = (place // size == keys) & (place % size >= first) & (place >= 0)
        return found

    def _compare(self, rows: pa.Table, keys: Int64, first: Int64, last: Int64) -> Bool:
        test = self.absence.test
        assert test is not None

        def fetch(node: Attribute) -> pa.Array:
            return (self.kept if node.variable == CURRENT else rows)[node.name].combine_chunks()

        return find_cancelled(test, fetch, self.keys, keys, first, last)

    def _forget(self, times: Int64) -> None:
        if not len(times):
            return
        needed = self.kept[TIME].to_numpy() >= earlier(times[-1:], self.reach)[0]
        if self.absence.test is None:  # of each key only the last one matters
            _, back = np.unique(self.keys[::-1], return_index=True)
            latest = np.zeros(len(needed), np.bool_)
            latest[len(needed) - 1 - back] = True
            needed &= latest
        self.kept = self.kept.filter(pa.array(needed))
