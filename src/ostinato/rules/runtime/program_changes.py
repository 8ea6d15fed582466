"""A bound program with more rules or fewer: only those are planned and typed, where nothing else depends on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ostinato.rules.algebra.nodes import Source
from ostinato.rules.algebra.plan_changes import plan_beside, plan_without
from ostinato.rules.algebra.query_plan import RulePlan
from ostinato.rules.relational.kinds import Attributes
from ostinato.rules.relational.match_plan import MatchPlan
from ostinato.rules.relational.operators import SqlGenerator
from ostinato.rules.relational.plan_types import PlanTypes, infer_types
from ostinato.rules.relational.sql_program import SqlProgram
from ostinato.rules.runtime.bound_program import BoundProgram, in_whole_seconds
from ostinato.rules.runtime.ingest import IncomingColumns
from ostinato.rules.syntax.nodes import Ruleset


def bind_beside(
    bound: BoundProgram, program: Ruleset, since: int, columns_of: Callable[[RulePlan], IncomingColumns | None]
) -> tuple[BoundProgram, SqlProgram] | None:
    """The program with more rules, those of a deployment, and their own part of it; None where all of it has to be
    bound anew. `columns_of` the plan of that part are those of the program, or have some more.

    Raises QueryError where the rules do not fit the columns, or the other rules.
    """
    known = bound.sql
    found = plan_beside(known.plan, program, since)
    if found is None:
        return None
    whole, part = found
    columns = columns_of(part)
    if columns is None or columns.type is None:
        return None
    if columns.attributes != bound.columns.attributes and (
        bound.patterns or not all(map(_reads_by_name, known.plan_types.match_plans.values()))
    ):
        return None
    if bound.whole_seconds and not in_whole_seconds(part):
        return None  # times of answers are of another type
    types = infer_types(part, columns.attributes, _no_source, known.plan_types.moment, known.plan_types)
    made = _changed(replace(bound, columns=columns), whole, types)
    made.sql.generator.check_timers(timer for each in part.translated for timer in each.rule.timers)
    return made, replace(made.sql, plan=part)


def bind_without(bound: BoundProgram, since: int) -> BoundProgram | None:
    """The program without the rules of a deployment; None where all of it has to be bound anew."""
    plan = plan_without(bound.sql.plan, since)
    if plan is None or (not bound.whole_seconds and in_whole_seconds(plan)):
        return None
    return _changed(bound, plan, bound.sql.plan_types.of_plan(plan))


def _changed(bound: BoundProgram, plan: RulePlan, types: PlanTypes) -> BoundProgram:
    definitions = {each.name: each.node for each in plan.query_plan.definitions}
    ticks, names = bound.columns.times.ticks_per_second, bound.sql.generator.names
    generator = SqlGenerator(types, ticks, definitions, names=names)
    sql = SqlProgram(plan, types, generator, bound.columns.attributes)
    assert sql.output is not None  # whether the columns of all labels go together
    return replace(bound, sql=sql)


def _no_source(stream: Source, _: Attributes | None) -> Attributes:
    raise AssertionError(f"what is planned beside a program has no source {stream}")


def _reads_by_name(found: MatchPlan) -> bool:
    """Whether columns that it does not name change nothing for a match."""
    return found.flat is not None and not found.flat.absent
