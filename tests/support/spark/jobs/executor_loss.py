"""Detect on a cluster while its executors are killed."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

import ostinato as ost
from support.spark.jobs.processes import members
from support.spark.jobs.workload import LATENESS, ORDER, SPARK_SCHEMA, queries

SETTINGS = {
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.adaptive.coalescePartitions.enabled": "false",  # small as they are, each executor is to get some
}


def lose_executors(spark: Any, events: str, folder: Path) -> None:
    """The matches go to folder/batch and folder/stream, and what Spark then finds in the latter to folder/read;
    folder/killed gets a line for each executor that was killed."""
    for name, value in SETTINGS.items():
        spark.conf.set(name, value)
    folder.mkdir()
    batch(spark, events, folder)
    stream(spark, events, folder)


def batch(spark: Any, events: str, folder: Path) -> None:
    """One executor is lost while rows are read, one while matches are made from what both executors have shuffled."""
    tracker = spark.sparkContext.statusTracker()

    def done() -> int:
        return sum(tracker.getJobInfo(job).status == "SUCCEEDED" for job in tracker.getJobIdsForGroup(None))

    def active() -> bool:
        return any(tracker.getStageInfo(stage).numActiveTasks for stage in tracker.getActiveStageIds())

    read = spark.read.schema(SPARK_SCHEMA).parquet(events)

    def slowly(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Long enough for a task to be seen and killed. (Workers have no modules of ours: it travels with the job.)"""
        time.sleep(1)
        yield from batches

    found = ost.detect_many(queries(), read.mapInArrow(slowly, read.schema), order_by=ORDER)
    before = done()
    with killing(folder / "killed", active, lambda: active() and done() > before):
        found.mapInArrow(slowly, found.schema).write.parquet(str(folder / "batch"))


def stream(spark: Any, events: str, folder: Path) -> None:
    """The executor that is lost holds state of the batches before."""
    read = spark.readStream.schema(SPARK_SCHEMA).option("maxFilesPerTrigger", 2).parquet(events)
    found = ost.detect_many(queries(), read, order_by=ORDER, lateness=LATENESS, buckets=4)
    writer = found.writeStream.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True)
    with killing(folder / "killed", (folder / "checkpoint" / "offsets" / "1").exists):
        writer.format("parquet").start(str(folder / "stream")).awaitTermination()
    spark.read.parquet(str(folder / "stream")).write.parquet(str(folder / "read"))


class killing:
    """Kills an executor when the first condition holds, one more when the next does, and so on."""

    def __init__(self, record: Path, *conditions: Callable[[], bool]) -> None:
        self.record, self.conditions = record, conditions
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> None:
        self.thread.start()

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()

    def _watch(self) -> None:
        for condition in self.conditions:
            while not condition():
                if self.over.wait(0.05):
                    return
            time.sleep(0.3)  # into the work of the task
            pid = min(executors())
            os.kill(pid, signal.SIGKILL)
            with self.record.open("a") as file:
                file.write(f"{pid}\n")


def executors() -> list[int]:
    """Java processes of this job that run tasks."""
    return [pid for pid in members(os.getsid(0)) if b"CoarseGrainedExecutorBackend" in command_line(pid)]


def command_line(pid: int) -> bytes:
    try:
        return Path("/proc", str(pid), "cmdline").read_bytes()
    except OSError:
        return b""
