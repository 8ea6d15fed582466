"""MATCH_RECOGNIZE on Spark beside what Spark does alone: shuffling and sorting the same rows. Seconds, in turns, the
best of several: `python benchmarks/sql_spark.py`."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import ostinato as ost
from ostinato.spark import session

QUERY = """SELECT * FROM ticks MATCH_RECOGNIZE (
    PARTITION BY sym ORDER BY ts MEASURES FIRST(ts) AS t0, LAST(D.price) AS bottom, LAST(ts) AS t1
    PATTERN (S D+ U+) DEFINE D AS price < PREV(price), U AS price > PREV(price))"""


def seconds(frame: Any) -> float:
    began = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    random = np.random.default_rng(1)
    table = pa.table({
        "sym": random.integers(0, 10_000, options.rows), "ts": np.arange(options.rows),
        "price": np.round(100 + np.cumsum(random.normal(size=options.rows)), 2),
    })  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(table, Path(folder) / "ticks.parquet", row_group_size=500_000)
        spark = session("local[2]", settings={"spark.sql.shuffle.partitions": "4"})
        frame = spark.read.parquet(folder)
        ways = {
            "repartition": frame.repartition("sym"),
            "repartition + sort": frame.repartition("sym").sortWithinPartitions("sym", "ts"),
            "MATCH_RECOGNIZE": ost.sql(QUERY).detect(frame),
        }
        best = dict.fromkeys(ways, float("inf"))
        for _ in range(options.rounds):
            for name, way in ways.items():
                best[name] = min(best[name], seconds(way))
        for name, took in best.items():
            print(f"{name:20} {took:6.2f} s")


if __name__ == "__main__":
    main()
