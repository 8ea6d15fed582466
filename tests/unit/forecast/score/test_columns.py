"""Forecasts as columns: found per state, looked up per event."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.forecast.score.columns import add_within, event_rows, forecast_schema, state_table
from support.forecast import CYCLE, cycle


@pytest.mark.parametrize("timed", [True, False])
def test_the_columns_are_those_of_the_schema(timed: bool) -> None:
    events = cycle(300) if timed else cycle(300).drop_columns(["ts"])
    model = ost.Forecaster(CYCLE, order=1, horizon=5).fit(events)
    states = add_within(state_table(model.predictor, 0.5, 0.5), model.predictor.waiting, [2, 5])
    found = event_rows(states, np.zeros(3, np.int32), np.array([False, True, False]))
    assert found.schema.equals(forecast_schema(timed=timed, within=[2, 5]))
    assert found["completes"].to_pylist() == [False, True, False] and found["point"].null_count == 0
    assert found["within_5"].equals(found["probability"])


def test_a_threshold_that_nothing_reaches_gives_no_interval() -> None:
    predictor = ost.Forecaster(CYCLE, order=1, horizon=5).fit(cycle(300)).predictor
    found = state_table(predictor, 2.0, 2.0)
    for name in ("earliest", "latest", "mass", "earliest_seconds", "latest_seconds", "mass_seconds"):
        assert found[name].null_count == len(found)
    assert pa.compute.all(pa.compute.equal(pa.compute.add(found["probability"], found["beyond"]), 1)).as_py()
