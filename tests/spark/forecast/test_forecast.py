"""Forecasting on Spark is forecasting: the same model from the same history, the same forecasts of the same events."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.ml import Pipeline, PipelineModel

import ostinato as ost
from ostinato.errors import DataError, OstinatoError, QueryError
from ostinato.forecast.model import ForecastModel
from ostinato.samples.cards import CARD_FEATURES, CARD_PATTERN, transactions
from ostinato.spark import ml
from support.spark.forecast import counts_by_meaning
from support.spark.patterns import Feed, cut

KEYS = [("card", "ascending"), ("ts", "ascending")]
STEADY: dict[str, Any] = {"order": 2, "horizon": 40, "features": CARD_FEATURES}


def cards(events: int) -> pa.Table:
    """As Spark has them: times have a zone."""
    table = transactions(events, cards=20)
    return table.set_column(0, "ts", table["ts"].cast(pa.timestamp("us", tz="UTC")))


@pytest.fixture(scope="module")
def history() -> pa.Table:
    return cards(8_000)


@pytest.fixture(scope="module")
def model(history: pa.Table) -> ForecastModel:
    """Of an embedded run."""
    return ost.Forecaster(CARD_PATTERN, **STEADY).fit(history)


def spread(spark: Any, table: pa.Table) -> Any:
    """In several partitions, in another order."""
    order = np.random.default_rng(3).permutation(len(table))
    return spark.createDataFrame(table.take(pa.array(order))).repartition(3)


def test_the_same_model(spark: Any, history: pa.Table) -> None:
    forecaster = ost.Forecaster(CARD_PATTERN, horizon=40, features=CARD_FEATURES)
    ours, found = forecaster.fit(history), forecaster.fit(spread(spark, history))
    assert counts_by_meaning(found.statistics) == counts_by_meaning(ours.statistics)
    assert found.order == ours.order
    assert (found.statistics.events, found.statistics.completions) == (
        ours.statistics.events,
        ours.statistics.completions,
    )
    assert np.allclose(
        np.sort(found.statistics.gaps.sums, axis=0), np.sort(ours.statistics.gaps.sums, axis=0), rtol=1e-9
    )
    assert found.calibration is not None and ours.calibration is not None
    # The cut in time may lie an event beside that of an embedded run.
    assert found.calibration.completions == pytest.approx(ours.calibration.completions, abs=1)
    assert found.nominal == pytest.approx(ours.nominal, abs=0.02)
    assert found.alarm is not None and ours.alarm is not None
    assert found.alarm.expected == pytest.approx(ours.alarm.expected, rel=0.02)
    scored, expected = ours.evaluate(spread(spark, history), within=20), ours.evaluate(history, within=20)
    assert (scored.events, scored.completions) == (expected.events, expected.completions)
    for name in ("table", "horizons", "distances"):
        one, other = getattr(scored, name), getattr(expected, name)
        assert one["model"] == other["model"]
        for column in other.column_names[1:]:
            ours_there, ours_here = one[column].to_numpy(), other[column].to_numpy()
            assert ours_there == pytest.approx(ours_here, rel=1e-6, abs=1e-9, nan_ok=True)
    with pytest.raises(QueryError, match="within=41"):
        ours.evaluate(spread(spark, history), within=41)


@pytest.mark.parametrize(
    ("text", "language", "order_by"),
    [
        pytest.param("A AS x ; B AS y WITHIN 4 EVENTS", "cel", [], id="no key"),
        pytest.param("A AS x ; B AS y PARTITION BY k WITHIN 5 seconds", "cel", ["n"], id="window of time"),
        pytest.param("A AS x ; B AS y FILTER x.v < y.v PARTITION BY k WITHIN 4 EVENTS", "cel", ["n"], id="compared"),
        pytest.param("[type = 'A'] . [type = 'B'] PARTITION BY k WITHIN 9 EVENTS", "srem", ["n"], id="srem"),
    ],
)
def test_the_same_of_any_pattern(spark: Any, text: str, language: str, order_by: list[str]) -> None:
    rng = np.random.default_rng(1)
    size = 600
    rows = pa.table(
        {
            "ts": pa.array(np.arange(size) * 500_000, pa.timestamp("us", tz="UTC")),
            "type": pa.array(np.array(list("ABC"))[rng.integers(0, 3, size)]),
            "k": rng.integers(0, 4, size),
            "v": rng.integers(0, 3, size),
            "n": np.arange(size),
        }
    )
    query = getattr(ost, language)(text)
    forecaster = ost.Forecaster(query, order=1, horizon=10, holdout=0, order_by=order_by)
    ours, found = forecaster.fit(rows), forecaster.fit(spread(spark, rows))
    assert (
        counts_by_meaning(found.statistics) == counts_by_meaning(ours.statistics)
        and found.statistics.symbols.grid == ours.statistics.symbols.grid
    )
    assert found.statistics.completions == ours.statistics.completions > 0
    scored = found.forecast(spread(spark, rows)).toArrow().sort_by("n")
    expected = found.forecast(rows)
    for name in expected.column_names:
        assert scored[name].to_pylist() == expected[name].to_pylist(), name


def test_estimator_and_pipeline(spark: Any, history: pa.Table, model: ForecastModel, tmp_path: Path) -> None:
    frame = spread(spark, history)
    forecaster = ml.Forecaster(ost.cel(CARD_PATTERN), **{**STEADY, "horizon": 7})
    assert forecaster.getOrDefault("language") == "cel"
    fitted = Pipeline(stages=[forecaster]).fit(frame, {forecaster.horizon: 40})
    assert forecaster.getOrDefault("horizon") == 7
    (stage,) = fitted.stages
    assert isinstance(stage, ml.ForecastModel)
    assert counts_by_meaning(stage.model.statistics) == counts_by_meaning(model.statistics)
    fitted.write().overwrite().save(f"file:{tmp_path}/pipeline")
    loaded = PipelineModel.load(f"file:{tmp_path}/pipeline")
    assert loaded.stages[0].uid == fitted.stages[0].uid
    found = loaded.transform(frame).toArrow()
    assert found.column_names == [*history.column_names, *model.per_state.column_names, "completes"]
    assert found["completes"].to_pylist().count(True) == model.statistics.completions
    Pipeline(stages=[forecaster.setParams(threshold=0.8)]).write().overwrite().save(str(tmp_path / "plan"))
    again = Pipeline.load(str(tmp_path / "plan")).getStages()[0]
    assert isinstance(again, ml.Forecaster)
    assert again.settings == forecaster.settings and again.pattern == forecaster.pattern


def test_one_format(spark: Any, model: ForecastModel, tmp_path: Path) -> None:
    """What the one saves the other loads."""
    wrapped = ml.ForecastModel(model)
    wrapped.save(str(tmp_path / "spark"))
    assert counts_by_meaning(ForecastModel.load(tmp_path / "spark").statistics) == counts_by_meaning(model.statistics)
    model.save(tmp_path / "plain")
    assert counts_by_meaning(ml.ForecastModel.load(str(tmp_path / "plain")).model.statistics) == counts_by_meaning(
        model.statistics
    )
    wrapped.write().overwrite().save(str(tmp_path / "spark"))
    assert ml.ForecastModel.load(str(tmp_path / "spark")).uid == wrapped.uid
    with pytest.raises(DataError, match="there is no saved model in"):
        ml.ForecastModel.load(str(tmp_path))


@pytest.mark.usefixtures("two_parts")
def test_a_stream_and_its_restart(spark: Any, model: ForecastModel, tmp_path: Path) -> None:
    events = cards(600)
    feed = Feed(spark, tmp_path, events.schema)
    closing = pa.Table.from_pylist(
        [{"ts": datetime(2100, 1, 1, tzinfo=UTC), "type": "end", "card": "none", "amount": 0.0}], events.schema
    )
    for tables in (cut(events.slice(0, 400), [200]), [events.slice(400), closing]):
        feed.add(*tables)
        feed.write(ml.score(model, feed.frame().withWatermark("ts", "1 second"), buckets=3))
    found = spark.read.parquet(str(feed.sink)).toArrow().sort_by(KEYS)
    expected = model.forecast(spark.createDataFrame(events)).toArrow().sort_by(KEYS)
    assert found.select(expected.column_names).to_pylist() == expected.to_pylist()


def test_what_is_wrong_is_said_at_once(spark: Any, history: pa.Table, model: ForecastModel) -> None:
    frame = spark.createDataFrame(history.slice(0, 100))
    forecaster = ost.Forecaster(CARD_PATTERN, **STEADY)
    with pytest.raises(QueryError, match="amount") as missing:
        forecaster.fit(frame.withColumnRenamed("amount", "amounts"))
    with pytest.raises(QueryError) as plainly:
        forecaster.fit(
            history.rename_columns([f"{name}s" if name == "amount" else name for name in history.column_names])
        )
    assert str(missing.value) == str(plainly.value)
    with pytest.raises(DataError, match="no time column `ts`"):
        forecaster.fit(frame.drop("ts"))
    with pytest.raises(DataError, match="cannot order events by `card`"):
        ost.Forecaster(CARD_PATTERN, time="card").fit(frame)
    with pytest.raises(QueryError, match="amount"):
        model.forecast(frame.withColumn("amount", frame.merchant))
    with pytest.raises(DataError, match="the frame has a column `Point`, and the forecast has one too"):
        model.forecast(frame.withColumnRenamed("merchant", "Point"))
    with pytest.raises(OstinatoError, match="buckets applies only to streaming DataFrames"):
        ml.score(model, frame, buckets=2)
    with pytest.raises(OstinatoError, match="no option `horizons`\nfix: did you mean `horizon`"):
        ml.Forecaster(CARD_PATTERN, horizons=3)
    with pytest.raises(QueryError, match="there is no query to forecast"):
        ml.Forecaster().fit(frame)
    streaming = spark.readStream.format("rate").load()
    with pytest.raises(OstinatoError, match="this one streams"):
        forecaster.fit(streaming)


@pytest.mark.parametrize("holdout", [0, 0.2])
def test_what_rows_are_wrong_with_is_said_plainly(spark: Any, history: pa.Table, holdout: float) -> None:
    frame = spark.createDataFrame(history.slice(0, 100))
    forecaster = ost.Forecaster(CARD_PATTERN, holdout=holdout, **STEADY)
    with pytest.raises(DataError, match="the history has no events"):
        forecaster.fit(frame.where("amount < 0"))
    with pytest.raises(DataError, match=r"^`ts` is NULL, but the order of events needs its value\nfix: ") as told:
        forecaster.fit(frame.selectExpr("if(amount > 30, ts, NULL) AS ts", "* EXCEPT (ts)"))
    assert told.value.__cause__ is None
