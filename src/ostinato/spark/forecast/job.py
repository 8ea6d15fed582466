"""Forecasting on Spark for the command line: learning from files, and a model in the place of a query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ostinato.core.events import DEFAULT_TIME
from ostinato.forecast.forecaster import Forecaster
from ostinato.forecast.model import ForecastModel
from ostinato.spark.job import SparkJob, running

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def train(forecaster: Forecaster, job: SparkJob) -> ForecastModel:
    """Learn from the events of the job."""
    with running(job.master) as spark:
        return forecaster.fit(job.frame(spark))


@dataclass(frozen=True)
class Scored:
    """A model in the place of a query: what it finds in a frame are forecasts.

    `alert`: only those of at least this probability; `whole`: with all columns of their event, not only those that tell
    which it is; `within`: with the probability within so many events.
    """

    model: ForecastModel
    alert: float | None = None
    whole: bool = False
    within: tuple[int, ...] = ()

    def detect(self, frame: DataFrame, /, **options: Any) -> DataFrame:
        from pyspark.sql import functions as f

        made: DataFrame = self.model.forecast(frame, within=self.within, **options)
        if frame.isStreaming:
            # Rows that came too late have no forecast.
            given = f.col("probability") >= (self.alert or 0.0)
            counts = {"matches": given, "late": f.isnull("probability"), "rows": f.lit(True)}
            made = made.observe("ostinato", *(f.count(f.when(each, 1)).alias(name) for name, each in counts.items()))
        if not self.whole:
            own = (self.model.settings.time or DEFAULT_TIME, *self.model.pattern.partition_by)
            other = [name for name in frame.columns if name not in own]
            made = made.drop(*(f.col(f"`{name}`") for name in other))
        return made if self.alert is None else made.where(f.col("probability") >= self.alert)
