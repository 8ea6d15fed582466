"""Answers that are computed at once: those whose values may turn out not to fit, so that only their query is stopped,
and those that count what came before."""

from __future__ import annotations

import pyarrow as pa

from ostinato.core.arrow import is_text
from ostinato.core.expressions import Attribute, Call, Expr, Variable, attributes, walk
from ostinato.patterns.live.matches import QueryMatches
from ostinato.patterns.runtime.engine import Engine


def at_once(engine: Engine) -> bool:
    """Whether the answers of a query that is bound must be computed as its matches complete."""
    return engine.identity is not None or may_fail(engine)


def may_fail(engine: Engine) -> bool:
    """Whether the SELECT of a query that is bound may fail on a value: by a CAST, or by numbers that grow too large."""
    return any(_may_fail(item.expr, engine.stream.schema) for item in engine.compiled.query.items or ())


def _may_fail(expr: Expr, schema: pa.Schema) -> bool:
    if isinstance(expr, Attribute | Variable):
        return False
    if any(isinstance(node, Call) and node.op == "cast" for node in walk(expr)):
        return True
    return not all(_is_safe(schema.field(node.name).type) for node in attributes(expr))


def _is_safe(kind: pa.DataType) -> bool:
    """Whether calculations with such values end in ones that their column can hold."""
    return bool(pa.types.is_float32(kind) or pa.types.is_float64(kind) or pa.types.is_boolean(kind) or is_text(kind))


def compute(part: QueryMatches) -> QueryMatches:
    """The same matches, with their table. DataError if that cannot be made."""
    table: pa.Table = part.table()
    return QueryMatches(part.query, part.count, lambda: table, table.to_pylist)
