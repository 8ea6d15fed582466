"""The delta queries of patterns over labels that rules derive: what a step has of their labels goes to their engines.

All rules that derive the labels are of lower strata, so that their events are there when the pattern's turn comes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int64
from ostinato.rules.algebra.nodes import CelStream
from ostinato.rules.incremental.codes import decode_column
from ostinato.rules.incremental.delta_query import DeltaQuery, Host, PointPlan
from ostinato.rules.incremental.event_rows import BEGIN, END
from ostinato.rules.incremental.head_values import display_text
from ostinato.rules.incremental.live_patterns import LivePatterns
from ostinato.rules.incremental.planned_points import PointPlanner
from ostinato.rules.relational.kinds import TERM, Kind
from ostinato.rules.runtime.ingest import LABEL
from ostinato.rules.runtime.pattern_stream import DERIVED


def write_pattern(planner: PointPlanner, stream: CelStream) -> None:
    """The delta queries that give a pattern its events, and add its matches to the point of its stream."""
    names = list(planner.types.inputs[stream].types)
    shown = ("begin", "end", "#input", *names)
    rows = planner.scratch(shown, (pa.int64(),) * len(shown))  # codes of each input's own kinds
    inputs: list[PatternInput] = []

    def read(
        delta: DeltaQuery, label: str, times: tuple[int, int], kinds: Mapping[str, Kind], of: Mapping[str, int]
    ) -> None:
        missing, number = planner.frame.constant(None), planner.frame.constant(len(inputs))
        slots = [delta.column(of[name]) if name in of else missing for name in names]
        planner.emit(delta, rows, [*map(delta.column, times), number, *slots])
        inputs.append(PatternInput(label, delta.source is not planner.incoming, {name: kinds[name] for name in of}))

    events, derived = planner.events, planner.types.derived
    plain = {name: kind for name, kind in events.incoming.types.items() if kind is not TERM}
    for label in stream.labels:
        delta = planner.delta(planner.incoming)
        delta.label = events.label(label)
        columns = {name: events.column((name,), plain[name]) for name in names if name in plain}
        read(delta, label, (BEGIN, END), plain, columns)
        if label in derived:
            columns = {name: place for place, name in enumerate(derived[label], 2) if name in names}
            read(planner.delta(planner.derived_point(label)), label, (0, 1), derived[label], columns)
    planner.host(PatternMatches(planner.source_point(stream), stream, inputs, planner.patterns), rows)


@dataclass(frozen=True)
class PatternInput:
    """Events of a label that a pattern reads: those that come in, or those that rules derive. `kinds` are those of the
    attributes that they have, in the columns of tuples."""

    label: str
    derived: bool
    kinds: Mapping[str, Kind]


@dataclass(eq=False)
class PatternMatches(Host):
    """Gives a pattern the events of a step: tuples of begin, end, the number of their input, and attributes."""

    target: PointPlan
    stream: CelStream
    inputs: Sequence[PatternInput]
    patterns: LivePatterns

    def __call__(self, rows: Int64) -> Int64:
        sources = rows[:, 2]
        numbers = np.unique(sources).tolist()
        parts = [self._events(rows if len(numbers) == 1 else rows[sources == each], each) for each in numbers]
        events = parts[0] if len(parts) == 1 else pa.concat_tables(parts)
        return self.patterns.encode(self.stream, self.patterns.read_in_step(self.stream, events))

    def _events(self, rows: Int64, number: int) -> pa.Table:
        given, read = self.inputs[number], self.patterns.streams[self.stream].incoming
        columns = {
            LABEL: pa.array([given.label] * len(rows), pa.string()),
            "begin": pa.array(rows[:, 0]),
            "end": pa.array(rows[:, 1]),
            DERIVED: pa.array(np.full(len(rows), given.derived)),
        }
        for place, (name, kind) in enumerate(read.types.items(), 3):
            columns[read.columns[name]] = self._column(rows[:, place], given.kinds.get(name, pa.null()), kind)
        return pa.table(columns)

    def _column(self, codes: Int64, kind: Kind, wanted: pa.DataType) -> pa.Array:
        if kind is TERM:
            interned = self.patterns.interned
            texts = [None if code == interned.null else display_text(interned.values[code]) for code in codes.tolist()]
            return pa.array(texts, wanted)
        made = decode_column(np.ascontiguousarray(codes), kind, self.patterns.interned)
        return made if made.type == wanted else made.cast(wanted)
