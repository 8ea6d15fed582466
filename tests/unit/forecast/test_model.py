"""`ostinato.ForecastModel`, from events to forecasts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import ostinato as ost
from ostinato.samples.cards import CARD_PATTERN
from support.forecast import CYCLE, cycle


def test_what_is_certain_is_forecast_exactly() -> None:
    model = ost.Forecaster(ost.cel(CYCLE), order=2, horizon=10, threshold=0.9, prior=0.1).fit(cycle())
    found = model.forecast(cycle(9)).to_pylist()
    assert [row["completes"] for row in found] == [False, False, True] * 3
    assert [row["point"] for row in found] == [2, 1, 3] * 3
    assert [(row["earliest"], row["latest"]) for row in found] == [(2, 2), (1, 1), (3, 3)] * 3
    assert [round(row["point_seconds"], 3) for row in found] == [2, 1, 3] * 3
    assert all(row["probability"] > 0.99 and row["mass"] >= 0.9 for row in found)
    assert all(row["beyond"] == 1 - row["probability"] for row in found)


def test_rows_keep_their_order_and_unsorted_events_are_sorted() -> None:
    model = ost.Forecaster(ost.cel(CYCLE), order=1, horizon=5).fit(cycle(noise=0.1))
    table = cycle(50, noise=0.1, seed=2)
    shuffled = np.random.default_rng(3).permutation(len(table))
    expected = model.forecast(table).take(shuffled)
    assert model.forecast(table.take(shuffled)).equals(expected)


def test_completes_is_what_detection_says(model: ost.ForecastModel, cards: pa.Table) -> None:
    ends = {row[-1] for row in ost.cel(CARD_PATTERN).detect(cards)["positions"].to_pylist()}
    completes = model.forecast(cards)["completes"].to_numpy(zero_copy_only=False)
    assert set(np.flatnonzero(completes).tolist()) == ends and ends


def test_a_window_that_closes_is_not_waited_for() -> None:
    """After A only the very next events count: with D D behind it, the A is of no use any more."""
    model = ost.Forecaster("A AS a ; B AS b WITHIN 3 EVENTS", order=0, horizon=1).fit(cycle(noise=0.4))
    events = pa.table({"ts": np.arange(4.0), "type": ["A", "D", "D", "D"]})
    likely = model.forecast(events)["probability"].to_pylist()
    assert likely[0] == likely[1] > 0.1 and likely[2] == likely[3] == 0


def test_evaluation_has_a_row_for_each_model(model: ost.ForecastModel, cards: pa.Table) -> None:
    found = model.evaluate(cards.slice(100_000), within=10)
    assert found.table["model"].to_pylist() == ["model", "mean rate", "independent", "Markov 1", "Markov 2", "Markov 3"]
    scores = {row["model"]: row for row in found.table.to_pylist()}
    assert scores["model"]["auc_near"] > scores["Markov 1"]["auc_near"] > scores["mean rate"]["auc_near"] == 0.5
    assert scores["model"]["calibration_error"] < 0.05
    assert "ROC-AUC" in str(found) and "<svg" in found.reliability.svg()


def test_chains_of_every_order_stand_beside_a_model_of_none(tmp_path: Path) -> None:
    model = ost.Forecaster(CYCLE, order=0, horizon=10).fit(cycle(noise=0.1))
    assert model.order == 0 == model.predictor.tree.order and model.statistics.counts.order == 3
    model.update(cycle(noise=0.1))
    found = model.evaluate(cycle(600, noise=0.1, seed=2))
    assert found.table["model"].to_pylist()[2:] == ["independent", "Markov 1", "Markov 2", "Markov 3"]
    loss = found.table["log_loss"].to_pylist()
    assert loss[0] == pytest.approx(loss[2]) and loss[3] < loss[2]
    assert found.distances["farthest"].to_pylist()[:3] == [1, 2, 3]
    model.save(tmp_path / "m")
    again = ost.ForecastModel.load(tmp_path / "m")
    assert again.order == 0 and again.evaluate(cycle(600, noise=0.1, seed=2)).table.equals(found.table)


def test_a_baseline_beyond_the_limits_is_left_out() -> None:
    limits = ost.ForecastLimits(states=15)
    model = ost.Forecaster(CYCLE, order=0, horizon=10, limits=limits).fit(cycle(noise=0.3))
    names = model.evaluate(cycle(600, noise=0.3)).table["model"].to_pylist()
    assert names[:3] == ["model", "mean rate", "independent"] and "Markov 3" not in names


def test_bad_events_are_refused() -> None:
    with pytest.raises(ost.DataError, match="no events"):
        ost.Forecaster(CYCLE).fit([])
    with pytest.raises(ost.QueryError, match="speed"):
        ost.Forecaster(CYCLE, features=["speed > 3"]).fit(cycle())
    model = ost.Forecaster(CYCLE, order=1).fit(cycle())
    with pytest.raises(ost.DataError, match="no events"):
        model.evaluate([])
    for decay in (2, "x", True):
        with pytest.raises(ost.OstinatoError, match=f"decay cannot be {decay!r}"):
            model.update(cycle(), decay=decay)  # type: ignore[arg-type]
    for within in (1.5, 0, 201):
        with pytest.raises(ost.OstinatoError, match=f"within={within} is not a whole number from 1 to 200"):
            model.evaluate(cycle(), within=within)  # type: ignore[arg-type]
    for decision in ("x", 2):
        with pytest.raises(ost.OstinatoError, match=f"decision cannot be {decision!r}"):
            model.evaluate(cycle(), decision=decision)  # type: ignore[arg-type]
    with pytest.raises(ost.DataError, match="another model"):
        ost.Forecaster(CYCLE, order=2).fit(cycle()).scorer().restore(model.scorer().snapshot())


def test_intervals_never_promise_more_than_they_hold(model: ost.ForecastModel, cards: pa.Table) -> None:
    found = model.forecast(cards.slice(100_000))
    made = found.filter(pc.is_valid(found["mass"]))
    assert len(made) and pc.min(made["mass"]).as_py() >= model.nominal
    assert pc.all(pc.less_equal(made["mass"], pc.add(made["probability"], 1e-6))).as_py()


def test_what_was_never_observed_is_got_over_where_events_are_compared() -> None:
    kinds = list("ABCDDDDD")
    history = pa.table({"ts": np.arange(4000.0), "type": kinds * 500, "v": np.tile([1, 2, 3, 0, 0, 0, 0, 0], 500)})
    query = "(A AS x ; B AS y ; C AS z) FILTER y.v > x.v WITHIN 50 EVENTS"
    model = ost.Forecaster(query, order=3, horizon=20).fit(history)
    strange = pa.concat_tables([history.slice(0, 1), history.set_column(0, "ts", pa.array(np.arange(1.0, 4001)))])
    expected = model.forecast(history)["point"].to_pylist()
    assert model.forecast(strange)["point"].to_pylist()[200:] == expected[199:]


def test_events_one_after_the_other_can_be_compared_without_a_window() -> None:
    random = np.random.default_rng(1)
    events = pa.table({"ts": np.arange(3000.0), "type": ["T"] * 3000, "v": random.integers(0, 9, 3000)})
    query = "T AS a : T AS b : T AS c FILTER a.v < b.v AND b.v < c.v"
    found, expected = (
        ost.Forecaster(text, order=1, horizon=5).fit(events).forecast(events)
        for text in (query, f"{query} WITHIN 3 EVENTS")
    )
    assert found.equals(expected)
    ends = {row[-1] for row in ost.cel(query).detect(events)["positions"].to_pylist()}
    assert set(np.flatnonzero(found["completes"].to_numpy(zero_copy_only=False)).tolist()) == ends and ends


def test_intervals_that_would_not_hold_are_not_given() -> None:
    """The stream changed before the end of the history: the model knows that it cannot keep its promise."""
    random = np.random.default_rng(2)
    often = np.concatenate([random.random(8000) < 0.5, random.random(2000) < 0.1])
    history = pa.table({"ts": np.arange(10_000.0), "type": np.where(often, "A", "B")})
    model = ost.Forecaster("A ; A WITHIN 3 EVENTS", order=1, horizon=10, threshold=0.7).fit(history)
    assert model.calibration is not None and not model.calibration.enough
    assert "no interval is given" in str(model.calibration)
    assert model.forecast(history)["earliest"].null_count == 10_000


def test_an_expired_match_has_no_probability_in_time_either() -> None:
    random = np.random.default_rng(3)
    history = pa.table({"ts": np.arange(0, 60_000.0, 10), "type": random.choice(list("ABC"), 6000)})
    model = ost.Forecaster("A ; NOT A ; B WITHIN 39 seconds", order="auto", horizon=1).fit(history)
    assert model.order == 0
    events = pa.table({"ts": [0.0, 10.0, 20.0, 30.0], "type": list("ACCC")})
    likely = model.forecast(events)["probability"].to_pylist()
    assert likely[:3] == pytest.approx([1 / 3] * 3, abs=0.03) and likely[3] == 0


@pytest.mark.slow
def test_many_parts_within_a_window_in_time_grow_old() -> None:
    """Runs of a longer pattern have so many ages that the window has few parts; they must not stay young."""
    random = np.random.default_rng(4)

    def irregular(length: int) -> pa.Table:
        times = np.cumsum(random.exponential(1.0, length))
        return pa.table({"ts": times, "type": random.choice(list("ABCX"), length, p=[0.2, 0.2, 0.2, 0.4])})

    model = ost.Forecaster("A ; B ; C ; A ; B ; C WITHIN 15 seconds", order=0, horizon=20).fit(irregular(20_000))
    found = model.evaluate(irregular(20_000)).horizons.to_pylist()
    assert max(row["calibration_error"] for row in found if row["model"] == "model") < 0.08


def test_seconds_promise_what_they_keep() -> None:
    """After A the next event takes 100 seconds, after B 1; the completion is at most ten events away."""
    rng = np.random.default_rng(1)
    symbols = rng.integers(0, 2, 20_000)
    ticks = np.cumsum(np.where(np.concatenate([[1], symbols[:-1]]) == 0, 100.0, 1.0))
    events = pa.table({"ts": ticks, "type": np.array(["A", "B"])[symbols]})
    for threshold in (0.45, 0.6):
        model = ost.Forecaster("A : B", horizon=10, threshold=threshold).fit(events)
        made = model.forecast(events)
        done = np.flatnonzero(made["completes"].to_numpy())
        ahead = np.searchsorted(done, np.arange(len(ticks)), side="right")
        known = ahead < len(done)
        wait = ticks[done[ahead[known]]] - ticks[known]
        begin, end = (made[f"{name}_seconds"].to_numpy(zero_copy_only=False)[known] for name in ("earliest", "latest"))
        held = (begin <= wait + 1e-6) & (wait - 1e-6 <= end)
        for last in (0, 1):
            some = (symbols[known] == last) & ~np.isnan(begin)
            assert some.any() and held[some].mean() > threshold - 0.02
        assert pc.min(made["mass_seconds"]).as_py() >= model.nominal_seconds
        assert pc.min(made["point_seconds"]).as_py() > 90


def test_no_seconds_are_given_where_no_interval_in_events_is() -> None:
    """Sessions: nearly all completions within the time looked at, but few within the horizon."""
    rng = np.random.default_rng(2)
    gaps = np.where(rng.random(20_000) < 0.02, 86400.0, 1.0)
    kinds = np.array(["A", "B", "C"])[rng.choice(3, 20_000, p=[0.1, 0.3, 0.6])]
    events = pa.table({"ts": np.cumsum(gaps), "type": kinds})
    model = ost.Forecaster("A : B", horizon=15, threshold=0.7).fit(events)
    made = model.forecast(events)
    assert pc.max(made["probability"]).as_py() < 0.7
    assert made["earliest"].null_count == made["earliest_seconds"].null_count == len(made)
    assert "a longer horizon or a lower threshold" in str(model.calibration)


def test_probabilities_within_numbers_of_events(model: ost.ForecastModel, cards: pa.Table) -> None:
    within: list[Any] = [model.settings.horizon, np.int64(5), 1, 5]
    plain, made = model.forecast(cards), model.forecast(cards, within=within)
    names = ["within_1", "within_5", f"within_{model.settings.horizon}"]
    assert made.drop_columns(names).equals(plain)
    assert made.column_names[:6] == ["probability", "beyond", *names, "point"]
    one, five, whole = (made[name].to_numpy() for name in names)
    assert (one <= five).all() and (five <= whole).all() and (one < five).any()
    assert whole.tolist() == made["probability"].to_pylist()
    scorer = model.scorer(within=[5])
    assert scorer.push(cards)["within_5"].to_pylist() == five.tolist()


@pytest.mark.parametrize("within", [[0], [1.5], "5", 5, [True], [10_000]])
def test_numbers_of_events_beyond_the_horizon_are_refused(model: ost.ForecastModel, within: Any) -> None:
    with pytest.raises(ost.OstinatoError, match="within cannot be"):
        model.forecast([], within=within)


def test_what_is_certain_has_the_probability_1() -> None:
    model = ost.Forecaster("A : B", horizon=20, order=2).fit(cycle())
    made = model.forecast(cycle(), within=[10])
    assert pc.max(made["probability"]).as_py() == pc.max(made["within_10"]).as_py() == 1
    assert pc.min(made["beyond"]).as_py() == 0


def test_messages_say_what_to_do_here(model: ost.ForecastModel) -> None:
    frame = type("DataFrame", (), {"__module__": "pyspark.sql.dataframe"})()
    with pytest.raises(ost.DataError, match=r"model\.forecast"):
        model.scorer().push(frame)
    with pytest.raises(ost.DataError, match=r"that snapshot\(\) returned"):
        model.scorer().restore(b"what")
    for verb in (model.save, ost.ForecastModel.load):
        with pytest.raises(ost.OstinatoError, match="path cannot be 3"):
            verb(3)  # type: ignore[arg-type]
    with pytest.raises(ost.DataError, match="too few events to choose the order on held-out data"):
        ost.Forecaster("A ; B").fit(cycle(2))
