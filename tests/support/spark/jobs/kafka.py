"""python -m support.spark.jobs.kafka SERVER EVENTS FOLDER: detect from a topic into another, then by commands.

What is then read from that other topic goes to FOLDER/matches. FOLDER/runs.json tells messages, by topic, and commands
over them; what these answer goes to FOLDER/answers.json.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import functions as f

import ostinato as ost
from ostinato.spark import session
from support.commands import run
from support.spark.jobs.processes import SETTINGS
from support.spark.jobs.workload import ORDER, SPARK_SCHEMA, queries

LATENESS = "30 seconds"  # what one micro-batch spans, and more: the partitions of a topic are not read in step


def main(server: str, events: str, folder: str) -> None:
    spark = session("local[2]", settings=SETTINGS)
    pipe(spark, server, events, Path(folder))
    run_commands(spark, server, Path(folder))


def pipe(spark: Any, server: str, events: str, folder: Path) -> None:
    rows = spark.read.schema(SPARK_SCHEMA).parquet(events)
    # The event that closes the stream comes when all others have been read, and the stream goes on from its checkpoint.
    for part in (rows.filter("type <> 'END'"), rows.filter("type = 'END'")):
        send(part.select(f.col("key").cast("string"), f.to_json(f.struct("*")).alias("value")).write, server, "events")
        schema = detect(spark, server, folder / "checkpoint")
    messages = spark.read.format("kafka").option("kafka.bootstrap.servers", server).option("subscribe", "matches")
    found = messages.load().select(f.from_json(f.col("value").cast("string"), schema).alias("match"))
    found.select("match.*").write.parquet(str(folder / "matches"))


def run_commands(spark: Any, server: str, folder: Path) -> None:
    told = json.loads((folder / "runs.json").read_text(encoding="utf-8"))
    for topic, values in told["topics"].items():
        rows = spark.createDataFrame([(value, 0) for value in values], "value string, partition int")
        send(rows.coalesce(1).write, server, topic)
    answers = [run("detect", *(part.replace("SERVER", server) for part in command)) for command in told["commands"]]
    said = [(answer.exit_code, answer.stdout, answer.stderr) for answer in answers]
    (folder / "answers.json").write_text(json.dumps(said), encoding="utf-8")


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
