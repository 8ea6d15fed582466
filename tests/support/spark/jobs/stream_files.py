"""python -m support.spark.jobs.stream_files EVENTS FOLDER ANSWER: matches, derived events or forecasts, file by file.

FOLDER has the model, and gets the answer and its checkpoint.
"""

from __future__ import annotations

import sys
from typing import Any

import ostinato as ost
from ostinato.spark import ml, session
from support.spark.jobs.workload import LATENESS, ORDER, RULES, SPARK_SCHEMA, queries


def main(events: str, folder: str, answer: str) -> None:
    spark = session("local[2]", settings={"spark.sql.shuffle.partitions": "2"})
    stream = spark.readStream.schema(SPARK_SCHEMA).option("maxFilesPerTrigger", 1).parquet(events)
    writer = _answer(answer, stream, folder).writeStream.option("checkpointLocation", f"{folder}/checkpoint")
    writer.trigger(availableNow=True).format("parquet").start(f"{folder}/{answer}").awaitTermination()


def _answer(name: str, stream: Any, folder: str) -> Any:
    if name == "matches":
        return ost.detect_many(queries(), stream, order_by=ORDER, lateness=LATENESS, buckets=4)
    if name == "derived":
        return ost.rules(RULES).detect(stream, lateness=LATENESS, buckets=2)
    return ml.score(ost.ForecastModel.load(f"{folder}/model"), stream.withWatermark("ts", LATENESS), buckets=2)


if __name__ == "__main__":
    main(*sys.argv[1:])
