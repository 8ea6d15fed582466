"""The state of a program, carried over to the same program over wider columns."""

from __future__ import annotations

import numpy as np

from ostinato.core.arrays import Int64
from ostinato.errors import DataError
from ostinato.rules.algebra.nodes import Match, Plan, Point, walk
from ostinato.rules.algebra.structures import structures
from ostinato.rules.incremental.codes import NUMBERED, code_kind
from ostinato.rules.incremental.event_rows import (
    FIRST_ATTRIBUTE,
    read_waiting_terms,
)
from ostinato.rules.incremental.recode import carry_columns, recode
from ostinato.rules.incremental.schema_evolution import widen_events
from ostinato.rules.incremental.steps import StepEvaluator

FROM_THE_START = "say what all columns hold from the start: rules.engine(schema=pyarrow.schema(…))"


def migrate_state(after: StepEvaluator, before: StepEvaluator, now: int) -> None:
    """Let `after` go on from `before`, whose interned values it has, and which has forgotten what it could. Raises
    DataError where the kept state is not enough for that."""
    known = {structure: name for name, structure in structures(before.program.plan.query_plan).items()}
    points, kept = {}, before.live.sizes()
    of_structure = structures(after.program.plan.query_plan)
    for name in after.live.sizes():
        of = known.get(of_structure[name])
        points[name] = _point(name, of, after, before) if of in kept else _begin(name, after, now)
    after.restore(points, {}, now)
    after.periodic.first, after.periodic.done = before.periodic.first, before.periodic.done
    _migrate_events(after, before)
    for stream, engine in before.engines.items():
        if stream in after.engines and before.bound.patterns[stream].has_read(engine):
            try:
                after.bound.patterns[stream].check_readable(engine)
            except DataError as error:
                raise DataError(error.reason, fix=FROM_THE_START) from None
            after.engines[stream] = engine


def _migrate_events(after: StepEvaluator, before: StepEvaluator) -> None:
    rows, old, new = before.waiting, before.live.events, after.live.events
    made = np.full((len(rows), new.width), after.interned.null)
    names = {number: new.labels.get(name, 0) for name, number in old.labels.items()}
    made[:, 0] = [names.get(label, 0) for label in rows[:, 0].tolist()]
    made[:, 1:FIRST_ATTRIBUTE] = rows[:, 1:FIRST_ATTRIBUTE]
    carry_columns(rows, old, made, new)
    read_waiting_terms(made, new, rows, old)
    after.live.room(len(made))[:] = made
    after.live.wait(len(made))
    if before.unseen is not None and after.over_all:
        after.unseen = widen_events(before.unseen, before.program.incoming, after.program.incoming)


def adopt_points(steps: StepEvaluator, past: StepEvaluator, since: int, now: int) -> None:
    """Let the points of a deployment have the tuples that another evaluator of the same program has for them."""
    plan, theirs, names = steps.program.plan.query_plan, {}, list(steps.live.sizes())
    null, values, number = past.interned.null, past.interned.values, steps.interned.number
    for name in names:
        if _reads_since(plan, name, since):
            rows = theirs[name] = past.live.tuples(name)
            for place, kind in enumerate(past.live.points[name].kinds):
                rows[:, place] = recode(rows[:, place], kind, steps.live.points[name].kinds[place], past.interned, name)
                if code_kind(kind) == NUMBERED:
                    rows[:, place] = [null if code == null else number(values[code]) for code in rows[:, place]]
    points = steps.interned.adopt(theirs, null)
    steps.live.restore({name: points[name] if name in points else steps.live.tuples(name) for name in names}, now)


def _reads_since(plan: Plan, name: str, since: int) -> bool:
    """Whether a point is made of matches of a deployment."""
    nodes = list(walk(plan.by_name[name].node))
    return any(isinstance(node, Match) and node.since == since for node in nodes) or any(
        _reads_since(plan, node.name, since) for node in nodes if isinstance(node, Point)
    )


def _begin(name: str, steps: StepEvaluator, now: int) -> Int64:
    """The tuples of a point that is new: those of fixed times that are still to come, and given rows of tables."""
    rows, ends = steps.live.tuples(name), steps.live.points[name].ends
    if steps.live.points[name].until >= 0:
        return rows
    return np.asarray(rows[rows[:, ends].max(axis=1) > now])


def _point(name: str, of: str, after: StepEvaluator, before: StepEvaluator) -> Int64:
    """The tuples of a point in the columns that it has now: in the same order, for its structure is the same."""
    rows, old, new = before.live.tuples(of), before.live.points[of], after.live.points[name]
    if len(new.columns) != len(old.columns) and len(rows):
        reason = f"with a column that is new, or has a type only now, {name} matches events in another way"
        raise DataError(reason, fix=FROM_THE_START)
    made = np.full((len(rows), len(new.columns)), after.interned.null)
    for place, (of, kind) in enumerate(zip(old.kinds, new.kinds, strict=False)):
        if len(rows):
            made[:, place] = recode(rows[:, place], of, kind, after.interned, new.columns[place])
    return made
