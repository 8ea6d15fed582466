"""The stateful step of forecasting, with a state store of plain Python: any cuts give the forecasts of the whole."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ostinato as ost
from ostinato.errors import DataError
from ostinato.forecast.model import ForecastModel
from ostinato.forecast.score.columns import forecast_schema
from ostinato.spark.buckets import Buckets
from ostinato.spark.checkpoint_header import HEADER
from ostinato.spark.forecast.processor import ForecastProcessor, ScoringPlan
from ostinato.spark.forecast.task import ShippedModel
from ostinato.spark.packing import ROWS, pack, unpack
from support.spark.state_store import Store

SCHEMA = pa.schema({"ts": pa.timestamp("us", tz="UTC"), "type": pa.string(), "k": pa.int64(), "v": pa.int64()})
KEY = ("forecast", 0)
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
    return ScoringPlan(ShippedModel.of(of, of.settings), of.fingerprint, SCHEMA, output, Buckets(buckets), 0)


def processor(known: ScoringPlan, store: Store) -> ForecastProcessor:
    built = ForecastProcessor(known)
    built.init(store)  # type: ignore[arg-type]
    return built


class Job:
    """A bucket over its life: every batch is read by a new process, which knows only the store."""

    def __init__(self, known: ScoringPlan) -> None:
        self.known, self.store = known, Store()
        self.found: list[dict[str, Any]] = []

    def batch(self, rows: pa.Table) -> None:
        frames = iter([pd.DataFrame({ROWS: [pack(rows)]})])
        self._take(processor(self.known, self.store).handleInputRows(KEY, frames, self.store))
        for time in rows["ts"].to_pylist():
            self.store.watermark = max(self.store.watermark, int(time.timestamp() * 1000))
        for timer in [timer for timer in self.store.listTimers() if timer <= self.store.watermark]:
            self.store.timers.discard(timer)
            self._take(processor(self.known, self.store).handleExpiredTimer(KEY, self.store, None))

    def _take(self, frames: Iterator[pd.DataFrame]) -> None:
        for frame in frames:
            for data in frame[ROWS]:
                self.found += unpack(data, self.known.output).to_pylist()

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
    assert {name: late[name] for name in SCHEMA.names} == rows.slice(0, 1).to_pylist()[0]
    assert late["probability"] is None
    alone = model("key").forecast(rows.slice(2))
    assert [row["probability"] for row in others] == alone["probability"].to_pylist()


def test_a_checkpoint_goes_on_with_its_model_and_its_buckets() -> None:
    store = Store()

    def begin(known: ScoringPlan) -> Any:
        assert list(processor(known, store).handleInputRows((HEADER, 0), iter(()), store)) == []
        return store.value

    assert begin(streaming(model("key"))) == begin(streaming(model("key")))
    with pytest.raises(DataError, match="begun with another model"):
        begin(streaming(model("no key")))
    with pytest.raises(DataError, match="begun with buckets=3, now it is 4"):
        begin(streaming(model("key"), buckets=4))


def test_a_model_that_was_loaded_is_the_same(tmp_path: Any) -> None:
    model("key").save(tmp_path / "model")
    assert ForecastModel.load(tmp_path / "model").fingerprint == model("key").fingerprint


def test_fingerprints_of_earlier_releases_hold() -> None:
    """Checkpoints and snapshots keep them: one that changes would be taken for another model."""
    query = "A AS x ; B AS y PARTITION BY k WITHIN 5 seconds"
    fitted = ost.Forecaster(query, order=1, horizon=5, holdout=0, time="ts", features=["v > 1"]).fit(HISTORY)
    assert fitted.fingerprint == "8a42d9ca824573c9b9d0ca905116ca475910f9d173b023c6161e527c69da55fd"
