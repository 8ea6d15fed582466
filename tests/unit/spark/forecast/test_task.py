"""A model on its way to the tasks."""

from __future__ import annotations

from dataclasses import replace

from ostinato.forecast.model import ForecastModel
from ostinato.spark.forecast.task import ShippedModel
from support.spark.forecast import PATTERNS, forecaster, history


def test_a_model_travels_as_files_and_is_rebuilt_once() -> None:
    model = forecaster(PATTERNS["events"]).fit(history())
    shipped = ShippedModel.of(model, replace(model.settings, order_by=("v",)))
    assert shipped.model is ShippedModel(shipped.digest, {}).model
    assert shipped.model.settings.order_by == ("v",) and model.settings.order_by == ()
    assert isinstance(shipped.model, ForecastModel)
    assert shipped.model.forecast(history()).equals(model.forecast(history()))
