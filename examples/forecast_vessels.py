"""Forecast which vessels will come into port, and when, while they are still miles away."""

from __future__ import annotations

import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import ostinato as ost
from ostinato.samples import VESSEL_FEATURES, VESSEL_PATTERN, reports

LEARNED, WATCHED, BATCH = 300_000, 40_000, 2_000
MILES = (3, 5)  # distance of the vessels in the table: slowing down, and still undecided


def main() -> None:
    events = reports(LEARNED + WATCHED)
    forecaster = ost.Forecaster(VESSEL_PATTERN, order=5, horizon=24, threshold=0.7, features=VESSEL_FEATURES)
    learned = forecaster.fit(events.slice(0, LEARNED))
    print(
        f"learned from {LEARNED:,} reports and {int(learned.statistics.completions):,} arrivals: {learned.calibration}"
    )

    # A model is a folder of tables. A loaded model scores reports as they come, batch by batch.
    with tempfile.TemporaryDirectory() as folder:
        learned.save(Path(folder) / "arrivals")
        model = ost.ForecastModel.load(Path(folder) / "arrivals")
    scorer = model.scorer()
    live = events.slice(LEARNED)
    forecasts = pa.concat_tables(scorer.push(live.slice(first, BATCH)) for first in range(0, len(live), BATCH))
    for name in forecasts.column_names:
        live = live.append_column(name, forecasts[name])
    promises(live)
    board(live)


def promises(live: pa.Table) -> None:
    """Compare the forecasts for vessels some miles off with what happened."""
    said: list[float] = []
    came: list[bool] = []
    for vessel in live["vessel"].unique():
        rows = live.filter(pc.equal(live["vessel"], vessel))
        ends = np.flatnonzero(rows["completes"].to_numpy())
        distance, likely = rows["distance"].to_numpy(), rows["probability"].to_numpy()
        known = np.arange(len(rows)) < len(rows) - 24
        for place in np.flatnonzero(known & (distance > MILES[0]) & (distance < MILES[1])):
            said.append(likely[place])
            came.append(bool(((ends > place) & (ends <= place + 24)).any()))
    chance, arrived = np.array(said), np.array(came)
    print(f"\nvessels {MILES[0]} to {MILES[1]} miles off: what was said of the next 24 reports, and what came of it")
    for low in np.arange(0, 1, 0.2):
        some = (chance >= low) & (chance < low + 0.2)
        if some.any():
            share = f"{arrived[some].mean():4.0%} arrived, of {some.sum():5,} reports"
            print(f"  said {low:3.0%} to {low + 0.2:4.0%}, on average {chance[some].mean():3.0%}: {share}")


def board(live: pa.Table) -> None:
    """One approach, from its beginning to the berth."""
    arrival = live.filter(live["completes"]).slice(20, 1).to_pylist()[0]
    rows = live.filter(
        pc.and_(pc.equal(live["vessel"], arrival["vessel"]), pc.less_equal(live["ts"], arrival["ts"]))
    ).to_pylist()
    print(f"\nvessel {arrival['vessel']}:")
    for row in rows[-21::2]:
        when = "not to be expected" if row["probability"] < 0.5 else "expected"
        if row["earliest"] is not None:
            when = f"due {_clock(row, 'earliest')} to {_clock(row, 'latest')}"
        if row["completes"]:
            when = "arrived"
        where = f"{row['distance']:5.2f} miles off, {row['speed']:4.1f} knots"
        print(f"  {row['ts']:%H:%M}  {where}  {row['probability']:4.0%}  {when}")


def _clock(row: dict[str, Any], name: str) -> str:
    return f"{row['ts'] + timedelta(seconds=row[f'{name}_seconds']):%H:%M}"


if __name__ == "__main__":
    main()
