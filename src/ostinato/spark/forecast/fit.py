"""Learning from a batch DataFrame: counts are added up by Spark, and only the sums come here."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa

from ostinato.core.clock import Clock
from ostinato.errors import DataError, OstinatoError
from ostinato.forecast.forecaster import counting_order, settle_order
from ostinato.forecast.learn.drift import BATCHES, DriftAlarm
from ostinato.forecast.model import ForecastModel
from ostinato.forecast.pattern import ForecastPattern
from ostinato.forecast.score.interval_checks import LevelIntervals, check_intervals
from ostinato.forecast.settings import Settings
from ostinato.forecast.symbols.age_grid import Pace
from ostinato.forecast.symbols.encoder import Symbols
from ostinato.forecast.symbols.event_spacing import PaceMeter
from ostinato.spark.columns import column, spark_type
from ostinato.spark.failures import unwrap_errors
from ostinato.spark.forecast.columns import EventFrame, event_frame
from ostinato.spark.forecast.counts import count_events
from ostinato.spark.forecast.evaluate import backtest
from ostinato.spark.frames import map_in_arrow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ACCURACY = 10_000  # a cut in time is off by at most one event in so many
_PACE = pa.schema([("gaps", pa.int64()), ("total", pa.float64()), ("pulses", pa.int64()), ("pulse", pa.float64())])


def fit(pattern: ForecastPattern, settings: Settings, frame: DataFrame) -> ForecastModel:
    """The model that `Forecaster(…).fit` learns from the same events without Spark.

    The history is read three times: to find where the held-out end begins, to count what follows what, and to test a
    model of the earlier events on the later ones. Under a window along time or an attribute it is read once more, to
    measure how far events are apart.
    """
    if frame.isStreaming:
        raise OstinatoError(
            "a model is learned from a batch DataFrame, and this one streams",
            fix="read the history with spark.read, and forecast the stream with the model",
        )
    events = event_frame(frame, pattern, settings, all_columns=False)
    with unwrap_errors():
        return _fit(events, settings)


def _fit(events: EventFrame, settings: Settings) -> ForecastModel:
    cuts = _holdout_cuts(events, settings.holdout) if settings.holdout else [math.inf]
    head, tail = count_events(events, _symbols(events), counting_order(settings), cuts[0])
    if not head.events + tail.events:
        raise _no_events()
    head, tail, order, choice = settle_order(head, tail, settings)
    held_out = bool(head.events and tail.events)
    tested = ForecastModel(settings, head if held_out else head.merge(tail), order)
    found = backtest(tested, events, cuts, spans=settings.calibrate)
    interval_checks = alarm = None
    if held_out:
        alarm = DriftAlarm.of(found.losses, found.sizes)
        if settings.calibrate:
            interval_checks = check_intervals(
                tested.predictor, LevelIntervals.of(tested.predictor, found.states), found.truth, found.hits
            )
    statistics = replace(head.merge(tail), completions=float(sum(found.completions)))
    return ForecastModel(settings, statistics, order, interval_checks, alarm, choice)


def _symbols(events: EventFrame) -> Symbols:
    """None yet, but with the grid that ages are counted by: the same as without Spark."""
    symbols = Symbols(events.pattern)
    if not symbols.measured:
        return symbols
    return symbols.with_grid(_measure_pace(events), events.settings.limits.pattern_states)


def _holdout_cuts(events: EventFrame, holdout: float) -> list[float]:
    """In seconds: the events after the first cut are held out, and the other cuts part these into batches."""
    from pyspark.sql import functions as f

    shares = [1 - holdout + holdout * place / BATCHES for place in range(BATCHES)]
    time = column(events.time)
    found = events.frame.select(f.count(f.lit(1)), f.percentile_approx(time, shares, _ACCURACY)).toArrow()
    if not found[0][0].as_py():
        raise _no_events()
    if not found[1][0].is_valid:
        return [math.inf]  # no row has a time: whoever reads them says so
    clock = Clock.of(events.schema, events.time)
    return [float(cut) for cut in clock.measure(clock.ticks(found[1].combine_chunks().flatten())) / 1e9]


def _no_events() -> DataError:
    return DataError("the history has no events", fix="give events to learn from")


@dataclass(frozen=True)
class PaceTask:
    """Measures how the events of the task's keys follow each other along what a window is measured in."""

    pattern: ForecastPattern
    settings: Settings

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        meter = PaceMeter(self.pattern, self.settings.binding)
        for batch in batches:
            meter.add(pa.Table.from_batches([batch]))
        yield pa.RecordBatch.from_arrays([[value] for value in astuple(meter.pace)], schema=_PACE)


def _measure_pace(events: EventFrame) -> Pace:
    """Of all keys; the order of events does not matter."""
    found = map_in_arrow(events.by_key(), PaceTask(events.pattern, events.settings), spark_type(_PACE)).toArrow()
    return reduce(Pace.merge, (Pace(**row) for row in found.to_pylist()), Pace())
