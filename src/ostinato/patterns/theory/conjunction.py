"""Tests that hold together, as one flat test without repetitions."""

from __future__ import annotations

from collections.abc import Iterable

from ostinato.core.expressions import FALSE, TRUE, Call, Expr, conjuncts


def conjunction(tests: Iterable[Expr]) -> Expr:
    """TRUE where all tests are TRUE."""
    parts = dict.fromkeys(part for test in tests for part in conjuncts(test) if part != TRUE)
    if FALSE in parts:
        return FALSE
    return Call("and", tuple(parts)) if len(parts) > 1 else next(iter(parts), TRUE)
