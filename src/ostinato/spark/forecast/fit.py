"""Learning from a batch DataFrame: counts are added up by Spark, and only the sums come here."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from ostinato.core.clock import Clock
from ostinato.errors import DataError, OstinatoError
from ostinato.forecast.learn.drift import BATCHES, DriftAlarm
from ostinato.forecast.learn.order import LARGEST, choose_order
from ostinato.forecast.model import ForecastModel
from ostinato.forecast.pattern import Pattern
from ostinato.forecast.score.baselines import HIGHEST_ORDER
from ostinato.forecast.score.interval_checks import Intervals, judge
from ostinato.forecast.settings import Settings
from ostinato.forecast.symbols.encoder import Symbols
from ostinato.spark.columns import column
from ostinato.spark.failures import told_plainly
from ostinato.spark.forecast.columns import Rows, rows_of
from ostinato.spark.forecast.count import counted
from ostinato.spark.forecast.pace import paced
from ostinato.spark.forecast.trial import tried

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_ACCURACY = 10_000  # a cut in time is off by at most one event in so many


def fit(pattern: Pattern, settings: Settings, frame: DataFrame) -> ForecastModel:
    """The model that `Forecaster(…).fit` learns from the same events without Spark.

    The history is read three times: where its end begins that is held out, what follows what, and how the earlier
    events foretold the later ones; where a window is along time or an attribute, also how far events are apart.
    """
    if frame.isStreaming:
        raise OstinatoError("a model is learned from a DataFrame that is read whole, and this one streams\nfix: give "
                            "one of spark.read, and forecast the stream with the model")  # fmt: skip
    rows = rows_of(frame, pattern, settings, whole=False)
    with told_plainly():
        return _fit(rows, settings)


def _fit(rows: Rows, settings: Settings) -> ForecastModel:
    cuts = _cuts(rows, settings.holdout) if settings.holdout else [math.inf]
    order = LARGEST if settings.order == "auto" else settings.order
    head, tail = counted(rows, _symbols(rows), max(order, HIGHEST_ORDER), cuts[0])
    if not head.events + tail.events:
        raise _no_events()
    choice = None
    if settings.order == "auto":
        choice = choose_order(head.counts, tail.counts, settings.learning)
        order = choice.order
        kept = max(order, HIGHEST_ORDER)  # what baselines need
        head, tail = head.lowered(kept), tail.lowered(kept)
    held_out = bool(head.events and tail.events)
    judged = ForecastModel(settings, head if held_out else head.merge(tail), order)
    trial = tried(judged, rows, cuts, spans=settings.calibrate)
    judgement = alarm = None
    if held_out:
        alarm = DriftAlarm.of(trial.losses, trial.sizes)
        if settings.calibrate:
            judgement = judge(judged.machine, Intervals.of(judged.machine, trial.states), trial.truth, trial.held)
    learnt = replace(head.merge(tail), completions=float(sum(trial.completions)))
    return ForecastModel(settings, learnt, order, judgement, alarm, choice)


def _symbols(rows: Rows) -> Symbols:
    """None yet, but with the grid that ages are counted by: that of an embedded run."""
    symbols = Symbols(rows.pattern)
    return symbols.with_grid(paced(rows), rows.settings.limits.pattern_states) if symbols.measured else symbols


def _cuts(rows: Rows, holdout: float) -> list[float]:
    """Seconds: after the first lie the events that are held out, and the others part these into batches."""
    from pyspark.sql import functions as f

    shares = [1 - holdout + holdout * place / BATCHES for place in range(BATCHES)]
    time = column(rows.time)
    found = rows.frame.select(f.count(f.lit(1)), f.percentile_approx(time, shares, _ACCURACY)).toArrow()
    if not found[0][0].as_py():
        raise _no_events()
    if not found[1][0].is_valid:
        return [math.inf]  # no row has a time: whoever reads them says so
    clock = Clock.of(rows.schema, rows.time)
    return [float(cut) for cut in clock.measured(clock.ticks(found[1].combine_chunks().flatten())) / 1e9]


def _no_events() -> DataError:
    return DataError("the history has no events", fix="give events to learn from")
