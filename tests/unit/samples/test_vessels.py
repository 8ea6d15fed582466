"""Reports of vessels: plausible tracks, with arrivals that the pattern finds and others that turn away."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import ostinato as ost
from ostinato.samples import VESSEL_FEATURES, VESSEL_PATTERN, reports


@pytest.fixture(scope="module")
def events() -> pa.Table:
    return reports(40_000, vessels=10)


def test_the_same_for_the_same_seed(events: pa.Table) -> None:
    assert reports(40_000, vessels=10).equals(events)
    assert not reports(40_000, vessels=10, seed=8)["speed"].equals(events["speed"])


def test_rows_are_in_order_of_time_and_whole(events: pa.Table) -> None:
    assert len(events) == 40_000 and len(events["vessel"].unique()) == 10
    ts = events["ts"].to_numpy()
    assert (ts[1:] >= ts[:-1]).all()
    assert [name for name in events.column_names if events[name].null_count] == ["closing"]
    assert events["closing"].null_count == 10  # the first report of each


def test_vessels_move_as_fast_as_they_say(events: pa.Table) -> None:
    one = events.filter(pc.equal(events["vessel"], events["vessel"][0]))
    lon, lat, speed, heading = (one[name].to_numpy() for name in ("lon", "lat", "speed", "heading"))
    hours = np.diff(one["ts"].to_numpy()) / np.timedelta64(1, "h")
    east, north = np.diff(lon) * 60 * np.cos(np.radians(47.6)), np.diff(lat) * 60
    made_good = np.hypot(east, north) / hours
    assert (np.abs(made_good - speed[1:]) < 0.5).mean() > 0.99  # the others come to rest between two reports
    assert ((heading >= 0) & (heading < 360)).all() and speed.max() < 20
    gaps = hours * 60
    assert 3 < np.median(gaps) < 5 and 0.002 < (gaps > 8).mean() < 0.05


def test_distance_falls_as_fast_as_it_says(events: pa.Table) -> None:
    one = events.filter(pc.equal(events["vessel"], events["vessel"][1]))
    hours = np.diff(one["ts"].to_numpy()) / np.timedelta64(1, "h")
    fell = -np.diff(one["distance"].to_numpy()) / hours
    assert np.allclose(fell, one["closing"].to_numpy()[1:], atol=0.3)
    assert one["distance"].to_numpy().min() >= 0


def test_some_that_come_near_arrive_and_some_do_not(events: pa.Table) -> None:
    arrived = ost.cel(VESSEL_PATTERN).detect(events)
    assert 0.005 < len(arrived) / len(events) < 0.02
    begun = ost.cel(VESSEL_PATTERN.replace("distance < 0.5", "distance > 9")).detect(events)
    assert len(begun) > 0.05 * len(arrived)


def test_features_are_conditions(events: pa.Table) -> None:
    for feature in VESSEL_FEATURES:
        some = ost.cel(f"fix AS x FILTER x[{feature}]").count(events.slice(0, 2_000))
        assert 0 < some < 2_000


def test_more_vessels_than_events() -> None:
    assert len(reports(3, vessels=5)) == 3 and len(reports(0, vessels=2)) == 0
