"""What some rules read of a DataFrame: columns, and rows. What they do not need not be moved to their tasks."""

from __future__ import annotations

import operator
from functools import reduce
from typing import TYPE_CHECKING

from ostinato.rules.algebra.nodes import Point, Select, inputs, walk
from ostinato.rules.relational.comparisons import Comparison, comparison
from ostinato.rules.relational.matching import Flat, Matching
from ostinato.rules.runtime.batch import Fitted
from ostinato.rules.syntax.nodes import Condition
from ostinato.spark.columns import column

if TYPE_CHECKING:
    from pyspark.sql import Column

_COMPARE = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def columns_read(fitted: Fitted) -> frozenset[str] | None:
    """The columns that matter; None: all do."""
    columns, found = fitted.columns, fitted.program.binding.matchings.values()
    if columns.document is not None or fitted.patterns or any(each.referenced for each in found):
        return None
    read = {columns.moments.begin, columns.moments.end, *([columns.type] if columns.type is not None else [])}
    for each in found:
        assert each.flat is not None  # else it is referenced
        read |= {path[0] for path in _paths(each.flat)} & columns.attributes.types.keys()
    return frozenset(read)


def _paths(flat: Flat) -> list[tuple[str, ...]]:
    variables = [path for paths in flat.variables.values() for path in paths]
    return [*variables, *flat.present, *flat.absent, *(path for path, _ in flat.equal)]


def rows_read(fitted: Fitted, label: str) -> Column | None:
    """Which rows of the label may matter: where all uses of a match compare its variables; None: any may."""
    wanted: list[Column] = []
    for name, found in fitted.program.binding.matchings.items():
        if found.match.stream != label:
            continue
        for conditions in _uses(fitted, name):
            told = [comparison(each, found.kinds) for each in conditions] if found.flat is not None else []
            tried = [_test(each, found, fitted) for each in told if each is not None]
            tests = [test for test in tried if test is not None]
            if not tests:
                return None
            wanted.append(reduce(operator.and_, tests))
    return reduce(operator.or_, wanted) if wanted else None


def _uses(fitted: Fitted, name: str) -> list[tuple[Condition, ...]]:
    """The conditions under which each use of a point reads its tuples."""
    found: list[tuple[Condition, ...]] = []
    for definition in fitted.program.plan.plan.definitions:
        for node in walk(definition.node):
            if any(isinstance(below, Point) and below.name == name for below in inputs(node)):
                found.append(node.conditions if isinstance(node, Select) else ())
    return found or [()]


def _test(each: Comparison, found: Matching, fitted: Fitted) -> Column | None:
    assert found.flat is not None
    path = found.flat.variables[each.name][0]
    if len(path) > 1 or path[0] not in fitted.columns.attributes.types:
        return None
    from pyspark.sql import functions as f

    made: Column = _COMPARE[each.op](column(path[0]), f.lit(each.value))
    return made
