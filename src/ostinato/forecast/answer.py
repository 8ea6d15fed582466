"""Forecasts as columns: found once per state, then looked up for every event."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.forecast.machine import Machine
from ostinato.kernels.protocol import Bools, Int32

COMPLETES = "completes"


def per_state(machine: Machine, nominal: float) -> pa.Table:
    """A row for each state; NULL where there is no forecast."""
    found = machine.forecasts(nominal)
    none, never = found.earliest == 0, found.point == 0
    likely = found.probability.astype(np.float64)
    columns: dict[str, Any] = {
        "probability": pa.array(likely),
        "beyond": pa.array(1 - likely),
        "point": pa.array(found.point, mask=never),
        "earliest": pa.array(found.earliest, mask=none),
        "latest": pa.array(found.latest, mask=none),
        "mass": pa.array(found.mass.astype(np.float64), mask=none),
    }
    seconds = machine.seconds(nominal)
    if seconds is not None:
        for name in ("point", "earliest", "latest"):
            columns[f"{name}_seconds"] = pa.array(getattr(seconds, name), from_pandas=True)  # NaN becomes NULL
    return pa.table(columns)


def answer(states_table: pa.Table, states: Int32, completes: Bools) -> pa.Table:
    """A row for each event, by the state after it."""
    return states_table.take(pa.array(states)).append_column(COMPLETES, pa.array(completes))


def schema(timed: bool) -> pa.Schema:
    """The columns of an answer, in order."""
    fields: list[tuple[str, pa.DataType]] = [("probability", pa.float64()), ("beyond", pa.float64())]
    fields += [(name, pa.int32()) for name in ("point", "earliest", "latest")] + [("mass", pa.float64())]
    fields += [(f"{name}_seconds", pa.float64()) for name in ("point", "earliest", "latest") if timed]
    return pa.schema([*fields, (COMPLETES, pa.bool_())])
