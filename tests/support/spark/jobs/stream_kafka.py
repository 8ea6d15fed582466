"""python -m support.spark.jobs.stream_kafka SERVER JARS EVENTS FOLDER: detect from a topic into another.

What is then read from that topic goes to FOLDER/matches.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from pyspark.sql import functions as f

import ostinato as ost
from ostinato.spark import session
from support.spark.jobs.workload import ORDER, SPARK_SCHEMA, queries

LATENESS = "30 seconds"  # what one micro-batch spans, and more: the partitions of a topic are not read in step


def main(server: str, jars: str, events: str, folder: str) -> None:
    spark = session("local[2]", settings={"spark.jars": jars, "spark.sql.shuffle.partitions": "2"})
    rows = spark.read.schema(SPARK_SCHEMA).parquet(events)
    # The event that closes the stream comes when all others have been read, and the stream goes on from its checkpoint.
    for part in (rows.filter("type <> 'END'"), rows.filter("type = 'END'")):
        send(part.select(f.col("key").cast("string"), f.to_json(f.struct("*")).alias("value")).write, server, "events")
        schema = detect(spark, server, Path(folder, "checkpoint"))
    messages = spark.read.format("kafka").option("kafka.bootstrap.servers", server).option("subscribe", "matches")
    found = messages.load().select(f.from_json(f.col("value").cast("string"), schema).alias("match"))
    found.select("match.*").write.parquet(f"{folder}/matches")


def detect(spark: Any, server: str, checkpoint: Path) -> Any:
    """All that is in the topic by now; returns the schema of the matches."""
    reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", server).option("subscribe", "events")
    messages = reader.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", 200).load()
    stream = messages.select(f.from_json(f.col("value").cast("string"), SPARK_SCHEMA).alias("event")).select("event.*")
    matches = ost.detect_many(queries(), stream, order_by=ORDER, lateness=LATENESS, buckets=4)
    writer = matches.select(f.to_json(f.struct("*")).alias("value")).writeStream
    writer = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    query = writer.format("kafka").option("kafka.bootstrap.servers", server).option("topic", "matches").start()
    query.awaitTermination()
    return matches.schema


def send(writer: Any, server: str, topic: str) -> None:
    writer.format("kafka").option("kafka.bootstrap.servers", server).option("topic", topic).save()


if __name__ == "__main__":
    main(*sys.argv[1:])
