"""Names of the columns of an answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ostinato.core.expressions import AGGREGATES, Call, Expr, Variable, attribute_path, is_attribute, to_text, variables

ANSWER_COLUMNS = ("start", "end", "positions")  # of SELECT *; `events` only where it is asked for
REACHED = "reached"  # with WITH TIMEOUT ROWS


def item_names(exprs: Sequence[Expr], given: Sequence[str | None] | None = None) -> list[str]:
    """The column of each SELECT item: the given name, or that of its attribute, with the variable if two clash."""
    given = given or [None] * len(exprs)
    short = [name or _item_name(expr, with_variable=False) for expr, name in zip(exprs, given, strict=True)]
    count = Counter(short)
    return [
        _item_name(expr, with_variable=True) if name is None and count[default] > 1 else default
        for expr, name, default in zip(exprs, given, short, strict=True)
    ]


def _item_name(expr: Expr, *, with_variable: bool) -> str:
    if isinstance(expr, Variable):
        return expr.name
    if is_attribute(expr):
        (variable,) = variables(expr)
        name = attribute_path(expr)[-1]
        return f"{variable}_{name}" if with_variable else name
    if isinstance(expr, Call) and expr.op in AGGREGATES:
        (target,) = expr.args
        if isinstance(target, Variable) or is_attribute(target):
            return f"{expr.op}_{_item_name(target, with_variable=with_variable)}"
    return to_text(expr)
