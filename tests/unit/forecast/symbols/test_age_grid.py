"""Ages in windows along time or an attribute: they do not drift, and runs die when their window is over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ostinato as ost
from ostinato.core.clock import Clock
from ostinato.forecast.pattern import ForecastPattern
from ostinato.forecast.symbols.age_grid import Grid, GridWalk, Pace, choose_grid
from ostinato.forecast.symbols.event_spacing import PaceMeter

pytestmark = pytest.mark.slow

SECOND = 10**9
CLOCK = Clock("ts", pa.int64())


def table(times: Any, seed: int, shares: tuple[float, ...] = (0.2, 0.1, 0.7)) -> pa.Table:
    kinds = np.random.default_rng(seed).choice(list("ABC"), len(times), p=shares)
    return pa.table({"ts": times, "type": kinds})


def calibration_error(model: ost.ForecastModel, events: pa.Table) -> float:
    rows = model.evaluate(events).horizons.to_pylist()
    return max(row["calibration_error"] for row in rows if row["model"] == "model")


@pytest.mark.parametrize("jitter", [0.0, 0.02])
def test_a_dead_partial_match_is_forgotten(jitter: float) -> None:
    shares = (0.02, 0.02, 0.96)
    gaps = np.random.default_rng(1).normal(1.0, jitter, 100_000)
    history = table(np.cumsum(gaps), 2, shares)
    model = ost.Forecaster("A ; B ; B WITHIN 120 seconds", horizon=30, order=0).fit(history)
    begun = model.forecast(pa.table({"ts": np.arange(300.0), "type": ["A"] + ["C"] * 299}))["probability"].to_numpy()
    scratch = model.forecast(pa.table({"ts": [0.0], "type": ["C"]}))["probability"][0].as_py()
    assert begun[0] == pytest.approx(0.1189, abs=0.005) and scratch == pytest.approx(0.0213, abs=0.003)
    assert begun[[122, 150, 299]] == pytest.approx(scratch, abs=0.003)


@pytest.mark.parametrize("query", ["A ; B ; B ; B WITHIN 40 seconds", "A ; B ; A ; B ; A WITHIN 30 seconds"])
def test_events_at_regular_times_are_as_exact_as_a_window_of_events(query: str) -> None:
    history, later = table(np.arange(30_000.0), 1), table(np.arange(10_000.0), 2)
    seconds = int(query.split()[-2])
    timed = ost.Forecaster(query, horizon=10, order=0).fit(history)
    counted = ost.Forecaster(query.replace(f"{seconds} seconds", f"{seconds + 1} EVENTS"), horizon=10, order=0)
    expected = counted.fit(history).forecast(later)
    assert timed.forecast(later)["probability"].to_numpy() == pytest.approx(
        expected["probability"].to_numpy(), abs=1e-6
    )
    assert timed.statistics.symbols.grid == Grid(SECOND, seconds, 1)


@pytest.mark.parametrize("gaps", ["uniform", "exponential", "two kinds"])
@pytest.mark.parametrize("query", ["A ; B ; B ; B WITHIN 30 seconds", "A ; B ; C ; A ; B ; C WITHIN 15 seconds"])
def test_events_at_random_times(query: str, gaps: str) -> None:
    def times(size: int, seed: int) -> Any:
        random = np.random.default_rng(seed)
        kinds = {
            "uniform": random.uniform(0.5, 1.5, size),
            "exponential": random.exponential(1.0, size),
            "two kinds": np.where(random.random(size) < 0.8, 0.2, 4.0) * random.uniform(0.5, 1.5, size),
        }
        return np.cumsum(kinds[gaps])

    model = ost.Forecaster(query, horizon=10, order=0).fit(table(times(40_000, 1), 2))
    assert calibration_error(model, table(times(30_000, 3), 4)) < 0.03


def test_windows_along_an_attribute() -> None:
    """The same, whatever the unit; the attribute may be a float and begin below zero."""
    way = np.cumsum(np.random.default_rng(1).uniform(0.05, 0.15, 30_000)) - 1000.0
    events = table(np.arange(30_000.0), 2).append_column("way", pa.array(way))
    model = ost.Forecaster("A ; B ; B WITHIN 2.5 ON way", horizon=10, order=0).fit(events.slice(0, 20_000))
    assert calibration_error(model, events.slice(20_000)) < 0.03


def test_a_window_of_nothing_holds_what_happens_at_once() -> None:
    times = np.repeat(np.arange(2000.0), 2)
    model = ost.Forecaster("A ; B WITHIN 0 seconds", horizon=1, order=0).fit(table(times, 1, (0.5, 0.5, 0.0)))
    ends = model.forecast(pa.table({"ts": [0.0, 0.0, 1.0, 2.0], "type": list("ABAB")}))
    assert ends["completes"].to_pylist() == [False, True, False, False]
    assert model.statistics.symbols.grid == Grid(SECOND, 0, 0)


def test_gaps_that_were_never_seen_are_made_up_for() -> None:
    """Learned from regular times; then an event fails to come, and others come twice as often."""
    model = ost.Forecaster("A ; B WITHIN 20 seconds", horizon=10, order=0).fit(table(np.arange(20_000.0), 1))
    late = pa.table({"ts": [0.0, 6.0, 12.0, 18.0, 19.0, 21.0, 22.0], "type": list("ACCCCCC")})
    often = pa.table({"ts": np.arange(60) / 2, "type": ["A"] + ["C"] * 59})
    scratch = model.forecast(pa.table({"ts": [0.0], "type": ["C"]}))["probability"][0].as_py()
    alive = model.forecast(late)["probability"].to_numpy() > scratch + 0.001
    assert alive.tolist() == [True, True, True, True, True, False, False]
    alive = model.forecast(often)["probability"].to_numpy() > scratch + 0.001
    assert alive[:38].all() and not alive[44:].any()


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 400)), min_size=1, max_size=60),
    st.integers(1, 64),
    st.integers(1, 200),
    st.booleans(),
)
def test_ages_do_not_drift(events: list[tuple[int, int]], parts: int, cell: int, told_apart: bool) -> None:
    """The steps since any event add up to how far it is away, within a cell: or within an eighth of the longest gap
    where long steps are rounded. In batches they are the same."""
    keys = np.array([key for key, _ in events], np.int32)
    keys = np.unique(keys, return_inverse=True)[1].astype(np.int32)
    ticks = np.cumsum([gap for _, gap in events]).astype(np.int64) - 1000
    grid = Grid(cell * float(SECOND), parts, 1)
    walk, parted = (GridWalk(grid, CLOCK, range(parts + 1) if told_apart else grid.steps) for _ in range(2))
    count = int(keys.max()) + 1
    steps = walk.advance(keys, ticks, count)[0]
    for key in range(count):
        own, gone = ticks[keys == key] / cell, np.cumsum(steps[keys == key])
        whole = np.flatnonzero(steps[keys == key] == grid.end)
        begin = int(whole[-1]) if len(whole) else 0
        longest = float(np.diff(own[begin:], prepend=own[begin]).max())
        off = (own[begin:] - own[begin]) - (gone[begin:] - gone[begin])
        assert np.ptp(off) <= 1 + (0 if told_apart else longest / 4) + 1e-9
    middle = len(keys) // 2
    met = np.unique(keys, return_index=True)[1]
    if (met < middle).all():
        found = [parted.advance(keys[part], ticks[part], count)[0] for part in (slice(0, middle), slice(middle, None))]
        assert np.concatenate(found).tolist() == steps.tolist()


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 50)), min_size=1, max_size=30), st.integers(1, 6))
def test_the_pace_does_not_depend_on_the_order(events: list[tuple[int, int]], unit: int) -> None:
    rows = pa.table({"k": [k for k, _ in events], "ts": [t * unit for _, t in events], "type": ["A"] * len(events)})
    pattern = ForecastPattern.of("A ; B PARTITION BY k WITHIN 5 seconds")
    told: dict[str, Any] = {"time": None, "type": None, "order_by": ()}
    whole, parted = PaceMeter(pattern, told), PaceMeter(pattern, told)
    whole.add(rows)
    backwards = rows.take(pa.array(np.arange(len(rows))[::-1].copy()))
    for begin in range(0, len(rows), 7):
        parted.add(backwards.slice(begin, 7))
    assert parted.pace == whole.pace
    times: dict[int, list[int]] = {}
    for key, time in events:
        times.setdefault(key, []).append(time * unit)
    gaps = [gap for each in times.values() for gap in np.diff(sorted(each)).tolist()]
    assert whole.pace.gaps == len(gaps)
    assert whole.pace.total == pytest.approx(sum(gaps) * SECOND)
    assert whole.pace.unit == np.gcd.reduce(np.array([0, *gaps])) * SECOND


def test_the_grid_follows_the_pace_and_the_states() -> None:
    paced = Pace(100, 150.0, 1, 1e-9)
    assert choose_grid(30, paced, lambda parts, times: True).parts == 64
    assert choose_grid(30, paced, lambda parts, times: parts <= 20).parts == 20
    assert choose_grid(30, paced, lambda parts, times: False).parts == 4
    assert choose_grid(30, Pace(), lambda parts, times: True).parts == 32
    grid = choose_grid(30, Pace(100, 150.0, 1, 0.5), lambda parts, times: True)
    assert grid == Grid(0.5, 60, 3)
    assert choose_grid(30, paced, lambda parts, times: True).cell == pytest.approx(30 / 64.5)
    assert Grid(1.0, 20, 1).steps == [*range(9), 10, 12, 14, 16, 20, 21]


def test_more_states_make_a_finer_grid() -> None:
    history = table(np.cumsum(np.random.default_rng(1).exponential(1.0, 2000)), 2)
    parts = []
    for states in (20_000, 100_000, 500_000):
        limits = ost.ForecastLimits(pattern_states=states)
        made = ost.Forecaster("A ; B ; B ; B WITHIN 60 seconds", horizon=2, order=0, limits=limits).fit(history)
        assert made.statistics.symbols.grid is not None
        parts.append(made.statistics.symbols.grid.parts)
    assert parts == sorted(set(parts))


def test_the_grid_is_kept(tmp_path: Path) -> None:
    times = np.cumsum(np.random.default_rng(1).exponential(1.0, 3000))
    model = ost.Forecaster("A ; B ; B WITHIN 9 seconds", horizon=5, order=1).fit(table(times, 2))
    grid = model.statistics.symbols.grid
    model.save(tmp_path / "model")
    loaded = ost.ForecastModel.load(tmp_path / "model")
    assert loaded.statistics.symbols.grid == grid and loaded.fingerprint == model.fingerprint
    later = table(times * 3, 4)
    assert loaded.forecast(later).equals(model.forecast(later))
    model.update(later)
    assert model.statistics.symbols.grid == grid
    assert f"{grid.parts if grid else 0} of them" in model.explain()


@pytest.mark.parametrize("regular", [True, False])
def test_events_are_compared_within_a_window_of_time(regular: bool) -> None:
    random = np.random.default_rng(1)
    times = np.arange(40_000.0) if regular else np.cumsum(random.exponential(1.0, 40_000))
    events = table(times, 2).append_column("v", pa.array(random.integers(0, 4, 40_000)))
    query = "A AS a ; B AS b FILTER a.v < b.v WITHIN 8 seconds"
    model = ost.Forecaster(query, horizon=5, order=1).fit(events.slice(0, 30_000))
    later = events.slice(30_000)
    found = model.forecast(later)
    ends = {row[-1] for row in ost.cel(query).detect(later)["positions"].to_pylist()}
    assert set(np.flatnonzero(found["completes"].to_numpy(zero_copy_only=False)).tolist()) == ends and ends
    assert calibration_error(model, later) < (0.03 if regular else 0.06)
