"""Unary predicates as text."""

from __future__ import annotations

import pytest

from ostinato.core.conditions import Condition, format_condition
from ostinato.core.expressions import CURRENT, Attribute, Call, Expr, Literal

HOT: Expr = Call(">", (Attribute(CURRENT, "v"), Literal(40)))
EITHER: Expr = Call("or", (HOT, Call("is_null", (Attribute(CURRENT, "v"),))))


@pytest.mark.parametrize(
    ("condition", "test", "text"),
    [
        (Condition(), None, "TRUE"),
        (Condition("T"), None, "type = T"),
        (Condition(None, EITHER), None, "v > 40 OR v IS NULL"),
        (Condition("T", EITHER), None, "type = T AND (v > 40 OR v IS NULL)"),
        (Condition(None, EITHER), HOT, "(v > 40 OR v IS NULL) AND v > 40"),
        (Condition("T"), EITHER, "type = T AND (v > 40 OR v IS NULL)"),
    ],
)
def test_conditions_as_text(condition: Condition, test: Expr | None, text: str) -> None:
    assert format_condition(condition, test) == text


def test_conditions_are_equal_wherever_they_were_written() -> None:
    assert len({Condition("T", HOT), Condition("T", HOT), Condition("T")}) == 2
