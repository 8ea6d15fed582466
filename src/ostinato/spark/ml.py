"""`ostinato.spark.ml`: forecasting as an Estimator and a Model of pyspark.ml, alone or in a Pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.ml import Estimator, Model
from pyspark.ml.util import (
    DefaultParamsReadable,
    DefaultParamsReader,
    DefaultParamsWritable,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)

from ostinato.forecast import model as embedded
from ostinato.patterns.query import PatternQuery
from ostinato.spark.forecast import storage
from ostinato.spark.forecast.fit import fit
from ostinato.spark.forecast.params import ForecastParams
from ostinato.spark.forecast.score import score

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["ForecastModel", "Forecaster", "fit", "score"]


class ForecastModel(Model, MLReadable["ForecastModel"], MLWritable):
    """Adds forecasts to a DataFrame, batch or streaming. `model` is what everyone else uses: `ostinato.ForecastModel`,
    with `explain`, `evaluate` and `update`."""

    def __init__(self, model: embedded.ForecastModel) -> None:
        super().__init__()
        self.model = model

    def _transform(self, dataset: DataFrame) -> DataFrame:
        return score(self.model, dataset)

    def write(self) -> MLWriter:
        return _ModelWriter(self)

    @classmethod
    def read(cls) -> MLReader[ForecastModel]:
        return _ModelReader()

    def __repr__(self) -> str:
        return f"{self.uid}: {self.model!r}"


class Forecaster(ForecastParams, Estimator[ForecastModel], DefaultParamsReadable["Forecaster"], DefaultParamsWritable):
    """Learns from a DataFrame when a pattern completes; the options are those of `ostinato.Forecaster`."""

    def __init__(self, query: PatternQuery | str | None = None, **options: Any) -> None:
        super().__init__()
        self._set_defaults()
        self._set_options(query, options)

    def setParams(self, query: PatternQuery | str | None = None, **options: Any) -> Forecaster:
        self._set_options(query, options)
        return self

    def _fit(self, dataset: DataFrame) -> ForecastModel:
        found = ForecastModel(fit(self.pattern, self.settings, dataset))
        return found._resetUid(self.uid)


class _ModelWriter(MLWriter):
    """The folder of a saved model, and the metadata that pyspark.ml needs."""

    def __init__(self, instance: ForecastModel) -> None:
        super().__init__()
        self.instance = instance

    def saveImpl(self, path: str) -> None:
        DefaultParamsWriter.saveMetadata(self.instance, path, self.sparkSession)
        storage.write_model(self.instance.model, path, self.sparkSession)


class _ModelReader(MLReader[ForecastModel]):
    """Also of a folder that `ostinato.ForecastModel.save` wrote, where pyspark.ml knows nothing of it."""

    def load(self, path: str) -> ForecastModel:
        found = ForecastModel(storage.read_model(path, self.sparkSession))
        if not storage.file_exists(path, "metadata", self.sparkSession):
            return found
        return found._resetUid(DefaultParamsReader.loadMetadata(path, self.sparkSession)["uid"])
