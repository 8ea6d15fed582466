"""python -m spark.jobs.stream_files EVENTS MATCHES CHECKPOINT: detect over a folder of files, one at a time."""

from __future__ import annotations

import sys

import ostinato as ost
from ostinato.spark import session
from spark.jobs.workload import LATENESS, SPARK_SCHEMA, queries


def main(events: str, matches: str, checkpoint: str) -> None:
    spark = session("local[2]", settings={"spark.sql.shuffle.partitions": "2"})
    stream = spark.readStream.schema(SPARK_SCHEMA).option("maxFilesPerTrigger", 1).parquet(events)
    found = ost.detect_many(queries(), stream, order_by=["type", "key", "n"], lateness=LATENESS, buckets=4)
    writer = found.writeStream.option("checkpointLocation", checkpoint).trigger(availableNow=True)
    writer.format("parquet").start(matches).awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
