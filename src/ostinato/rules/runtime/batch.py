"""Rules over a whole table, as one sequence of relations: the plan of the program, evaluated once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any

import pyarrow as pa

from ostinato.errors import QueryError
from ostinato.rules.algebra.nodes import Match
from ostinato.rules.algebra.query_plan import RulePlan, plan_program
from ostinato.rules.algebra.translate import PATTERN
from ostinato.rules.limits import RuleLimits
from ostinato.rules.relational.binding import bind, output_schema
from ostinato.rules.relational.dialects import write
from ostinato.rules.relational.program import INCOMING, BoundProgram, evaluate
from ostinato.rules.relational.select import SECOND, Generator
from ostinato.rules.runtime.cel_patterns import Pattern
from ostinato.rules.runtime.duck import DuckSession, connect
from ostinato.rules.runtime.ingest import Columns
from ostinato.rules.runtime.required_columns import time_type
from ostinato.rules.syntax.nodes import Program, RelativeTimer


@dataclass(frozen=True)
class Fitted:
    """A program fitted to the columns of its events."""

    program: BoundProgram
    columns: Columns
    whole_seconds: bool
    patterns: Mapping[str, Pattern]  # by the text of the CEL query

    @cached_property
    def answer_schema(self) -> pa.Schema:
        time = self.columns.moments.answer_type(whole=self.whole_seconds)
        return pa.schema([("type", pa.string()), ("begin", time), ("end", time), *self.program.output])

    def answer(self, table: pa.Table, *, ordered: bool = True) -> pa.Table:
        """Derived events with ticks, as users see them: in order of their end, then of all that can be put in order."""
        if ordered and len(table) > 1:
            plain = [field.name for field in self.program.output if not pa.types.is_nested(field.type)]
            table = table.sort_by([(name, "ascending") for name in ("end", "begin", "type", *plain)])
        columns = [table["type"]]
        for side in ("begin", "end"):
            ticks = table[side].combine_chunks()
            columns.append(self.columns.moments.values(ticks, whole=self.whole_seconds))
        columns += [typed(table[field.name], field.type) for field in self.program.output]
        return pa.table(columns, schema=self.answer_schema)


def typed(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """The column as of that type. To ask Arrow for a cast that changes nothing takes longer than one event may."""
    return column if column.type == kind else column.cast(kind)


def fit(
    program: Program,
    text: str,
    schema: pa.Schema,
    options: Mapping[str, Any],
    *,
    longest: float = inf,
    near: bool = False,
) -> Fitted:
    """Raises QueryError, with its place in `text`, where the program does not fit the columns."""
    plan = plan_program(program)
    columns = Columns.resolve(schema, labels=sorted(_labels(plan)), untold=time_type(plan), **options)
    if columns.moments.points:
        longest = 0
    if longest < inf:
        plan = plan_program(program, longest)
    ticks = columns.moments.ticks_per_second
    try:
        patterns = {text: Pattern(text, columns.attributes, ticks) for text in _patterns(plan)}
        binding = bind(plan, columns.attributes, {text: found.attributes for text, found in patterns.items()})
        definitions = {each.name: each.node for each in plan.plan.definitions}
        stored = [name for name, found in plan.relevance.items() if found.stored]
        generator = Generator(binding, ticks, definitions, stored=stored, near=near)
        generator.check_timers(timer for each in plan.translated for timer in each.rule.timers)
        bound = BoundProgram(plan, binding, generator, columns.attributes)
        output_schema(binding)  # whether the columns of all labels go together
    except QueryError as error:
        raise error.within(text) from None
    return Fitted(bound, columns, _whole_seconds(plan), patterns)


def detect_whole(
    fitted: Fitted,
    rows: pa.Table,
    *,
    threads: int | None = None,
    ordered: bool = True,
    limits: RuleLimits | None = None,
) -> pa.Table:
    """All derived events of a table that holds the whole stream. `threads`: of DuckDB; None: one for each core."""
    generator = fitted.program.generator
    events = fitted.columns.read(rows)
    session = DuckSession(connect(threads), generator.names, lambda query: fitted.patterns[query].whole(events))
    session.provide(INCOMING, events)
    answer = evaluate(fitted.program, session, limits, natively=True)
    return fitted.answer(session.arrow(write(answer, "duckdb")), ordered=ordered)


def _labels(plan: RulePlan) -> list[str]:
    return list(plan.strata.incoming)


def _patterns(plan: RulePlan) -> list[str]:
    streams = [each.node.stream for each in plan.plan.definitions if isinstance(each.node, Match)]
    return list(dict.fromkeys(each[len(PATTERN) :] for each in streams if each.startswith(PATTERN)))


def _whole_seconds(plan: RulePlan) -> bool:
    """Whether timers lead from whole seconds to whole seconds."""
    timers = [timer for each in plan.translated for timer in each.rule.timers]
    return all(
        timer.duration.nanoseconds % SECOND == 0
        if isinstance(timer, RelativeTimer)
        else isinstance(timer.begin, int) and isinstance(timer.end, int)
        for timer in timers
    )
