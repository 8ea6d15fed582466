"""What the patterns inside of event rules match, by the declarative semantics of CEL, of SREM and of SQL."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction
from typing import Any

import duckdb
import pyarrow as pa

from ostinato.core.expressions import variables
from ostinato.patterns.compile import compile_text
from ostinato.patterns.semantics.cel import evaluate
from ostinato.patterns.semantics.srem import detect
from ostinato.patterns.syntax.nodes import repeated_variables
from ostinato.patterns.syntax.srem import parse as srem
from ostinato.rules.plan.embedded_cel import match_columns, read_labels, required_names, select_all_variables
from ostinato.rules.plan.embedded_sql import BEGIN, END, read_row_pattern
from ostinato.rules.semantics.fixpoint import Patterns
from ostinato.rules.semantics.pattern_events import attribute_values, events_read
from ostinato.rules.syntax.nodes import CelPattern
from ostinato.rules.terms.data import from_row
from ostinato.rules.terms.event import IntervalEvent
from ostinato.sql.plan.streamable import MATCHES, rest_text
from ostinato.sql.semantics.rows import evaluate as evaluate_rows
from ostinato.sql.syntax.parse import parse as parse_sql
from support.answers import item_value
from support.generators.cel_streams import Row

ATTRIBUTES = ("k", "v", "w")  # the columns of what comes in, in their order


def cel_patterns(
    incoming: Collection[IntervalEvent], ticks_per_second: int = 1, derived: Collection[str] = ()
) -> Patterns:
    """The matches over what happens: `match { column { … } }` from the first event to the last. `derived` are the
    labels that rules derive."""

    def patterns(pattern: CelPattern, happening: Iterable[IntervalEvent]) -> Iterable[IntervalEvent]:
        labels = read_labels(pattern.query, pattern.language, derived)
        read = sorted(required_names(pattern.query, pattern.language))
        events = events_read(happening, incoming, labels, read if labels else ATTRIBUTES)
        stream = [_row(event, {*read, *ATTRIBUTES}, ticks_per_second) for event in events]
        found = {"cel": _matches, "srem": _segments, "sql": _row_patterns}[pattern.language]
        for first, last, values in found(pattern, stream):
            yield IntervalEvent(events[first].begin, events[last].end, from_row("match", values, without=()))

    return patterns


def _row(event: IntervalEvent, names: Collection[str], ticks_per_second: int) -> Row:
    values = attribute_values(event.term)
    end = Fraction(event.end, ticks_per_second)
    return {name: values.get(name) for name in names} | {"type": event.term.label, "end": end}


Match = tuple[int, int, dict[str, Any]]  # the places of its first and its last event, and its children


def _matches(pattern: CelPattern, stream: Sequence[Row]) -> Iterable[Match]:
    query = compile_text(select_all_variables(pattern.query), "cel").query
    many = repeated_variables(query.formula)
    items = query.items or ()
    names = sorted(frozenset().union(*(variables(item.expr) for item in items)))
    for match in evaluate(query, stream, time="end").matches:
        labels = {name: match.labels.get(name, ()) for name in names}
        first, last = match.positions[0], match.positions[-1]
        values = {name: stream[first].get(name) for name in query.partition_by} if query.items is None else {}
        values |= {item.name: item_value(item.expr, labels, list(stream), many) for item in items}
        yield first, last, {name: values[name] for name in match_columns(query) if not name.startswith("#")}


def _segments(pattern: CelPattern, stream: Sequence[Row]) -> Iterable[Match]:
    segment = srem.parse(pattern.query)
    for first, last in detect(segment, stream, time="end"):
        yield first, last, {name: stream[first].get(name) for name in segment.partition_by}


_KINDS = {"k": pa.string(), "v": pa.float64(), "w": pa.float64()}


def _row_patterns(pattern: CelPattern, stream: Sequence[Row]) -> Iterable[Match]:
    """Rows have their places for times: they are in order, and matches then show where they begin and end."""
    query = parse_sql(read_row_pattern(pattern.query).text)
    places = pa.array(range(len(stream)), pa.int64())
    columns = {name: pa.array([row[name] for row in stream], kind) for name, kind in _KINDS.items()}
    with duckdb.connect() as connection:
        connection.register("events", pa.table({BEGIN: places, END: places, **columns}))
        found = evaluate_rows(query.clauses[0].match, connection, "events")
        connection.register(MATCHES, found)
        shown: pa.Table = connection.execute(rest_text(query)).to_arrow_table()
        for row in shown.to_pylist():
            first, last = row.pop(BEGIN), row.pop(END)
            if last is not None:
                yield first, last, row
