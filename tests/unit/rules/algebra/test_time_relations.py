"""What timers and temporal relations mean."""

from __future__ import annotations

import pytest

from ostinato.rules.algebra.time_relations import RELATIONS, SECOND, TIMERS, absolute_nanoseconds

SWAPPED = {"<": ">", ">": "<", "=": "="}
INVERSES = [
    ("before", "after"), ("during", "contains"), ("overlaps", "overlapped-by"), ("meets", "met-by"),
    ("starts", "started-by"), ("finishes", "finished-by"), ("equals", "equals"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("moment", "expected"),
    [(3, 3 * SECOND), (0.1, SECOND // 10), ("1970-01-01T00:00:01", SECOND), ("1970-01-01T01:00+01:00", 0)],
)
def test_absolute_times(moment: float | str, expected: int) -> None:
    assert absolute_nanoseconds(moment) == expected


@pytest.mark.parametrize(("relation", "inverse"), INVERSES)
def test_a_relation_and_its_inverse_say_the_same_of_swapped_events(relation: str, inverse: str) -> None:
    swapped = {(right, SWAPPED[comparison], left) for left, comparison, right in RELATIONS[relation]}
    assert swapped == set(RELATIONS[inverse])


def test_all_thirteen_relations_have_an_inverse() -> None:
    assert {name for pair in INVERSES for name in pair} == RELATIONS.keys() and len(RELATIONS) == 13


def test_backward_timers_end_where_forward_ones_begin() -> None:
    for side in ("start", "end"):
        assert TIMERS[f"from-{side}"][0] == TIMERS[f"from-{side}-backward"][1]
    assert len(TIMERS) == 10
