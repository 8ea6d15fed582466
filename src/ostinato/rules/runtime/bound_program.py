"""A program bound to the columns of its events: its plan, its types, its SQL and the columns of its answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any

import pyarrow as pa

from ostinato.core.events import DEFAULT_TYPE
from ostinato.errors import QueryError
from ostinato.rules.algebra.nodes import CelStream, Match, PeriodicStream, Source
from ostinato.rules.algebra.query_plan import RulePlan, plan_program
from ostinato.rules.algebra.time_relations import SECOND
from ostinato.rules.limits import RuleLimits
from ostinato.rules.relational.kinds import Attributes
from ostinato.rules.relational.operators import SqlGenerator
from ostinato.rules.relational.plan_types import infer_types, output_schema
from ostinato.rules.relational.sql_program import SqlProgram
from ostinato.rules.runtime.given_rows import row_attributes
from ostinato.rules.runtime.ingest import IncomingColumns
from ostinato.rules.runtime.pattern_stream import PatternStream
from ostinato.rules.runtime.periods import Periods
from ostinato.rules.runtime.required_columns import infer_time_type
from ostinato.rules.runtime.row_pattern_stream import RowPatternStream
from ostinato.rules.syntax.nodes import AbsoluteTimer, PeriodicTimer, Ruleset, Timer


@dataclass(frozen=True)
class BoundProgram:
    """A program bound to the columns of its events."""

    sql: SqlProgram
    columns: IncomingColumns
    whole_seconds: bool
    patterns: Mapping[CelStream, PatternStream]
    periods: Mapping[PeriodicStream, Periods]

    def source_events(self, stream: Source, events: pa.Table, limits: RuleLimits) -> pa.Table:
        """All events of a source, over a whole stream; `events` are those that it reads."""
        if isinstance(stream, CelStream):
            return self.patterns[stream].match_all(events)
        return self.periods[stream].of_events(events, limits)

    @cached_property
    def answer_schema(self) -> pa.Schema:
        time = self.columns.times.answer_type(whole=self.whole_seconds)
        return pa.schema([("type", pa.string()), ("begin", time), ("end", time), *self.sql.output])

    def answer(self, table: pa.Table, *, ordered: bool = True) -> pa.Table:
        """Derived events with ticks, as users see them: sorted by end, begin, type and all columns that can be."""
        if ordered and len(table) > 1:
            plain = [field.name for field in self.sql.output if not pa.types.is_nested(field.type)]
            table = table.sort_by([(name, "ascending") for name in ("end", "begin", "type", *plain)])
        columns = [table["type"]]
        for side in ("begin", "end"):
            ticks = table[side].combine_chunks()
            columns.append(self.columns.times.values(ticks, whole=self.whole_seconds))
        columns += [ensure_type(table[field.name], field.type) for field in self.sql.output]
        return pa.table(columns, schema=self.answer_schema)


def ensure_type(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """The column in that type. Even a cast that changes nothing costs too much for a single event."""
    return column if column.type == kind else column.cast(kind)


def bind_program(
    program: Ruleset,
    text: str | None,
    schema: pa.Schema,
    options: Mapping[str, Any],
    *,
    longest: float = inf,
    near: bool = False,
    since: Mapping[int, int] | None = None,
    plan: RulePlan | None = None,
    tables: Mapping[str, pa.Schema] | None = None,
) -> BoundProgram:
    """Plan, type and check the program for these columns.

    Raises QueryError, with its place in `text` if that is given, where the program does not fit them. `longest` is how
    many nanoseconds an event lasts at most; `near` joins by buckets of time, which pays for many events; `since` is
    that of `plan_program`. `plan` is one of the program, for any events, where it is known. `tables` are the columns of
    rows that are given beside the stream, by the labels of their tables.
    """
    plan = plan or plan_program(program, since=since)
    given = {label: row_attributes(rows) for label, rows in (tables or {}).items()}
    columns = IncomingColumns.resolve(
        schema, labels=sorted(plan.strata.incoming.keys() - given.keys()), default_time=infer_time_type(plan), **options
    )
    if columns.times.points:
        longest = 0
    if longest != plan.longest:
        plan = plan_program(program, longest, since)
    ticks = columns.times.ticks_per_second
    try:
        sources, patterns = _sources(plan), dict[CelStream, PatternStream]()

        def attributes_of(stream: Source, read: Attributes | None) -> Attributes:
            if not isinstance(stream, CelStream):
                return Attributes.of({})
            if stream not in patterns:
                patterns[stream] = _pattern(stream, read, columns)
            return patterns[stream].attributes

        moment = columns.times.answer_type(whole=in_whole_seconds(plan))
        types = infer_types(plan, columns.attributes, attributes_of, moment, given=given)
        definitions = {each.name: each.node for each in plan.query_plan.definitions}
        generator = SqlGenerator(types, ticks, definitions, near=near)
        generator.check_timers(timer for each in plan.translated for timer in each.rule.timers)
        sql = SqlProgram(plan, types, generator, columns.attributes)
        output_schema(types, plan.outputs.private)  # whether the columns of all labels go together
    except QueryError as error:
        raise (error if text is None else error.within(text)) from None
    periods = {
        each: Periods(each, each.nanoseconds * ticks // SECOND) for each in sources if isinstance(each, PeriodicStream)
    }
    return BoundProgram(sql, columns, in_whole_seconds(plan), patterns, periods)


def _pattern(stream: CelStream, read: Attributes | None, columns: IncomingColumns) -> PatternStream:
    ticks = columns.times.ticks_per_second
    if read is None:
        return PatternStream(stream.query, columns.attributes, ticks, stream.language, columns.type)
    kind = RowPatternStream if stream.language == "sql" else PatternStream
    return kind(stream.query, read, ticks, stream.language, DEFAULT_TYPE, over_labels=True)


def _sources(plan: RulePlan) -> list[Source]:
    streams = [each.node.stream for each in plan.query_plan.definitions if isinstance(each.node, Match)]
    return list(dict.fromkeys(each for each in streams if isinstance(each, Source)))


def in_whole_seconds(plan: RulePlan) -> bool:
    """Whether timers lead from whole seconds to whole seconds."""
    timers = [timer for each in plan.translated for timer in each.rule.timers]
    return all(map(_has_whole_seconds, timers))


def _has_whole_seconds(timer: Timer) -> bool:
    if isinstance(timer, AbsoluteTimer):
        return isinstance(timer.begin, int) and isinstance(timer.end, int)
    if isinstance(timer, PeriodicTimer) and timer.kind == "tumbling":
        return False  # it ends a tick before the next
    return timer.duration.nanoseconds % SECOND == 0
