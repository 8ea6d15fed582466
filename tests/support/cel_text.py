"""CEL text to the nodes of one part of it."""

from __future__ import annotations

from ostinato.core.expressions import Expr
from ostinato.patterns.syntax import nodes as n
from ostinato.patterns.syntax.cel.parse import parse


def predicate(text: str) -> Expr:
    """A condition on the one event x."""
    formula = parse(f"T AS x FILTER {text}").formula
    assert isinstance(formula, n.Filter)
    return formula.predicate
