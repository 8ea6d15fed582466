"""Compare Ostinato on Spark with Spark alone, on the same rows in the same session; print the results as JSON.

Batch: detection with its matches written, next to repartition and sort of the same rows. Streaming: detection next to
Spark's own `groupBy(key).count()` over the same files. Rounds take turns; the fastest of each counts.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as f

import ostinato as ost
from ostinato.spark import session

QUERY = "A AS x ; B AS y ; C AS z PARTITION BY key WITHIN 10 seconds"


def write_events(folder: Path, events: int, keys: int, files: int) -> None:
    """Types uniform over A–E, keys uniform, a thousand events per second; each file lies after the one before."""
    rng = np.random.default_rng(1)
    folder.mkdir(parents=True)
    each = events // files
    for number in range(files):
        times = np.sort(rng.integers(number * each * 1000, (number + 1) * each * 1000, each)) + 1_700_000_000_000_000
        table = pa.table(
            {
                "type": pa.array(np.array(list("ABCDE"))[rng.integers(0, 5, each)]),
                "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
                "key": rng.integers(0, keys, each),
                "v": rng.random(each),
            }
        )
        pq.write_table(table, folder / f"{number:05d}.parquet")


def time_run(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def stream(frame: Any, mode: str, folder: Path) -> dict[str, float]:
    """Run a stream to its end and discard its rows; seconds without the first micro-batch, and of the median one."""
    shutil.rmtree(folder, ignore_errors=True)
    writer = frame.writeStream.format("noop").outputMode(mode).trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).start()
    query.awaitTermination()
    batches = [step for step in query.recentProgress if step.numInputRows]
    rest = batches[1:] or batches  # the first one starts workers and stores
    return {
        "seconds": sum(step.durationMs["triggerExecution"] for step in rest) / 1000,
        "rows": sum(step.numInputRows for step in rest),
        "median batch": float(np.median([step.durationMs["triggerExecution"] for step in rest])) / 1000,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=5_000_000)
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--files", type=int, default=20, help="two files are a micro-batch of the streams")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="", help="batch or stream")
    parser.add_argument("--record", type=Path, help="a JSON file to write the result to")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ostinato-bench-") as folder:
        print(json.dumps(result := measure(Path(folder), options), indent=1))
    if options.record is not None:
        options.record.write_text(
            json.dumps(vars(options) | {"record": None} | result, indent=1) + "\n", encoding="utf-8"
        )


def measure(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    events = folder / "events"
    write_events(events, options.events, options.keys, options.files)
    spark = session("local[2]")
    query = ost.cel(QUERY)
    frame = spark.read.parquet(str(events))
    result: dict[str, Any] = {}
    if options.only in ("", "batch"):
        cases: dict[str, Callable[[], Any]] = {
            "repartition + sort": lambda: frame.repartition("key").sortWithinPartitions("key", "ts")
            .write.format("noop").mode("overwrite").save(),
            "repartition + sort, written": lambda: frame.repartition("key").sortWithinPartitions("key", "ts")
            .write.mode("overwrite").parquet(str(folder / "sorted")),
            "detect, matches written": lambda: query.detect(frame)
            .write.mode("overwrite").parquet(str(folder / "matches")),
        }  # fmt: skip
        best = {name: min(times) for name, times in _rounds(cases, options.repeats).items()}
        best["detect / sort"] = best["detect, matches written"] / best["repartition + sort"]
        result["batch"] = best | {"matches": spark.read.parquet(str(folder / "matches")).count()}
    if options.only in ("", "stream"):
        read = spark.readStream.schema(frame.schema).option("maxFilesPerTrigger", 2)
        counts = {
            "groupBy.count": lambda: stream(
                read.parquet(str(events)).groupBy("key").agg(f.count("*")), "update", folder / "native"
            ),
            "detect": lambda: stream(
                query.detect(read.parquet(str(events)), lateness="1 second"), "append", folder / "ours"
            ),
        }
        measured = {name: [work() for _ in range(options.repeats)] for name, work in counts.items()}
        best_of = {name: min(runs, key=lambda run: run["seconds"]) for name, runs in measured.items()}
        result["stream"] = best_of | {
            "throughput ratio": best_of["groupBy.count"]["seconds"] / best_of["detect"]["seconds"],
            "added seconds per batch": best_of["detect"]["median batch"] - best_of["groupBy.count"]["median batch"],
        }
    return result


def _rounds(cases: dict[str, Callable[[], Any]], repeats: int) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(repeats):
        for name, work in cases.items():
            found[name].append(time_run(work))
    return found


if __name__ == "__main__":
    main()
