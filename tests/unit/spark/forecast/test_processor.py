"""The stateful step of forecasting, with a state store of plain Python: any cuts give the forecasts of the whole."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ostinato as ost
from ostinato.errors import DataError
from ostinato.forecast.model import ForecastModel
from ostinato.forecast.score.columns import forecast_schema
from ostinato.spark.forecast.processor import ForecastBucket, ScoringPlan
from ostinato.spark.forecast.task import ShippedModel

SCHEMA = pa.schema({"ts": pa.timestamp("us", tz="UTC"), "type": pa.string(), "k": pa.int64(), "v": pa.int64()})
START = datetime(2026, 1, 1, tzinfo=UTC)
PATTERNS = {
    "no key": "A AS x ; B AS y WITHIN 4 EVENTS",
    "key": "A AS x ; B AS y PARTITION BY k WITHIN 4 EVENTS",
    "time": "A AS x ; B AS y PARTITION BY k WITHIN 5 seconds",
    "compared": "A AS x ; B AS y FILTER x.v < y.v PARTITION BY k WITHIN 4 EVENTS",
}


def events(kinds: list[tuple[str, int, int]]) -> pa.Table:
    rows = [
        {"ts": START + timedelta(seconds=at), "type": kind, "k": k, "v": v} for at, (kind, k, v) in enumerate(kinds)
    ]
    return pa.Table.from_pylist(rows, SCHEMA)


HISTORY = events([("ABC"[at * at % 7 % 3], at % 2, at * at % 5 % 3) for at in range(80)])
MODELS: dict[str, ForecastModel] = {}


def model(name: str) -> ForecastModel:
    if name not in MODELS:
        MODELS[name] = ost.Forecaster(PATTERNS[name], order=1, horizon=5, holdout=0, time="ts").fit(HISTORY)
    return MODELS[name]


def streaming(of: ForecastModel, buckets: int = 3) -> ScoringPlan:
    output = pa.schema([*SCHEMA, *forecast_schema(timed=True)])
    return ScoringPlan(ShippedModel.of(of, of.settings), of.fingerprint, SCHEMA, output, buckets, 0)


class Job:
    """A bucket over its life: every batch is read by a new process, which knows only the store."""

    def __init__(self, known: ScoringPlan) -> None:
        self.known, self.state, self.watermark = known, None, 0
        self.found: list[dict[str, Any]] = []

    def batch(self, rows: pa.Table) -> None:
        bucket = ForecastBucket.load(self.state, self.known)
        for table in bucket.step(rows, self.watermark, self.known.delay):
            self.found += table.to_pylist()
        self.state = (bucket.dump(),)  # type: ignore[assignment]
        for time in rows["ts"].to_pylist():
            self.watermark = max(self.watermark, int(time.timestamp() * 1000))

    def rows(self) -> list[dict[str, Any]]:
        return sorted(self.found, key=lambda row: row["ts"])


_EVENT = st.tuples(st.sampled_from("ABC"), st.integers(0, 1), st.integers(0, 2))


@pytest.mark.parametrize("name", PATTERNS)
@settings(max_examples=20)
@given(kinds=st.lists(_EVENT, min_size=1, max_size=12), cuts=st.lists(st.integers(0, 12), max_size=3))
def test_any_cuts(name: str, kinds: list[tuple[str, int, int]], cuts: list[int]) -> None:
    rows = events(kinds)
    job = Job(streaming(model(name)))
    for begin, end in pairwise([0, *sorted(cuts), len(rows)]):
        job.batch(rows.slice(begin, max(0, min(end, len(rows)) - begin)))
    job.batch(events([("end", 0, 0)] * 100).slice(99))
    expected = model(name).forecast(rows)
    assert job.rows()[: len(rows)] == [
        row | forecast for row, forecast in zip(rows.to_pylist(), expected.to_pylist(), strict=True)
    ]


def test_a_late_row_is_given_without_a_forecast_and_moves_nothing() -> None:
    rows = events([("A", 0, 1), ("C", 0, 0), ("C", 0, 0), ("B", 0, 2)])
    job = Job(streaming(model("key")))
    job.batch(rows.slice(2, 1))
    job.batch(rows.slice(0, 1))
    job.batch(rows.slice(3, 1))
    job.batch(events([("end", 0, 0)] * 100).slice(99))
    late, *others = job.rows()[:3]
    assert late == rows.slice(0, 1).to_pylist()[0]
    alone = model("key").forecast(rows.slice(2))
    assert [row["probability"] for row in others] == alone["probability"].to_pylist()


def test_a_checkpoint_goes_on_with_its_model_and_its_buckets() -> None:
    known = streaming(model("key"))
    begun = known.check_checkpoint(None)
    assert known.check_checkpoint(begun) == begun
    with pytest.raises(DataError, match="begun with another model"):
        streaming(model("no key")).check_checkpoint(begun)
    with pytest.raises(DataError, match="begun with buckets=3, now it is 4"):
        streaming(model("key"), buckets=4).check_checkpoint(begun)


def test_a_model_that_was_loaded_is_the_same(tmp_path: Any) -> None:
    model("key").save(tmp_path / "model")
    assert ForecastModel.load(tmp_path / "model").fingerprint == model("key").fingerprint


def test_fingerprints_of_earlier_releases_hold() -> None:
    """Checkpoints and snapshots keep them: one that changes would be taken for another model."""
    query = "A AS x ; B AS y PARTITION BY k WITHIN 5 seconds"
    fitted = ost.Forecaster(query, order=1, horizon=5, holdout=0, time="ts", features=["v > 1"]).fit(HISTORY)
    assert fitted.fingerprint == "8a42d9ca824573c9b9d0ca905116ca475910f9d173b023c6161e527c69da55fd"
