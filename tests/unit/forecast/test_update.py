"""Models that go on learning: intervals that come back, alarms that ring when they should and not else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.forecast.score.interval_checks import IntervalChecks
from support.forecast import CYCLE, cycle

PATTERN = "A ; C WITHIN 4 EVENTS"
OLD, NEW = [0.4, 0.3, 0.3], [0.5, 0.35, 0.15]


def drawn(chances: list[float], events: int, seed: int) -> pa.Table:
    return kinds(np.random.default_rng(seed).choice(3, events, p=chances))


def kinds(numbers: np.ndarray) -> pa.Table:
    return pa.table({"ts": np.arange(len(numbers)), "type": np.array(["A", "B", "C"])[numbers]})


def fitted(events: pa.Table, **options: Any) -> ost.ForecastModel:
    return ost.Forecaster(PATTERN, **{"horizon": 20, "order": 1, "threshold": 0.8} | options).fit(events)


def coverage(model: ost.ForecastModel, events: pa.Table) -> tuple[float, float]:
    """The share of events with an interval, and of the intervals that held."""
    scores = model.evaluate(events).table.to_pylist()[0]
    return 1 - scores["no_forecast"], scores["coverage"]


def test_intervals_come_back_when_the_new_stream_has_been_learned() -> None:
    model, fresh = fitted(drawn(OLD, 20_000, 1)), drawn(NEW, 20_000, 3)
    assert coverage(model, fresh)[1] < 0.65
    rang = [model.update(drawn(NEW, 2000, 10 + step), decay=0.8) for step in range(10)]
    assert rang[0] is not None and not any(rang[1:])
    made, held = coverage(model, fresh)
    assert made > 0.9 and 0.78 < held < 0.92
    assert model.calibration is not None and 0.8 <= model.nominal < 0.95
    assert str(model.calibration) in model.explain() and f"made with {model.nominal:.3f}" in str(model.calibration)


def test_what_an_update_says_is_saved(tmp_path: Any) -> None:
    model = fitted(drawn(OLD, 3000, 1))
    model.update(drawn(NEW, 3000, 2), decay=0.5)
    model.save(tmp_path / "model")
    again = ost.ForecastModel.load(tmp_path / "model")
    assert again.nominal == model.nominal and again.nominal_seconds == model.nominal_seconds
    more = drawn(NEW, 500, 3)
    assert again.update(more) == model.update(more) and again.nominal == model.nominal
    assert str(again.calibration) == str(model.calibration)


@pytest.mark.slow
@pytest.mark.parametrize("decay", [1.0, 0.9])
def test_the_same_stream_rings_nothing(decay: float) -> None:
    model = fitted(drawn(OLD, 5000, 1))
    assert not any(model.update(drawn(OLD, 300, 100 + step), decay=decay) for step in range(60))
    assert coverage(model, drawn(OLD, 20_000, 3))[1] > 0.77


@pytest.mark.parametrize("order", ["auto", 1])
def test_order_in_what_came_in_any_order_rings(order: Any) -> None:
    """To a model that holds symbols for independent a cycle of them costs the same."""
    model = fitted(drawn([1 / 3] * 3, 20_000, 1), order=order)
    drift = model.update(kinds(np.arange(3000) % 3))
    assert drift is not None and drift.of == "past" and drift.excess > 0.1
    assert model.alarm is not None and model.alarm.last == drift


def test_missed_intervals_ring() -> None:
    """Completions become rarer, and each event still costs about as much."""
    model = fitted(drawn([0.2, 0.6, 0.2], 20_000, 1))
    drift = model.update(drawn([0.05, 0.6, 0.35], 2000, 2))
    assert drift is not None
    assert model.interval_checks is not None


def test_events_are_few_or_intervals_left_alone() -> None:
    model = fitted(drawn(OLD, 2000, 1))
    assert model.update(drawn(OLD, 1, 2)) is None
    alone = fitted(drawn(OLD, 2000, 1), calibrate=False)
    alone.update(drawn(NEW, 2000, 2))
    assert alone.calibration is None and alone.nominal == 0.8
    unjudged = fitted(drawn(OLD, 2000, 1), holdout=0)
    assert unjudged.update(drawn(NEW, 2000, 2)) is None and unjudged.calibration is None


def test_seconds_are_followed_where_they_were_known() -> None:
    model = fitted(drawn(OLD, 2000, 1))
    assert model.interval_checks is not None and model.interval_checks.seconds is not None
    untimed = IntervalChecks(model.interval_checks.events)
    assert untimed.merge_later(model.interval_checks, 0.5).seconds is model.interval_checks.seconds
    assert model.interval_checks.merge_later(untimed, 0.5).seconds is None


def test_updates_learn_and_ring_when_the_stream_has_changed() -> None:
    model = ost.Forecaster(CYCLE, order=2, horizon=10).fit(cycle(20_000, noise=0.1))
    events, probability = model.statistics.events, model.statistics.rate
    assert model.update(cycle(5000, noise=0.1, seed=4)) is None
    assert model.statistics.events == events + 5000 and abs(model.statistics.rate - probability) < 0.05
    drift = model.update(cycle(5000, noise=0.6, seed=4), decay=0.1)
    assert drift is not None and drift.excess > 0 and "drift" in str(drift)
    assert model.statistics.rate < probability
    assert "drift" in model.explain()


def test_updates_may_bring_new_kinds_of_events() -> None:
    model = ost.Forecaster(CYCLE, order=1, horizon=5).fit(cycle())
    scorer = model.scorer()
    strange = pa.table({"ts": [0.0, 1.0], "type": ["A", "D"]})
    scorer.push(strange)
    assert len(model.statistics.symbols) == 3
    model.update(cycle(noise=0.3))
    assert len(model.statistics.symbols) == 4
    assert model.forecast(strange).num_rows == 2


def test_an_alarm_that_was_learned_from_does_not_ring_again() -> None:
    model = ost.Forecaster("A ; B WITHIN 4 EVENTS", order=1, horizon=5).fit(
        pa.table({"ts": np.arange(500.0), "type": ["C"] * 500})
    )
    random = np.random.default_rng(6)
    rang = []
    for _ in range(4):
        events = pa.table({"ts": np.arange(2000.0), "type": random.choice(["A", "B"], 2000)})
        rang.append(model.update(events, decay=0.01))
    assert rang[0] is not None and rang[0].excess > 1 and rang[2] is None and rang[3] is None


def test_tables_of_spark_must_be_collected() -> None:
    frame = type("DataFrame", (), {"__module__": "pyspark.sql.classic.dataframe"})()
    model = ost.Forecaster(CYCLE, order=1, horizon=5).fit(cycle())
    with pytest.raises(ost.DataError, match=r"`update` takes a table, not a Spark DataFrame\nfix: .*toArrow"):
        model.update(frame)
