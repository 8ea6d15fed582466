"""Events that come in as rows of codes: label, begin, end, and what rules read of their attributes.

A row of an event that query terms look into has the number of its term too, and that of its reference where events of
its label count one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ostinato.core.arrays import Int64
from ostinato.rules.incremental.codes import NUMBERED, code_kind, decode_value, encode_column
from ostinato.rules.incremental.interned import Interned
from ostinato.rules.relational.kinds import TERM, Attributes, Kind
from ostinato.rules.runtime.ingest import LABEL, event_digest, term_reader
from ostinato.rules.runtime.map_columns import has_map, maps_to_dicts
from ostinato.rules.terms.data import DataTerm, from_row

LABEL_COLUMN, BEGIN, END, TERM_COLUMN, REFERENCE = range(5)
FIRST_ATTRIBUTE = 5
FEW_LABELS = 1_000
PRESENT = "present"  # in place of a type: only whether there is a value
CONTENT = "content"  # in place of a type: the elements that a list, a struct or a map is, as one
Path = tuple[str, ...]


@dataclass(eq=False)
class EventRows:
    """Which attributes have a column, as which type. `labels` are those that rules read; others are label 0."""

    incoming: Attributes
    interned: Interned
    labels: dict[str, int] = field(default_factory=dict)
    last_label: int = 0
    columns: dict[tuple[Path, str], int] = field(default_factory=dict)
    kinds: list[tuple[Path, Any]] = field(default_factory=list)
    readers: dict[int, Callable[[Mapping[str, Any]], DataTerm]] = field(default_factory=dict)
    referenced: set[int] = field(default_factory=set)
    counted: set[int] = field(default_factory=set)  # labels whose events kernels count one by one

    @property
    def width(self) -> int:
        return FIRST_ATTRIBUTE + len(self.kinds)

    def label(self, name: str) -> int:
        if name not in self.labels:
            self.last_label += 1
            self.labels[name] = self.last_label
        return self.labels[name]

    def drop_label(self, number: int) -> None:
        """No rule reads the label any more."""
        self.labels = {name: other for name, other in self.labels.items() if other != number}
        self.readers.pop(number, None)
        self.referenced.discard(number)
        self.counted.discard(number)

    def column(self, path: Path, kind: Any) -> int:
        """The column of an attribute as a type."""
        key = path, str(kind)
        if key not in self.columns:
            self.columns[key] = FIRST_ATTRIBUTE + len(self.kinds)
            self.kinds.append((path, kind))
        return self.columns[key]

    def count(self, label: int) -> None:
        """Tell the events of a label apart, by all their attributes."""
        self.counted.add(label)
        for name, kind in self.incoming.types.items():
            self.column((name,), CONTENT if kind is TERM or pa.types.is_nested(kind) else kind)

    def encode(self, events: pa.Table) -> Int64:
        """Events as IncomingColumns.read gives them."""
        columns = self.incoming.columns
        rows = self.encode_columns(
            events[LABEL], events["begin"].to_numpy(), events["end"].to_numpy(), lambda name: events[columns[name]]
        )
        if self.readers:
            self._read_terms(events, rows)
        return rows

    def encode_columns(
        self, labels: pa.ChunkedArray, begins: Int64, ends: Int64, attribute: Callable[[str], pa.ChunkedArray]
    ) -> Int64:
        """Events by their columns; without their terms."""
        null = self.interned.null
        rows = np.full((len(begins), self.width), null)
        rows[:, LABEL_COLUMN] = self._labels(labels)
        rows[:, BEGIN], rows[:, END] = map(self.interned.check_codes, (begins, ends))
        for place, (path, kind) in enumerate(self.kinds, FIRST_ATTRIBUTE):
            if path[0] not in self.incoming.types:
                continue
            column = attribute(path[0])
            for name in path[1:]:
                column = pc.struct_field(column, name)
            if kind is PRESENT:
                rows[:, place] = np.where(column.is_valid().to_numpy(), 1, null)
            elif kind is CONTENT:
                rows[:, place] = self._contents(path[0], column)
            else:
                wanted = column if kind is TERM or column.type == kind else column.cast(kind)
                rows[:, place] = encode_column(wanted, kind, self.interned)
        return rows

    def _contents(self, name: str, column: pa.ChunkedArray) -> list[int]:
        kind, interned, made = self.incoming.types[name], self.interned, []
        for value in column.to_pylist():
            if kind is not TERM and has_map(kind):
                value = maps_to_dicts(value, kind)
            content = from_row("", {name: value}, without=())
            made.append(interned.number(content) if content.children else interned.null)
        return made

    def _labels(self, labels: pa.ChunkedArray) -> Int64:
        if len(labels) <= FEW_LABELS:
            known_labels = self.labels
            return np.array([known_labels.get(name, 0) for name in labels.to_pylist()], np.int64)
        found = labels.combine_chunks().dictionary_encode() if not pa.types.is_dictionary(labels.type) else labels
        found = found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
        known = np.array([*(self.labels.get(name, 0) for name in found.dictionary.to_pylist()), 0], np.int64)
        places = found.indices
        places = places.fill_null(len(known) - 1) if places.null_count else places
        return np.asarray(known[places.to_numpy()])

    def _read_terms(self, events: pa.Table, rows: Int64) -> None:
        wanted = np.flatnonzero(np.isin(rows[:, LABEL_COLUMN], list(self.readers)))
        for place, row in zip(wanted.tolist(), events.take(pa.array(wanted)).to_pylist(), strict=True):
            label = int(rows[place, LABEL_COLUMN])
            term = self.readers[label](row)
            rows[place, TERM_COLUMN] = self.interned.number(term)
            if label in self.referenced:
                rows[place, REFERENCE] = self.interned.number(event_digest(row["begin"], row["end"], term))

    def numbered_columns(self) -> list[int]:
        """The columns whose codes are numbers of interned values."""
        found = [
            place
            for place, (_, kind) in enumerate(self.kinds, FIRST_ATTRIBUTE)
            if kind is not PRESENT and (kind is CONTENT or code_kind(kind) == NUMBERED)
        ]
        return [TERM_COLUMN, REFERENCE, *found]


def live_term_reader(
    label: str, attributes: Attributes, incoming: Mapping[str, Kind], columns: Mapping[str, str]
) -> Callable[[Mapping[str, Any]], DataTerm]:
    """From a row of columns to its term, in which attributes are in the order of the stream; those of type TERM are
    terms already. `incoming` are the types of the row's attributes, and `columns` their columns."""
    types = {name: incoming[name] for name in attributes.types if name in incoming}
    return term_reader(label, types, columns, lambda term: term)


