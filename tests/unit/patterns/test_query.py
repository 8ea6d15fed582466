"""What a user may say beside the query: options that are wrong get an error that names what is accepted."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import ostinato as ost
from ostinato.patterns.runtime import matcher

ROWS = [{"ts": 1, "type": "A"}, {"ts": 3, "type": "B"}]


@pytest.mark.parametrize(
    ("options", "reason", "accepted"),
    [
        ({"on_late": "x"}, "on_late cannot be 'x'", "'count', 'collect', 'raise'"),
        ({"on_late": None}, "on_late cannot be None", "'count', 'collect', 'raise'"),
        ({"lateness": math.nan}, "lateness cannot be nan", "'30 seconds'"),
        ({"lateness": math.inf}, "lateness cannot be inf", "below 292 years"),
        ({"lateness": -1}, "lateness cannot be -1", "not below 0"),
        ({"lateness": timedelta(seconds=-1)}, "lateness cannot be datetime.timedelta", "timedelta"),
        ({"lateness": 1e300}, "lateness cannot be 1e+300", "below 292 years"),
        ({"lateness": 10**400}, "lateness cannot be 1000", "below 292 years"),
        ({"lateness": True}, "lateness cannot be True", "a number of seconds"),
        ({"lateness": None}, "lateness cannot be None", "a number of seconds"),
        ({"lateness": "-5 seconds"}, "`-5 seconds` is not a duration", "30 seconds"),
        ({"time": 5}, "time cannot be 5", "name of a column"),
        ({"type": ["type"]}, "type cannot be ['type']", "name of a column"),
        ({"order_by": 5}, "order_by cannot be 5", "list of column names"),
        ({"order_by": ["ts", None]}, "order_by cannot be ['ts', None]", "list of column names"),
        ({"limits": 100}, "limits cannot be 100", "ostinato.Limits"),
    ],
    ids=str,
)
def test_wrong_options(options: dict[str, Any], reason: str, accepted: str) -> None:
    with pytest.raises(ost.OstinatoError) as caught:
        ost.cel("A ; B").engine(**options)
    assert reason in str(caught.value) and accepted in str(caught.value).partition("fix: ")[2]


@pytest.mark.parametrize("lateness", [0, 2, 2.5, np.int64(2), np.float32(2), "2 s", timedelta(minutes=1)], ids=str)
def test_every_form_of_lateness(lateness: Any) -> None:
    engine = ost.cel("A ; B").engine(lateness=lateness)
    found = [engine.push(ROWS), engine.flush()]
    assert sum(map(len, found)) == 1


def test_order_by_takes_any_names() -> None:
    names: list[Any] = ["ts", ["ts"], ("ts",), {"ts": 1}.keys()]
    for ties in names:
        assert len(ost.cel("A ; B").detect(ROWS, order_by=ties)) == 1


def test_a_key_called_events_leaves_no_room_for_the_events() -> None:
    rows = [row | {"events": 7} for row in ROWS]
    query = ost.cel("A ; B PARTITION BY events")
    assert query.detect(rows).to_pylist() == [{"events": 7, "start": 1, "end": 3, "positions": [0, 1]}]
    with pytest.raises(ost.QueryError, match="column `events` of its own"):
        query.detect(rows, events=True)


def test_a_labelled_select_may_be_partitioned_by_any_name() -> None:
    rows = [row | {"start": 7} for row in ROWS]
    assert ost.cel("SELECT x.start WHERE A AS x ; B PARTITION BY start").detect(rows).to_pylist() == [{"start": 7}]


@pytest.mark.parametrize(
    ("text", "kernel"),
    [
        ("A ; B", "match"),
        ("SELECT LAST * WHERE A ; B WITHIN 9 EVENTS", "ranked"),
        ("SELECT MAX * WHERE A ; B+ ; C WITHIN 9 EVENTS", "replay"),
        ("(A AS x ; B AS y) FILTER x.id < y.id", "correlated"),
    ],
)
def test_the_kernel_that_will_run_is_prefetched(text: str, kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    prefetched: list[str] = []
    monkeypatch.setattr(matcher, "prefetch", lambda found: prefetched.append(found.kernel_module))
    ost.cel(text).engine().push([{"type": "A", "id": 1}])
    assert prefetched == [f"ostinato.patterns.kernels.{kernel}"]


NAN = math.nan


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0, NAN, 3.0], {"sum": NAN, "avg": NAN, "min": 1.0, "max": 3.0, "count": 3}),
        ([NAN, None, 2.0], {"sum": NAN, "avg": NAN, "min": 2.0, "max": 2.0, "count": 2}),
        ([NAN, NAN], {"sum": NAN, "avg": NAN, "min": NAN, "max": NAN, "count": 2}),
    ],
    ids=str,
)
def test_aggregates_of_nan(values: list[float | None], expected: dict[str, float]) -> None:
    items = ", ".join(f"{name}(x.v) AS `{name}`" for name in expected)
    rows = [{"type": "A", "v": value} for value in values] + [{"type": "B", "v": 0.0}]
    (found,) = ost.cel(f"SELECT NXT {items} WHERE (A AS x)+ ; B").detect(rows).to_pylist()
    assert found == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("scale", [1, 0.1, Decimal("0.1"), timedelta(milliseconds=1)], ids=str)
def test_a_window_of_no_time_is_one_instant(scale: Any) -> None:
    epoch = datetime(2026, 1, 1) if isinstance(scale, timedelta) else 0
    moments = (("A", 1), ("B", 1), ("C", 1), ("B", 2), ("A", 3), ("C", 4))
    rows = [{"ts": epoch + time * scale, "type": kind} for kind, time in moments]
    for query, expected in (("A ; B", [[0, 1]]), ("SELECT MAX * WHERE A ; ANY+", [[0, 1], [0, 1, 2]])):
        assert ost.cel(f"{query} WITHIN 0 seconds").detect(rows)["positions"].to_pylist() == expected
    assert ost.cel("A ; NOT B WITHIN 0 seconds").detect(rows)["positions"].to_pylist() == [[4]]


def test_what_is_no_text_is_no_query() -> None:
    with pytest.raises(ost.QueryError, match="not text"):
        ost.cel("A AS x FILTER x.v = '\ud800'")


def test_types_that_are_numbers_are_found_by_their_text() -> None:
    whole = [{"type": number} for number in (1, -2, 1)]
    assert ost.cel("`1` ; `1`").detect(whole)["positions"].to_pylist() == [[0, 2]]
    assert ost.cel("`-2`").count(whole) == 1
    assert ost.cel("ANY").count(whole) == 3
    assert ost.cel("`1.5`").count([{"type": 1.5}]) == 1
    for rows in (whole, [{"type": 0.5}]):
        with pytest.raises(ost.DataError, match=r"no event is of type A: the types are the numbers of `type`") as error:
            ost.cel("`1` ; A").detect(rows)
        assert error.value.fix is not None and "`3` AS x" in error.value.fix
