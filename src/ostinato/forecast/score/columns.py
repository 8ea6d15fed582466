"""Forecasts as columns: found once per state, then looked up for every event."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Bools, Float32, Float64, Int32
from ostinato.core.options import bad_option
from ostinato.forecast.chain.predictor import Predictor
from ostinato.forecast.score.scores import probability_within
from ostinato.forecast.settings import to_python

COMPLETES = "completes"
BEFORE_WITHIN = 2  # columns: the probability, and what is beyond


def state_table(predictor: Predictor, nominal: float, nominal_seconds: float) -> pa.Table:
    """A row for each state; NULL where there is no forecast."""
    found = predictor.forecasts(nominal)
    none, never = found.earliest == 0, found.point == 0
    chance = _certain(found.probability)
    columns: dict[str, Any] = {
        "probability": pa.array(chance),
        "beyond": pa.array(1 - chance),
        "point": pa.array(found.point, mask=never),
        "earliest": pa.array(found.earliest, mask=none),
        "latest": pa.array(found.latest, mask=none),
        "mass": pa.array(_certain(found.mass), mask=none),
    }
    seconds = predictor.seconds(nominal_seconds, found.probability)
    if seconds is not None:
        columns["point_seconds"] = pa.array(seconds.point, from_pandas=True)  # NaN becomes NULL
        for name in ("earliest", "latest", "mass"):
            columns[f"{name}_seconds"] = pa.array(np.where(none, np.nan, getattr(seconds, name)), from_pandas=True)
    return pa.table(columns)


def add_within(states_table: pa.Table, waiting: Float32, within: Sequence[int]) -> pa.Table:
    """With one more column for each number of events: the probability of a completion within so many."""
    whole = states_table["probability"].to_numpy()
    for place, ahead in enumerate(within, BEFORE_WITHIN):
        # Never more than that of the whole horizon, which was rounded down.
        chance = np.minimum(_certain(probability_within(waiting, ahead)), whole) if ahead < waiting.shape[1] else whole
        states_table = states_table.add_column(place, f"within_{ahead}", pa.array(chance))
    return states_table


def check_within(within: object, horizon: int) -> tuple[int, ...]:
    """Raises OstinatoError unless these are numbers of events up to the horizon."""
    given = (
        [to_python(each) for each in within] if isinstance(within, Iterable) and not isinstance(within, str) else None
    )
    if given is None or any(isinstance(each, bool) or not isinstance(each, int) for each in given):
        raise bad_option("within", within, "a list of numbers of events, such as [5, 20]")
    for each in given:
        if not 1 <= each <= horizon:
            raise bad_option("within", each, f"numbers of events from 1 to {horizon:,}, the horizon that was learned")
    return tuple(sorted(set(given)))


def _certain(chances: Float32 | Float64) -> Float64:
    """Stored probabilities are rounded down: what falls short of 1 by no more than that is 1."""
    found: Float64 = np.where(chances > 1 - 2.0**-22, 1.0, chances.astype(np.float64))
    return found


def event_rows(states_table: pa.Table, states: Int32, completes: Bools) -> pa.Table:
    """A row for each event, by the state after it."""
    return states_table.take(pa.array(states)).append_column(COMPLETES, pa.array(completes))


def forecast_schema(timed: bool, within: Sequence[int] = ()) -> pa.Schema:
    """The columns of an answer, in order."""
    fields: list[tuple[str, pa.DataType]] = [("probability", pa.float64()), ("beyond", pa.float64())]
    fields += [(f"within_{ahead}", pa.float64()) for ahead in within]
    fields += [(name, pa.int32()) for name in ("point", "earliest", "latest")] + [("mass", pa.float64())]
    fields += [(f"{name}_seconds", pa.float64()) for name in ("point", "earliest", "latest", "mass") if timed]
    return pa.schema([*fields, (COMPLETES, pa.bool_())])
