"""MATCH_RECOGNIZE on Spark beside what Spark does alone: shuffling and sorting the same rows, and counting a stream.

Wall and CPU seconds of all processes, in turns, the best of several: `python benchmarks/sql_spark.py`, with `--stream`
for a stream.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as f
from spark_many import WARM, Stream, cpu_seconds, write_events

import ostinato as ost
from ostinato.spark import session

QUERY = """SELECT * FROM ticks MATCH_RECOGNIZE (
    PARTITION BY sym ORDER BY ts MEASURES FIRST(ts) AS t0, LAST(D.price) AS bottom, LAST(ts) AS t1
    PATTERN (S D+ U+) DEFINE D AS price < PREV(price), U AS price > PREV(price))"""


STREAMED = """SELECT * FROM events MATCH_RECOGNIZE (
    PARTITION BY key ORDER BY ts MEASURES FIRST(ts) AS t0, LAST(D.v) AS bottom, LAST(ts) AS t1
    PATTERN (S D+ U+) WITHIN INTERVAL 1 MINUTE DEFINE D AS v < PREV(v), U AS v > PREV(v))"""


def seconds(frame: Any) -> tuple[float, float]:
    began, spent = time.perf_counter(), cpu_seconds()
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - began, cpu_seconds() - spent


def batch(spark: Any, folder: Path, rows: int, rounds: int) -> None:
    random = np.random.default_rng(1)
    table = pa.table({
        "sym": random.integers(0, 10_000, rows), "ts": np.arange(rows),
        "price": np.round(100 + np.cumsum(random.normal(size=rows)), 2),
    })  # fmt: skip
    pq.write_table(table, folder / "ticks.parquet", row_group_size=500_000)
    frame = spark.read.parquet(str(folder))
    ways = {
        "repartition": frame.repartition("sym"),
        "repartition + sort": frame.repartition("sym").sortWithinPartitions("sym", "ts"),
        "MATCH_RECOGNIZE": ost.sql(QUERY).detect(frame),
    }
    best = {name: (float("inf"), float("inf")) for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            best[name] = min(best[name], seconds(way), key=lambda took: took[1])
    for name, (wall, cpu) in best.items():
        print(f"{name:20} {wall:6.2f} s, {cpu:6.2f} s of CPU")


def stream(spark: Any, folder: Path, rows: int, rounds: int, batches: int) -> None:
    write_events(folder / "events", batches + WARM, rows)
    schema = spark.read.parquet(str(folder / "events")).schema
    read = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "events"))
    ways = {
        "groupBy.count": (read.groupBy("key").agg(f.count("*")), "update"),
        "MATCH_RECOGNIZE": (ost.sql(STREAMED).detect(read, lateness="1 second"), "append"),
    }
    best: dict[str, dict[str, float]] = {}
    for turn in range(rounds):
        for name, (frame, mode) in ways.items():
            took = Stream(frame, mode, folder / f"{name}-{turn}").run()
            best[name] = min(best.get(name, took), took, key=lambda run: run["cpu ms"])
    for name, took in best.items():
        print(f"{name:20} {took['wall ms']:6.0f} ms, {took['cpu ms']:6.0f} ms of CPU for {rows:,} rows")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("--rows", type=int, default=2_000_000, help="of the table, or of a micro-batch")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--stream", action="store_true")
    parser.add_argument("--batches", type=int, default=6)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ostinato-bench-") as folder:
        spark = session("local[2]", settings={"spark.sql.shuffle.partitions": "4"})
        if options.stream:
            stream(spark, Path(folder), options.rows, options.rounds, options.batches)
        else:
            batch(spark, Path(folder), options.rows, options.rounds)


if __name__ == "__main__":
    main()
