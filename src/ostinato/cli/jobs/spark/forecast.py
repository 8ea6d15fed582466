"""Forecasting on Spark for the command line: learning from files, and a model in the place of a query."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ostinato.cli.jobs.forecast import summary
from ostinato.cli.jobs.spark.events import SparkJob
from ostinato.cli.report import print_progress
from ostinato.core.events import DEFAULT_TIME
from ostinato.forecast.forecaster import Forecaster
from ostinato.forecast.model import ForecastModel
from ostinato.forecast.storage import check_model_folder
from ostinato.spark.jobs.session import job_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def train(forecaster: Forecaster, job: SparkJob, output: Path, *, overwrite: bool) -> None:
    """Learn from the events of the job, and keep the model in a folder."""
    check_model_folder(output, overwrite=overwrite)
    began = time.perf_counter()
    with job_session(job.master) as spark:
        model = forecaster.fit(job.read(spark))
    model.save(output, overwrite=overwrite)
    print_progress(f"{model.statistics.events:,.0f} events, {time.perf_counter() - began:.1f} s")
    print(summary(model))


@dataclass(frozen=True)
class ForecastQuery:
    """A model in the place of a query: it finds forecasts in a frame.

    `alert`: only forecasts of at least this probability; `all_columns`: with all columns of the event, not only its
    time and key; `within`: with the probability of a completion within so many events.
    """

    model: ForecastModel
    alert: float | None = None
    all_columns: bool = False
    within: tuple[int, ...] = ()

    def detect(self, frame: DataFrame, /, **options: Any) -> DataFrame:
        from pyspark.sql import functions as f

        made: DataFrame = self.model.forecast(frame, within=self.within, **options)
        if frame.isStreaming:
            # Rows that came too late have no forecast.
            given = f.col("probability") >= (self.alert or 0.0)
            counts = {"matches": given, "late": f.isnull("probability"), "rows": f.lit(True)}
            made = made.observe("ostinato", *(f.count(f.when(each, 1)).alias(name) for name, each in counts.items()))
        if not self.all_columns:
            own = (self.model.settings.time or DEFAULT_TIME, *self.model.pattern.partition_by)
            other = [name for name in frame.columns if name not in own]
            made = made.drop(*(f.col(f"`{name}`") for name in other))
        return made if self.alert is None else made.where(f.col("probability") >= self.alert)
