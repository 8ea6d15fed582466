"""Run 1, 10 and 50 queries over one Spark stream, in micro-batches of 20,000 and of 100 rows; print JSON.

Each query is `Ti AS x ; Tj AS y ; Tk AS z` over 50 types, with a condition and a key. The same files also pass Spark's
own `groupBy(key).count()`. Wall time is Spark's of the median micro-batch; CPU time is that of all processes of the
job, per micro-batch. The first micro-batches, which start workers and stores, do not count.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as f

import ostinato as ost
from ostinato.spark import session

TYPES, KEYS, WARM = 50, 10_000, 3
START = 1_700_000_000_000_000


def write_events(folder: Path, batches: int, rows: int) -> None:
    """Two thousand events per second; each file lies after the one before."""
    rng = np.random.default_rng(1)
    folder.mkdir(parents=True)
    names = np.array([f"T{number}" for number in range(TYPES)])
    for number in range(batches):
        times = np.sort(rng.integers(number * rows * 500, (number + 1) * rows * 500, rows)) + START
        table = pa.table(
            {
                "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
                "type": pa.array(names[rng.integers(0, TYPES, rows)]),
                "key": rng.integers(0, KEYS, rows),
                "v": rng.random(rows),
            }
        )
        path = folder / f"{number:05d}.parquet"
        pq.write_table(table, path)
        os.utime(path, (1_500_000_000 + number,) * 2)  # Spark takes the older files first


def make_queries(count: int) -> dict[str, Any]:
    return {
        f"q{number}": ost.cel(
            f"T{number % TYPES} AS x ; T{(number + 7) % TYPES} AS y ; T{(number + 11) % TYPES} AS z "
            f"FILTER x.v > {number / 100} PARTITION BY key WITHIN 60 seconds"
        )
        for number in range(count)
    }


def descendants() -> list[int]:
    """This process and all that it has started."""
    parents = {}
    for entry in Path("/proc").iterdir():
        try:
            parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except (ValueError, OSError):
            continue
    found = [os.getpid()]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found


def cpu_seconds() -> float:
    ticks = 0
    for pid in descendants():
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(map(int, fields[11:15]))  # also of those that have ended
    return ticks / os.sysconf("SC_CLK_TCK")


class Stream:
    """A stream over a folder that is given one file after the other."""

    def __init__(self, frame: Any, mode: str, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        writer = frame.writeStream.format("noop").outputMode(mode).trigger(availableNow=True)
        self.writer = writer.option("checkpointLocation", str(folder / "checkpoint"))

    def run(self) -> dict[str, float]:
        query = self.writer.start()
        began: dict[int, float] = {}
        while query.isActive:
            done = query.lastProgress
            if done is not None and done.batchId not in began:
                began[done.batchId] = cpu_seconds()
            query.awaitTermination(0.02)
        query.awaitTermination()
        end = cpu_seconds()
        steps = [step for step in query.recentProgress if step.numInputRows and step.batchId >= WARM]
        first = min((cpu for batch, cpu in began.items() if batch >= WARM - 1), default=end)
        return {
            "wall ms": float(np.median([step.durationMs["triggerExecution"] for step in steps])),
            "cpu ms": 1000 * (end - first) / len(steps),
            "batches": len(steps),
        }


def measure(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    spark = session("local[2]")
    result: dict[str, Any] = {}
    for rows in options.rows:
        events = folder / f"events-{rows}"
        write_events(events, options.batches + WARM, rows)
        schema = spark.read.parquet(str(events)).schema
        read = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
        counted = read.parquet(str(events)).groupBy("key").agg(f.count("*"))
        own: dict[str, Any] = {}
        for turn in range(options.repeats):
            found = Stream(counted, "update", folder / f"count-{turn}").run()
            own["groupBy.count"] = min(own.get("groupBy.count", found), found, key=lambda run: run["cpu ms"])
            for count in options.queries:
                frame = ost.detect_many(make_queries(count), read.parquet(str(events)), lateness="1 second")
                found = Stream(frame, "append", folder / f"many-{turn}").run()
                own[str(count)] = min(own.get(str(count), found), found, key=lambda run: run["cpu ms"])
        result[str(rows)] = own
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 100], help="of a micro-batch")
    parser.add_argument("--batches", type=int, default=10)
    parser.add_argument("--queries", type=int, nargs="+", default=[1, 10, 50])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--record", type=Path, help="a JSON file to write the result to")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ostinato-bench-") as folder:
        print(json.dumps(result := measure(Path(folder), options), indent=1))
    if options.record is not None:
        options.record.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
