"""Kinds of values that tests require of attributes: a column has one kind, so the events of a string must agree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ostinato.core import expressions as ex
from ostinato.core.expressions import Expr
from ostinato.patterns.theory.comparisons import sort_place

Kinds = dict[str, str]  # attribute -> "text", "number", "time" or "boolean"

_OPERANDS = {
    "boolean": ("and", "or", "not", "is_true"),
    "text": (*ex.STRING_FUNCTIONS, "like", "rlike"),
    "number": (*ex.NUMERIC_FUNCTIONS, "*", "/"),
}


def attribute_kinds(tests: Iterable[Expr]) -> Kinds:
    """The kind that tests require of each attribute, also through other attributes; none where they require several."""
    forced: dict[str, set[str]] = {}
    links: list[tuple[str, str]] = []
    for test in tests:
        _demand(test, "boolean", forced)
        for node in ex.walk(test):
            if isinstance(node, ex.Call):
                _read(node, forced, links)
    changed = True
    while changed:
        changed = False
        for one, other in links:
            both = forced.get(one, set()) | forced.get(other, set())
            for name in (one, other):
                changed |= both != forced.get(name, set())
                forced[name] = both
    return {name: next(iter(found)) for name, found in forced.items() if len(found) == 1}


def constant_kind(constant: Any) -> str | None:
    """The kind of a constant; None for NULL and NaN, which every column may have."""
    spot = sort_place(constant)
    return "boolean" if isinstance(constant, bool) else spot and spot[0]


def _read(call: ex.Call, forced: dict[str, set[str]], links: list[tuple[str, str]]) -> None:
    """What a call requires of its arguments."""
    if call.op in (*ex.COMPARISONS, "in"):
        names = [arg.name for arg in call.args if isinstance(arg, ex.Attribute)]
        links += [(names[0], other) for other in names[1:]]
        for kind in dict.fromkeys(kind for arg in call.args for kind in _kinds_of(arg)):
            for arg in call.args:
                _demand(arg, kind, forced)
        return
    for arg in call.args:
        for kind, operators in _OPERANDS.items():
            if call.op in operators:
                _demand(arg, kind, forced)


def _kinds_of(side: Expr) -> Iterator[str]:
    """The kind of values of one side of a comparison, where it is known."""
    if isinstance(side, ex.Literal) and (kind := constant_kind(side.value)):
        yield kind
    elif isinstance(side, ex.Call) and side.op in (*ex.NUMERIC_FUNCTIONS, *ex.STRING_FUNCTIONS):
        yield "number" if side.op in (*ex.NUMERIC_FUNCTIONS, "length") else "text"


def _demand(side: Expr, kind: str, forced: dict[str, set[str]]) -> None:
    if isinstance(side, ex.Attribute):
        forced.setdefault(side.name, set()).add(kind)
