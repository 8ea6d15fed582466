"""Numbers of things in words."""

from __future__ import annotations

import pytest

from ostinato.core.text.counts import format_count


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [
        (0, "match", "0 matches"),
        (1, "match", "1 match"),
        (1, "state", "1 state"),
        (0.9, "completion", "1 completion"),
        (1200.0, "event", "1,200 events"),
        (1, "query", "1 query"),
        (3, "query", "3 queries"),
    ],
)
def test_counts(number: float, noun: str, text: str) -> None:
    assert format_count(number, noun) == text
