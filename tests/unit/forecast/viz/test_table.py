"""Forecasts in few columns for the terminal."""

from __future__ import annotations

import pyarrow as pa
import pytest

from ostinato.forecast.score.columns import forecast_schema
from ostinato.forecast.viz.table import narrow_forecasts


def forecasts(**values: object) -> pa.Table:
    row = dict.fromkeys(forecast_schema(timed=True, within=[5]).names) | {"probability": 0.12345, "completes": False}
    schema = pa.schema([("card", pa.string()), *forecast_schema(timed=True, within=[5])])
    return pa.Table.from_pylist([{"card": "x"} | row | values], schema)


def test_an_interval_is_one_column() -> None:
    (row,) = narrow_forecasts(forecasts(earliest=2, latest=10, point=3, within_5=0.5, completes=True)).to_pylist()
    assert row == {
        "card": "x",
        "probability": 0.123,
        "within_5": 0.5,
        "point": 3,
        "interval": "2–10",
        "in": "–",
        "completes": "yes",
    }


@pytest.mark.parametrize(
    ("earliest", "latest", "shown"),
    [(0.4, 1.2, "0–1 s"), (30.0, 119.0, "30–119 s"), (60.0, 120.0, "1–2 min"), (7200.0, 7300.0, "2 h"),
     (86_400.0, 172_800.0, "1–2 d")],
)  # fmt: skip
def test_spans_are_in_the_unit_that_suits_them(earliest: float, latest: float, shown: str) -> None:
    found = narrow_forecasts(forecasts(earliest=1, latest=1, earliest_seconds=earliest, latest_seconds=latest))
    assert found["in"].to_pylist() == [shown] and found["interval"].to_pylist() == ["1"]


def test_without_a_time_there_are_no_spans() -> None:
    plain = forecasts().select(["card", *forecast_schema(timed=False).names])
    assert "in" not in narrow_forecasts(plain).column_names
