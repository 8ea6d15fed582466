"""Values and conditions that kernels do not compute, over Python values: texts in order, LIKE, decimals and more."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

from ostinato.core.expression_interpreter import evaluate_expression
from ostinato.core.expressions import (
    ARITHMETIC,
    CASE,
    COMPARISONS,
    LOGIC,
    NUMERIC_FUNCTIONS,
    Call,
    Expr,
    Literal,
    UserCall,
    Variable,
    to_text,
    variables,
)
from ostinato.core.user_functions import FAMILIES
from ostinato.errors import DataError
from ostinato.rules.relational.head_types import TEXT_FUNCTIONS, case_parts
from ostinato.rules.relational.kinds import TERM, Kind, type_family
from ostinato.rules.terms.data import is_absent

Bindings = Mapping[str, Any]
_TYPES: dict[str, Any] = {
    "number": (int, float, Decimal),
    "string": str,
    "timestamp": date,
    "date": date,
    "boolean": bool,
}


def compile_value(expr: Expr, kinds: Mapping[str, Kind]) -> Callable[[Bindings], Any]:
    """A function from the values of variables to that of the expression; None is NULL. `kinds` are their types."""
    terms = {name for name in variables(expr) if kinds[name] is TERM}
    wanted: dict[str, tuple[str, str]] = {}  # a variable as one type -> the variable, the type
    plain = _Reader(kinds, wanted).plain(expr) if terms else expr
    names = [name for name in variables(plain) if name not in wanted]

    def value(bindings: Bindings) -> Any:
        bound = {name: bindings[name] for name in names}
        for name, (of, family) in wanted.items():
            bound[name] = _untag(bindings[of], family)
        try:
            found = evaluate_expression(plain, bound, _null_beyond_64_bits)
        except TypeError as error:
            raise DataError(f"`{to_text(expr)}` does not fit {bound}: {error}") from error
        return None if is_absent(found) else found

    return value


def _null_beyond_64_bits(found: Any) -> Any:
    return None if isinstance(found, int) and not -(2**63) <= found < 2**63 else found


def _untag(value: Any, family: str) -> Any:
    """What a TERM holds, where that is of the family."""
    if not isinstance(value, _TYPES[family]) or (family == "number" and isinstance(value, bool)):
        return None
    return float(value) if family == "number" else value


class _Reader:
    """Lets every TERM in an expression be read as what it is compared with or computed to (relational.expressions)."""

    def __init__(self, kinds: Mapping[str, Kind], wanted: dict[str, tuple[str, str]]) -> None:
        self.kinds, self.wanted = kinds, wanted

    def plain(self, expr: Expr, family: str | None = None) -> Expr:
        if isinstance(expr, Variable) and self.kinds[expr.name] is TERM and family in _TYPES:
            name = f"{expr.name}\0{family}"
            self.wanted[name] = expr.name, family
            return Variable(name, expr.span)
        if not isinstance(expr, Call):
            return expr
        if isinstance(expr, UserCall):
            args = zip(expr.args, expr.function.takes, strict=False)
            return replace(expr, args=tuple(self.plain(arg, FAMILIES[kind]) for arg, kind in args))
        if expr.op == CASE:
            conditions, values = case_parts(expr)
            known = self._known(values)
            pairs = zip(conditions, values[:-1], strict=True)
            branches = [each for test, one in pairs for each in (self.plain(test, "boolean"), self.plain(one, known))]
            return Call(CASE, (*branches, self.plain(values[-1], known)), expr.span)
        if expr.op in COMPARISONS or expr.op in ("in", "coalesce"):
            known = self._known(expr.args)
            if known is None and expr.op not in ("=", "!=", "in", "coalesce"):
                both = [
                    Call(expr.op, tuple(self.plain(arg, each) for arg in expr.args)) for each in ("number", "string")
                ]
                return Call("coalesce", tuple(both), expr.span)
            return self._of(expr, known)
        if expr.op in ARITHMETIC or expr.op in NUMERIC_FUNCTIONS:
            return self._of(expr, "number")
        if expr.op in LOGIC or expr.op == "is_true":
            return self._of(expr, "boolean")
        return self._of(expr, "string" if expr.op in TEXT_FUNCTIONS or expr.op == "like" else None)

    def _of(self, expr: Call, family: str | None) -> Expr:
        return replace(expr, args=tuple(self.plain(arg, family) for arg in expr.args))

    def _known(self, args: tuple[Expr, ...]) -> str | None:
        families = [self._family(arg) for arg in args]
        return next((each for each in families if each not in ("unknown", "null")), None)

    def _family(self, expr: Expr) -> str:
        if isinstance(expr, Literal):
            value = expr.value
            if value is None or isinstance(value, bool):
                return "null" if value is None else "boolean"
            return next((name for name, kind in _TYPES.items() if isinstance(value, kind) and name != "date"), "number")
        if isinstance(expr, Variable):
            return type_family(self.kinds[expr.name])
        assert isinstance(expr, Call)
        if isinstance(expr, UserCall):
            return FAMILIES[expr.function.gives]
        if expr.op in (*COMPARISONS, *LOGIC, "in", "like", "is_null", "is_true"):
            return "boolean"
        if expr.op in ("coalesce", CASE):
            return self._known(expr.args if expr.op == "coalesce" else case_parts(expr)[1]) or "unknown"
        return "string" if expr.op in TEXT_FUNCTIONS and expr.op != "length" else "number"
