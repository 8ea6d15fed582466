"""Scores of a model on a batch DataFrame: it and its baselines run where the rows are, and only counts come here."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ostinato.errors import DataError, LimitError, OstinatoError
from ostinato.forecast.model import ForecastModel
from ostinato.forecast.score.baselines import FULL, HIGHEST_ORDER, mean_rate
from ostinato.forecast.score.evaluation import Contender, Evaluation, check_asked, evaluate
from ostinato.forecast.score.scores import Distances
from ostinato.spark.failures import told_plainly
from ostinato.spark.forecast.columns import Rows, rows_of
from ostinato.spark.forecast.trial import tried

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_EVERYTHING = [-math.inf]  # all events are later ones


def scores(model: ForecastModel, frame: DataFrame, within: int | None, decision: float) -> Evaluation:
    """What `model.evaluate` says of the same events without Spark. The rows are read once for each model."""
    settings = model.settings
    ahead = check_asked(within, decision, settings.horizon)
    if frame.isStreaming:
        raise OstinatoError("a model is scored on a DataFrame that is read whole, and this one streams\nfix: give one "
                            "of spark.read")  # fmt: skip
    rows = rows_of(frame, model.pattern, settings, whole=False)
    with told_plainly():
        first = _contender("model", model, rows, model.nominal)
        if not len(first.states):
            raise DataError("there are no events", fix="give events with their time and attributes")
        rate = mean_rate(model.learnt.rate, settings.horizon)
        by_rate = replace(first, name="mean rate", waiting=rate, states=np.zeros_like(first.states), nominal=None)
        others = [replace(by_rate, log_loss=math.nan), *_chains(model, rows)]
    assert first.truth is not None
    return evaluate([first, *others], first.truth, within=ahead, threshold=settings.threshold, decision=decision)


def _chains(model: ForecastModel, rows: Rows) -> Iterator[Contender]:
    """Markov chains of full order, as `baselines.trees` has them."""
    settings = replace(model.settings, learning=FULL)
    untimed = replace(model.learnt, gaps=model.learnt.gaps.decayed(0.0))
    for order in range(min(HIGHEST_ORDER, model.learnt.counts.order) + 1):
        try:
            chain = ForecastModel(settings, untimed, order)
            yield _contender(f"Markov {order}" if order else "independent", chain, rows)
        except LimitError:  # longer chains are larger still
            return


def _contender(name: str, model: ForecastModel, rows: Rows, nominal: float | None = None) -> Contender:
    waiting = model.machine.waiting  # what is too large fails here, before Spark begins
    trial = tried(model, replace(rows, settings=replace(rows.settings, learning=model.settings.learning)), _EVERYTHING)
    loss = float(np.average(trial.losses, weights=trial.sizes)) if trial.sizes else math.nan
    distances = Distances(model.automaton.distance(), model.machine.product.pattern[trial.states])
    return Contender(name, waiting, trial.states, loss, nominal, trial.truth, distances)
