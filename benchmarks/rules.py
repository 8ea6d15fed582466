"""The three rules of the CERA paper over its plant: throughput, state, latency, and a comparison with Spark.

push: batches of 10,000 events, on one core, with the tuples kept and the memory of the process at marks on the way.
single: one event at a time, in the middle of the stream. whole: all events of files at once, with the derived events
written to files, by the embedded engine on all cores and on one, and by Spark, in turns; the fastest of each counts.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

import ostinato as ost
from ostinato.files import Writer
from ostinato.samples.plant import LONGEST, PROGRAM, plant

BATCH = 10_000
MARKS = (1, 2, 5, 10)  # tenths of the stream


def push(events: int) -> dict[str, Any]:
    """Only the engine is timed, not the generation of events."""
    engine = ost.rules(PROGRAM).engine(longest=LONGEST)
    marks = {events * mark // 10 for mark in MARKS}
    seconds = cpu = 0.0
    most_kept, found = 0, []
    done = 0
    while done < events:
        made = plant(min(100 * BATCH, events - done), first=done)
        for first in range(0, len(made), BATCH):
            batch = made.slice(first, BATCH)
            began, began_cpu = time.perf_counter(), time.process_time()
            engine.push(batch)
            seconds, cpu = seconds + time.perf_counter() - began, cpu + time.process_time() - began_cpu
            done += len(batch)
            kept = sum(engine.stats().kept.values())
            most_kept = max(most_kept, kept)
            if any(done - len(batch) < mark <= done for mark in marks):
                found.append(
                    {
                        "events": done,
                        "derived": engine.stats().derived,
                        "events per second": done / seconds,
                        "events per CPU-second": done / cpu,
                        "tuples kept": kept,
                        "most tuples kept": most_kept,
                        "snapshot bytes": len(engine.snapshot()),
                        "process bytes": _resident(),
                        "most process bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
                    }
                )
    return {"batch": BATCH, "at": found}


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize()


def single(events: int) -> dict[str, float]:
    """Milliseconds from the call to its answer. The stream has filled its windows before."""
    before = 20_000
    engine = ost.rules(PROGRAM).engine(longest=LONGEST)
    made = plant(before + events)
    engine.push(made.slice(0, before))
    took = []
    for place in range(before, before + events):
        one = made.slice(place, 1)
        began = time.perf_counter()
        engine.push(one)
        took.append((time.perf_counter() - began) * 1000)
    steady = np.array(took[min(1000, events // 10) :])  # the first ones prepare statements
    return {
        "events": len(steady),
        "p50 ms": float(np.percentile(steady, 50)),
        "p99 ms": float(np.percentile(steady, 99)),
        "most ms": float(steady.max()),
    }


def whole(events: int, repeats: int, folder: Path) -> dict[str, Any]:
    from ostinato.spark import session

    source = folder / "events"
    source.mkdir()
    files = 20
    for number in range(files):
        each = events // files
        pq.write_table(plant(each, first=number * each), source / f"{number:05d}.parquet")
    program = ost.rules(PROGRAM)
    spark = session("local[2]")

    def embedded() -> None:
        with Writer(folder / "embedded.parquet") as writer:
            writer.write(program.detect(pq.read_table(source)))

    def on_one_core() -> None:
        cores = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(cores)})  # threads that DuckDB starts now have it too
        try:
            embedded()
        finally:
            os.sched_setaffinity(0, cores)

    def on_spark() -> None:
        frame = spark.read.parquet(str(source))
        program.detect(frame).write.mode("overwrite").parquet(str(folder / "spark"))

    cases: dict[str, Callable[[], None]] = {
        "embedded": embedded,
        "embedded, one core": on_one_core,
        "spark local[2]": on_spark,
    }
    took: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(repeats):
        for name, work in cases.items():
            began = time.perf_counter()
            work()
            took[name].append(time.perf_counter() - began)
    best = {name: min(times) for name, times in took.items()}
    derived = pq.read_metadata(folder / "embedded.parquet").num_rows
    assert spark.read.parquet(str(folder / "spark")).count() == derived, "the two must derive the same"
    shutil.rmtree(source)
    return {"events": files * (events // files), "derived": derived, "seconds": best} | {
        f"spark / {name}": best["spark local[2]"] / best[name] for name in ("embedded", "embedded, one core")
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=10_000_000, help="number of events of push and whole")
    parser.add_argument("--single", type=int, default=11_000, help="events pushed one at a time")
    parser.add_argument("--repeats", type=int, default=3, help="runs of whole; the fastest counts")
    parser.add_argument("--only", choices=("push", "single", "whole"))
    parser.add_argument("--record", type=Path, help="a JSON file to write the result to")
    options = parser.parse_args()
    result: dict[str, Any] = {}
    if options.only in (None, "push"):
        result["push"] = push(options.events)
    if options.only in (None, "single"):
        result["single"] = single(options.single)
    if options.only in (None, "whole"):
        with tempfile.TemporaryDirectory(prefix="ostinato-bench-") as folder:
            result["whole"] = whole(options.events, options.repeats, Path(folder))
    print(json.dumps(result, indent=1))
    if options.record is not None:
        settings = {"events": options.events, "single": options.single, "repeats": options.repeats}
        options.record.write_text(json.dumps(settings | result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
