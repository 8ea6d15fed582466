"""The columns and rows of a DataFrame that some rules read: only those are moved to their tasks."""

from __future__ import annotations

import operator
from functools import reduce
from typing import TYPE_CHECKING

from ostinato.rules.algebra.nodes import Point, Select, inputs, stream_label, walk
from ostinato.rules.relational.constant_comparisons import COMPARE, ConstantComparison, as_constant_comparison
from ostinato.rules.relational.match_plan import MatchPlan
from ostinato.rules.runtime.bound_program import BoundProgram
from ostinato.rules.syntax.nodes import Condition
from ostinato.spark.columns import column

if TYPE_CHECKING:
    from pyspark.sql import Column


def required_columns(bound: BoundProgram) -> frozenset[str] | None:
    """The columns that the rules read; None where they read all."""
    columns, found = bound.columns, bound.sql.plan_types.match_plans.values()
    if columns.document is not None or bound.patterns or any(each.referenced for each in found):
        return None
    read = {columns.times.begin, columns.times.end, *([columns.type] if columns.type is not None else [])}
    for each in found:
        assert each.flat is not None  # else it is referenced
        read |= {path[0] for path in each.flat.paths} & columns.attributes.types.keys()
    return frozenset(read)


def required_rows(bound: BoundProgram, label: str) -> Column | None:
    """The rows of a label that may matter, where all uses of its matches compare with constants; None where any may."""
    wanted: list[Column] = []
    for name, found in bound.sql.plan_types.match_plans.items():
        if stream_label(found.match.stream) != label:
            continue
        if not isinstance(found.match.stream, str):
            return None  # a row that rules do not look for replaces another one all the same
        for conditions in _uses(bound, name):
            comparisons = (
                [as_constant_comparison(each, found.kinds) for each in conditions] if found.flat is not None else []
            )
            tried = [_test(each, found, bound) for each in comparisons if each is not None]
            tests = [test for test in tried if test is not None]
            if not tests:
                return None
            wanted.append(reduce(operator.and_, tests))
    return reduce(operator.or_, wanted) if wanted else None


def _uses(bound: BoundProgram, name: str) -> list[tuple[Condition, ...]]:
    """The conditions under which each use of a point reads its tuples."""
    found: list[tuple[Condition, ...]] = []
    for definition in bound.sql.plan.query_plan.definitions:
        for node in walk(definition.node):
            if any(isinstance(below, Point) and below.name == name for below in inputs(node)):
                found.append(node.conditions if isinstance(node, Select) else ())
    return found or [()]


def _test(each: ConstantComparison, found: MatchPlan, bound: BoundProgram) -> Column | None:
    assert found.flat is not None
    path = found.flat.variables[each.name][0]
    if len(path) > 1 or path[0] not in bound.columns.attributes.types:
        return None
    from pyspark.sql import functions as f

    made: Column = COMPARE[each.op](column(path[0]), f.lit(each.value))
    return made
