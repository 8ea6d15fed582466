"""Which values of an attribute conditions cannot tell apart: for events that are read one at a time.

Conditions mostly compare an attribute with constants. Then all values between two neighbouring constants are one class,
each constant is one, and so are NULL and NaN. Of a text that is only looked up, all other texts are one class. Where
conditions do more with an attribute, each of its values is a class of its own. What conditions hold is the same for all
events with the same classes, so it is evaluated once and then looked up.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa

from ostinato.core.arrow import is_text
from ostinato.core.expressions import COMPARISONS, Attribute, Call, Expr, Literal

Classify = Callable[[Any], Hashable]
_EXACT = 2**53  # whole numbers up to here are floats
_OTHER, _NAN = "other", "nan"


def classifier(kind: pa.DataType, constants: Iterable[Any] | None) -> Classify:
    """The class of each value of a column, which conditions compare with these constants; None: they do more."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if constants is None:
        return _itself
    if is_text(kind):
        return _classify_text(frozenset(map(str, constants)))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return _classify_number(constants, floating=bool(pa.types.is_floating(kind)))
    return _itself


def compared_constants(exprs: Iterable[Expr]) -> dict[str, set[Any] | None]:
    """Per attribute the constants it is compared with; None where an expression does anything else with it."""
    found: dict[str, set[Any] | None] = {}
    for expr in exprs:
        for name, constants in _uses(expr):
            known = found.setdefault(name, set())
            found[name] = None if known is None or constants is None else known | constants
    return found


def _uses(expr: Expr) -> Iterator[tuple[str, set[Any] | None]]:
    if isinstance(expr, Attribute):
        yield expr.name, None
    if not isinstance(expr, Call):
        return
    owners = [arg.name for arg in expr.args if isinstance(arg, Attribute)]
    constants = {arg.value for arg in expr.args if isinstance(arg, Literal)}
    simple = expr.op in (*COMPARISONS, "in", "is_null") and len(owners) == 1
    if simple and len(constants) and all(isinstance(arg, Attribute | Literal) for arg in expr.args):
        texts = all(isinstance(constant, str) for constant in constants)
        numbers = all(_is_number(constant) for constant in constants)
        ordered = expr.op not in ("=", "!=", "in")
        yield owners[0], constants if numbers or (texts and not ordered) else None
    elif simple and expr.op == "is_null":
        yield owners[0], set()
    else:
        for arg in expr.args:
            yield from _uses(arg)


def _is_number(constant: Any) -> bool:
    """Of those that compare with whole numbers and with floats as Python says."""
    if isinstance(constant, bool) or not isinstance(constant, int | float | Decimal) or constant != constant:
        return False
    return -_EXACT <= constant <= _EXACT and float(constant) == constant


def _itself(value: Any) -> Hashable:
    return type(value), value


def _classify_text(constants: frozenset[str]) -> Classify:
    return lambda value: value if value in constants or value is None else _OTHER


def _classify_number(constants: Iterable[Any], *, floating: bool) -> Classify:
    bounds = sorted({float(constant) for constant in constants})
    whole = all(bound.is_integer() for bound in bounds)
    count = len(bounds)

    def classify(value: Any) -> Hashable:
        if value is None:
            return None
        if value != value:
            return _NAN
        if not (floating or whole) and not -_EXACT <= value <= _EXACT:
            return type(value), value  # which would be compared as a float
        place = bisect_left(bounds, value)
        return 2 * place + (place < count and bounds[place] == value)

    return classify
