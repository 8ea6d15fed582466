"""Patterns and features that can be forecast, and those that cannot."""

from __future__ import annotations

from typing import Any

import pytest

import ostinato as ost
from support.forecast import CYCLE


@pytest.mark.parametrize(
    ("query", "options", "message"),
    [
        ("A AS a ; NOT B AS b WITHIN 5 seconds", {}, "cannot be forecast"),
        ("A AS a ; B AS b PARTITION BY k CONSUME BY ANY", {}, "CONSUME BY PARTITION"),
        ("A AS a ; B AS b AFTER MATCH SKIP TO NEXT ROW", {}, "without it"),
        ("A AS a ; B AS b LIMIT 2", {}, "without LIMIT"),
        ("A AS a ; B AS b FILTER a.v < b.v", {}, "add WITHIN"),
        ("A AS a : B AS b : C:+ FILTER a.v < b.v", {}, "add WITHIN"),
        (CYCLE, {"features": ["v >"]}, "in a feature"),
        (CYCLE, {"features": "v > 1"}, "list of conditions"),
        (CYCLE, {"features": [""]}, "condition on one event"),
        (CYCLE, {"features": None}, "features is a list of conditions, not None"),
        (CYCLE, {"features": ["x > .5] WITHIN 3 EVENTS --"]}, "in a feature"),
        (CYCLE, {"features": ["x > 3] FILTER event[y > 2"]}, "in a feature"),
        (CYCLE, {"features": ["1 > 0"]}, "reads no attribute"),
        (CYCLE, {"features": ["true"]}, "reads no attribute"),
        (3, {}, "a forecast is of a pattern"),
    ],
)
def test_what_cannot_be_forecast_is_refused(query: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ost.OstinatoError, match=message):
        ost.Forecaster(query, **options)


def test_a_feature_may_have_a_comment() -> None:
    assert ost.Forecaster(CYCLE, features=["v > 1 -- fast"]).pattern.columns == {"v"}
