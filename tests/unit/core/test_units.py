"""Units of time in query texts."""

from __future__ import annotations

import pytest

from ostinato.core.units import LARGEST, UNITS, nanoseconds, parse_duration
from ostinato.errors import QueryError, Span

PLACE = Span(3, 4)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 ns", 1),
        ("30 seconds", 30 * 10**9),
        (" 0.5h ", 1_800 * 10**9),
        ("5 MIN", 300 * 10**9),
        ("2 weeks", 14 * 86_400 * 10**9),
        ("1.5 ns", 2),
        ("9223372036.854775807 s", LARGEST),
    ],
)
def test_durations(text: str, expected: int) -> None:
    assert parse_duration(text) == expected


def test_long_names_have_a_plural() -> None:
    assert UNITS["second"] == UNITS["seconds"] == UNITS["sec"] == UNITS["secs"] == UNITS["s"]
    assert "hs" not in UNITS
    assert "mss" not in UNITS


@pytest.mark.parametrize("text", ["", "seconds", "5", "-1 s", "1 s 2", "one second", "1,5 s"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(QueryError, match="is not a duration"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("number", "unit", "message"),
    [
        ("3", "EVENTS", "not a number of events"),
        ("3", "months", "a month has no fixed length\n.*30 days"),
        ("3", "secnds", "unknown unit `secnds`\n.*`seconds`"),
        ("300", "years", "a year has no fixed length"),
        ("20000", "weeks", "longer than 292 years"),
        ("1" + "0" * 400, "ns", "longer than 292 years"),
    ],
)
def test_bad_units(number: str, unit: str, message: str) -> None:
    with pytest.raises(QueryError, match=message) as caught:
        nanoseconds(number, unit, PLACE)
    assert caught.value.span == PLACE


def test_errors_of_durations_show_the_text() -> None:
    with pytest.raises(QueryError, match=r"5 fortnights\n +\^\^\^\^"):
        parse_duration("5 fortnights")
