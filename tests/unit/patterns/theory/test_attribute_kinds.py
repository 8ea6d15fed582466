"""Kinds of values that tests require of attributes."""

from __future__ import annotations

import math
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest

from ostinato.patterns.syntax.srem import nodes
from ostinato.patterns.syntax.srem.parse import parse
from ostinato.patterns.theory.attribute_kinds import attribute_kinds, constant_kind


def kinds(text: str) -> dict[str, str]:
    return attribute_kinds(test.test for test in nodes.tests(parse(text).expression))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[v > 3]", {"v": "number"}),
        ("[s = 'a' AND at < TIMESTAMP '2026-01-01']", {"s": "text", "at": "time"}),
        ("[flag AND NOT other]", {"flag": "boolean", "other": "boolean"}),
        ("[lower(s) = t]", {"s": "text", "t": "text"}),
        ("[length(s) > n]", {"s": "text", "n": "number"}),
        ("[v IN (1, 2) AND w = v] -> r . [r.w = u]", {"v": "number", "w": "number", "u": "number"}),
        ("[v > 3 OR v = 'a']", {}),
        ("[v = w] . [w IS NULL]", {}),
        ("[v * 2 > w]", {"v": "number"}),
    ],
)
def test_kinds_follow_from_operators_constants_and_each_other(text: str, expected: dict[str, str]) -> None:
    assert kinds(text) == expected


@pytest.mark.parametrize(
    ("constant", "kind"),
    [
        (1, "number"),
        (1.5, "number"),
        (Decimal("0.1"), "number"),
        ("a", "text"),
        (True, "boolean"),
        (datetime(2026, 1, 1), "time"),
        (None, None),
        (math.nan, None),
    ],
)
def test_kinds_of_constants(constant: Any, kind: str | None) -> None:
    assert constant_kind(constant) == kind
