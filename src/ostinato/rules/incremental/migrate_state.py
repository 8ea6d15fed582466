"""The state of a program, carried over to the same program over wider columns."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from ostinato.errors import DataError
from ostinato.rules.incremental.schema_evolution import widen_column
from ostinato.rules.incremental.steps import StepEvaluator
from ostinato.rules.relational.kinds import REF, TERM, Kind
from ostinato.rules.runtime.ingest import tag

FROM_THE_START = "say what all columns hold from the start: rules.engine(schema=pyarrow.schema(…))"


def migrate_state(after: StepEvaluator, before: StepEvaluator, now: int) -> None:
    """Let `after` go on from `before`. Raises DataError where the kept state is not enough for that."""
    before.forget(now, all_of_it=True)
    points = {name: _point(name, rows, after, before) for name, rows in before.tables().items()}
    after.restore(points, {}, now)
    for stream, engine in before.engines.items():
        if engine.events:
            try:
                after.bound.patterns[stream].check_readable(engine)
            except DataError as error:
                raise DataError(error.reason, fix=FROM_THE_START) from None
            after.engines[stream] = engine


def _point(name: str, rows: pa.Table, after: StepEvaluator, before: StepEvaluator) -> pa.Table:
    """The tuples of a point in the columns that it has now: in the same order, for the plan is the same."""
    kinds, old = after.program.plan_types.kinds[name], before.program.plan_types.kinds[name]
    variables = {after.generator.names.variable(each): each for each in kinds}
    others = iter([column for column in rows.column_names if not _is_reference(column, before, old)])
    columns: dict[str, pa.ChunkedArray | pa.Array] = {}
    for column in after.generator.columns(after.generator.definitions[name]):
        if _is_reference(column, after, kinds):
            if column not in rows.column_names and len(rows):
                reason = f"with a column that is new, or has a type only now, {name} matches events in another way"
                raise DataError(reason, fix=FROM_THE_START)
            columns[column] = rows[column] if column in rows.column_names else pa.nulls(0, pa.string())
            continue
        values = rows[next(others)]
        each = variables.get(column)
        if each is not None and kinds[each] is TERM and old[each] is not TERM:
            values = pa.array([None if value is None else tag(value) for value in values.to_pylist()], pa.string())
        elif each is not None and kinds[each] != old[each]:
            values = widen_column(values, kinds[each], f"var {each}")  # DuckDB would round them
        columns[column] = values
    return pa.table(columns)


def _is_reference(column: str, steps: StepEvaluator, kinds: Mapping[str, Kind]) -> bool:
    return column.endswith(f".{REF}") and column not in map(steps.generator.names.variable, kinds)
