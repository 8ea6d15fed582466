"""Options of a run: what they mean, and what is said about bad ones."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from ostinato.core.options import check_column_name, check_column_names, check_on_late, parse_delay
from ostinato.errors import OstinatoError

SECOND = 10**9


@pytest.mark.parametrize(
    ("given", "nanoseconds"),
    [
        ("30 seconds", 30 * SECOND),
        ("1.5 ms", 1_500_000),
        (0, 0),
        (2.5, 2_500_000_000),
        (timedelta(minutes=1, microseconds=1), 60_000_001_000),
    ],
)
def test_delays(given: Any, nanoseconds: int) -> None:
    assert parse_delay(given) == nanoseconds


@pytest.mark.parametrize("given", [-1, True, None, float("nan"), timedelta(seconds=-1), [1]])
def test_what_is_no_delay(given: Any) -> None:
    with pytest.raises(OstinatoError, match=r"patience cannot be .*\n.*'30 seconds'"):
        parse_delay(given, "patience")


def test_a_delay_has_an_end() -> None:
    with pytest.raises(OstinatoError, match="below 292 years"):
        parse_delay(1e12)


def test_late_events() -> None:
    assert [check_on_late(word) for word in ("count", "collect", "raise")] == ["count", "collect", "raise"]
    with pytest.raises(OstinatoError, match=r"on_late cannot be 'drop'\n.*'count', 'collect', 'raise'"):
        check_on_late("drop")


def test_names_of_columns() -> None:
    assert (check_column_name("time", None), check_column_name("time", "at")) == (None, "at")
    assert [check_column_names("order_by", given) for given in ("n", ["a", "b"], ())] == [("n",), ("a", "b"), ()]
    for given in (5, ["a", 1]):
        with pytest.raises(OstinatoError, match="list of column names"):
            check_column_names("order_by", given)
    with pytest.raises(OstinatoError, match="type cannot be 3"):
        check_column_name("type", 3)
