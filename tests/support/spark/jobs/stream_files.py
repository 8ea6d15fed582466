"""python -m support.spark.jobs.stream_files EVENTS FOLDER: matches, derived events, row patterns and
forecasts, file by file.

Four streams side by side. FOLDER has the model, and gets the answers and their checkpoints. At the end of the streams,
what a reader finds of each answer goes to FOLDER/read.
"""

from __future__ import annotations

import sys
from typing import Any

import ostinato as ost
from ostinato.spark import ml, session
from support.spark.jobs.processes import SETTINGS
from support.spark.jobs.workload import LATENESS, ORDER, ROW_PATTERN, RULES, SPARK_SCHEMA, queries


def main(events: str, folder: str) -> None:
    spark = session("local[2]", settings=SETTINGS)
    spark.range(1).mapInArrow(lambda batches: batches, "id long").count()  # from now on, Python processes are copies
    model = ost.ForecastModel.load(f"{folder}/model")

    def read(files: int) -> Any:
        return spark.readStream.schema(SPARK_SCHEMA).option("maxFilesPerTrigger", files).parquet(events)

    answers = {
        "matches": ost.detect_many(queries(), read(1), order_by=ORDER, lateness=LATENESS, buckets=4),
        "derived": ost.rules(RULES).detect(read(2), lateness=LATENESS, buckets=2),
        "rows": ost.sql(ROW_PATTERN).detect(read(2), lateness=LATENESS, buckets=2),
        "forecasts": ml.score(model, read(2).withWatermark("ts", LATENESS), buckets=2),
    }
    running = []
    for name, answer in answers.items():
        writer = answer.writeStream.option("checkpointLocation", f"{folder}/checkpoints/{name}")
        running.append(writer.trigger(availableNow=True).format("parquet").start(f"{folder}/{name}"))
    for query in running:
        query.awaitTermination()
    # Spark leaves out what killed batches wrote and never made valid.
    for name in answers:
        spark.read.parquet(f"{folder}/{name}").coalesce(1).write.parquet(f"{folder}/read/{name}")
    whole = model.forecast(spark.read.schema(SPARK_SCHEMA).parquet(events))
    whole.coalesce(1).write.parquet(f"{folder}/read/whole")


if __name__ == "__main__":
    main(*sys.argv[1:])
