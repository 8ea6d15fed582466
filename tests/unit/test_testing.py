"""The helpers we offer to others hold for ourselves."""

from __future__ import annotations

import doctest

import pytest

import ostinato as ost
from ostinato import testing
from ostinato.testing import assert_matches, events, run


def test_the_documented_example() -> None:
    assert doctest.testmod(testing).failed == 0


@pytest.mark.parametrize("batch", [0, 1, 2, 7])
@pytest.mark.parametrize("restart", [False, True])
def test_answers_do_not_depend_on_batching(batch: int, restart: bool) -> None:
    query = ost.cel("(A AS x)+ ; B AS y WITHIN 3 seconds")
    assert_matches(run(query, events("A A B . A B"), batch=batch, restart=restart), [(0, 2), (1, 2), (0, 1, 2), (3, 4)])


def test_attributes_go_into_every_event() -> None:
    assert events("A . B", start=5, k=1) == [{"type": "A", "ts": 5, "k": 1}, {"type": "B", "ts": 7, "k": 1}]


def test_the_comparison_says_what_is_wrong() -> None:
    found = run(ost.cel("A AS x ; B AS y"), events("A B B"))
    with pytest.raises(AssertionError, match=r"missing: \[\(1, 2\)\]; not expected: \[\(0, 1\)\]"):
        assert_matches(found, [(0, 2), (1, 2)])
