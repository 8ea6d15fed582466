"""Learning from files on Spark, for the command line."""

from __future__ import annotations

import time
from pathlib import Path

from ostinato.cli.jobs.forecast import summary
from ostinato.cli.jobs.spark.events import SparkJob
from ostinato.cli.report import print_progress
from ostinato.core.text.counts import format_count
from ostinato.forecast.forecaster import Forecaster
from ostinato.forecast.storage import check_model_folder
from ostinato.spark.jobs.session import job_session


def train(forecaster: Forecaster, job: SparkJob, output: Path, *, overwrite: bool) -> None:
    """Learn from the events of the job, and keep the model in a folder."""
    check_model_folder(output, overwrite=overwrite)
    began = time.perf_counter()
    with job_session(job.master) as spark:
        model = forecaster.fit(job.read(spark))
    model.save(output, overwrite=overwrite)
    print_progress(f"{format_count(model.statistics.events, 'event')}, {time.perf_counter() - began:.1f} s")
    print(summary(model))