def read_waiting_terms(rows: Int64, events: EventRows, read: Int64, as_read: EventRows) -> None:
    """Give the rows their terms that had none when they came: rules ask for them only now. `read` are the rows as
    they were read."""
    null = events.interned.null
    for row, was in zip(rows, read, strict=True):
        label = int(row[LABEL_COLUMN])
        reader = events.readers.get(label)
        if reader is None or (row[TERM_COLUMN] != null and (label not in events.referenced or row[REFERENCE] != null)):
            continue
        term = reader(_values(was, as_read, events))
        row[TERM_COLUMN] = events.interned.number(term)
        if label in events.referenced:
            digest = event_digest(int(row[BEGIN]), int(row[END]), term)
            row[REFERENCE] = events.interned.number(digest)


def _values(row: Int64, old: EventRows, new: EventRows) -> dict[str, Any]:
    """What was read of an event, for its term: nothing else of it can match."""
    found: dict[str, Any] = dict.fromkeys(new.incoming.columns.values())
    found |= {"begin": int(row[BEGIN]), "end": int(row[END])}
    for place, (path, kind) in enumerate(old.kinds, FIRST_ATTRIBUTE):
        code = int(row[place])
        if code == old.interned.null or kind is CONTENT:
            continue
        value = True if kind is PRESENT else decode_value(code, kind, old.interned)
        inside, name = found, new.incoming.columns[path[0]]
        for below in path[1:]:
            if not isinstance(inside.get(name), dict):
                inside[name] = {}
            inside, name = inside[name], below
        if not (kind is PRESENT and isinstance(inside.get(name), dict)):
            inside[name] = value
    return found
