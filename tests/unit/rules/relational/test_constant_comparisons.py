"""Conditions that compare a variable with a constant."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from ostinato.rules.relational.constant_comparisons import ConstantComparison, as_constant_comparison, is_comparable
from ostinato.rules.relational.kinds import TERM
from ostinato.rules.syntax.parse import parse

KINDS = {"N": pa.int64(), "S": pa.string(), "T": TERM}


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("var N > 3", ConstantComparison("N", ">", 3)),
        ("3 > var N", ConstantComparison("N", "<", 3)),
        ('var S != "a"', ConstantComparison("S", "!=", "a")),
        ("var T = 1", None),
        ("var N + 1 > 3", None),
        ("var N > var N", None),
        ("{i} within 1 sec", None),
    ],
)
def test_comparisons(condition: str, expected: ConstantComparison | None) -> None:
    (rule,) = parse(f"DETECT x {{ }} ON event i: a {{{{ }}}} where {{ {condition} }} END").rules
    assert not isinstance(rule.body, tuple)
    (found,) = rule.body.where  # type: ignore[union-attr]
    assert as_constant_comparison(found, KINDS) == expected


@pytest.mark.parametrize(
    ("kind", "constant", "comparable"),
    [
        (pa.int32(), 3, True),
        (pa.float64(), 2**53, False),
        (pa.float32(), 3, False),
        (pa.string(), 3, False),
        (pa.bool_(), True, True),
        (pa.int64(), True, False),
    ],
)
def test_engines_agree_only_on_simple_types(kind: Any, constant: Any, comparable: bool) -> None:
    assert is_comparable(kind, constant) is comparable
