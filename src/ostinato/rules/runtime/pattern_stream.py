"""Patterns as event queries: their matches are events, from the begin of the first event to the end of the last.

Events are read in order of their end; those that end together, first what comes in and then what rules derive, each by
begin, label and attributes, so that the answer does not depend on how they came.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.core.events import StreamColumns, time_order
from ostinato.errors import DataError
from ostinato.patterns.compile import CompiledPattern, compile_text
from ostinato.patterns.runtime.engine import Engine
from ostinato.patterns.runtime.state import EngineOptions
from ostinato.patterns.syntax.item_names import ANSWER_COLUMNS
from ostinato.rules.plan.embedded_cel import select_all_variables
from ostinato.rules.relational.kinds import TERM, Attributes, is_nested, logical_type
from ostinato.rules.runtime.ingest import LABEL
from ostinato.rules.syntax.nodes import PatternLanguage

DERIVED = "#derived"  # whether rules derive the event; a column of what a pattern over some labels reads
_BEGIN, _END, _TYPE = "#begin", "#end", "#type"
_ENDS = (_BEGIN, _END)
_UNITS = {1: "s", 1_000: "ms", 1_000_000: "us", 1_000_000_000: "ns"}


@dataclass(frozen=True)
class PatternStream:
    """The matches of a CEL query or an SREM, as a stream of events.

    `incoming` are the attributes of what it reads: of all that comes in, or, with `over_labels`, of the events of some
    labels, which rules may derive. `label` is the column of labels, which is an attribute like any other in an SREM.
    """

    query: str
    incoming: Attributes
    ticks_per_second: int
    language: PatternLanguage = "cel"
    label: str | None = None
    over_labels: bool = False

    @cached_property
    def _compiled(self) -> CompiledPattern:
        assert self.language != "sql"
        text = select_all_variables(self.query) if self.language == "cel" else self.query
        return compile_text(text, self.language)

    @cached_property
    def attributes(self) -> Attributes:
        """What a match holds besides its interval: the items of SELECT, or the partition of SELECT *."""
        schema = self.engine().push(self._no_rows()).schema
        names = [name for name in schema.names if name not in ANSWER_COLUMNS and not name.startswith("#")]
        return Attributes.of({name: logical_type(schema.field(name).type) for name in names})

    def kernels(self) -> tuple[Any, ...]:
        """Those that may run."""
        engine = self.engine()
        engine.push(self._no_rows())
        kernels: tuple[Any, ...] = engine.kernels
        return kernels

    def engine(self) -> Any:
        """An engine for `matches`. Over labels it is given events in order; else they wait for `advance`."""
        binding = {"time": _END, "type": _TYPE, "order_by": () if self.over_labels else self._ties}
        return Engine(self._compiled, EngineOptions(binding, lateness=0 if self.over_labels else None, ends=_ENDS))

    def matches(self, engine: Any, events: pa.Table, now: int) -> pa.Table:
        """The matches that end up to `now`, as events of a stream: `events` end up to then too, after those before."""
        rows = self._rows(events)
        if self.over_labels:
            order = time_order(rows, StreamColumns(_END, _TYPE, self._ties), events["end"].to_numpy())
            return self._as_events(engine.push(rows if order is None else rows.take(pa.array(order))))
        engine.push(rows)
        return self._as_events(engine.advance(np.datetime64(now + 1, self._time.unit)))

    @property
    def _ties(self) -> tuple[str, ...]:
        """What orders events that end together."""
        plain = (name for name, kind in self.incoming.types.items() if not is_nested(kind))
        return (*([DERIVED] if self.over_labels else []), _BEGIN, _TYPE, *plain)

    def restore(self, saved: bytes) -> Any:
        """An engine as it was when it was saved."""
        return Engine.restore(saved)

    def has_read(self, engine: Any) -> bool:
        """Whether an engine has read events."""
        return bool(engine.events)

    def _engine_schema(self, engine: Any) -> pa.Schema:
        schema: pa.Schema = engine.stream.schema
        return schema

    def check_readable(self, engine: Any) -> None:
        """Raise DataError where an engine that has read events of narrower columns cannot go on with these."""
        schema = self._no_rows().schema
        for field in self._engine_schema(engine):
            known, given = field.type, schema.field(field.name).type
            if known != given and not pa.types.is_null(known) and not pa.types.is_nested(known):
                raise DataError(f"`{field.name}` was {known} until now, and a pattern has read it as that")

    def match_all(self, events: pa.Table) -> pa.Table:
        """All matches of a whole stream."""
        engine = self.engine()
        if self.over_labels:
            return self.matches(engine, events, 0)
        engine.push(self._rows(events))
        return self._as_events(engine.flush())

    @property
    def _time(self) -> pa.DataType:
        return pa.timestamp(_UNITS[self.ticks_per_second])

    def _no_rows(self) -> pa.Table:
        fields = [(self.incoming.columns[name], kind) for name, kind in self.incoming.types.items() if kind is not TERM]
        return self._rows(pa.schema([*self.roles.items(), *fields]).empty_table())

    @property
    def roles(self) -> dict[str, pa.DataType]:
        """The columns of what it reads besides attributes."""
        roles = {LABEL: pa.string(), "begin": pa.int64(), "end": pa.int64()}
        return roles | {DERIVED: pa.bool_()} if self.over_labels else roles

    def _rows(self, events: pa.Table) -> pa.Table:
        columns = {_TYPE: events[LABEL], _BEGIN: events["begin"].cast(self._time), _END: events["end"].cast(self._time)}
        if self.over_labels:
            columns[DERIVED] = events[DERIVED]
        if self.language == "srem" and self.label is not None:
            columns[self.label] = events[LABEL]
        for name, kind in self.incoming.types.items():
            if kind is not TERM:
                columns[name] = events[self.incoming.columns[name]]
        return pa.table(columns)

    def _as_events(self, matches: pa.Table) -> pa.Table:
        columns = {"begin": matches[_BEGIN].cast(pa.int64()), "end": matches[_END].cast(pa.int64())}
        for name, kind in self.attributes.types.items():
            columns[self.attributes.columns[name]] = matches[name].cast(kind)
        return pa.table(columns)
