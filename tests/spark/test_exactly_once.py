"""A streaming job that is killed over and over and started again from its checkpoint gives every match exactly once."""

from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import ostinato as ost
from spark.jobs.running import Job, python, running
from spark.jobs.workload import QUERIES, events, expected, queries, read_back, write_files

FILES, KILLS = 16, 5


def test_kills_at_any_moment_lose_nothing_and_repeat_nothing(spark: Any, tmp_path: Path) -> None:
    table = events(600)
    source, sink, checkpoint = tmp_path / "events", tmp_path / "matches", tmp_path / "checkpoint"
    write_files(table, source, FILES)
    command = python("stream_files", source, sink, checkpoint)
    # Where a step of a micro-batch leaves its trace: planned, matches written, matches valid, done.
    traces = (checkpoint / "offsets", sink, sink / "_spark_metadata", checkpoint / "commits")
    chance = random.Random(7)
    for number in range(KILLS):
        with running(command, tmp_path / "log") as job:
            wait_for_more(job, traces[number % len(traces)], chance.randint(1, 2))
            time.sleep(chance.uniform(0, 0.3))
            assert job.running, "the stream ended before it could be killed"
    assert len(list(traces[-1].glob("[0-9]*"))) < FILES
    with running(command, tmp_path / "log") as job:
        job.finish()
    # Reading with Spark leaves out what killed batches wrote and never made valid.
    assert read_back(spark.read.parquet(str(sink))) == expected(table)


def wait_for_more(job: Job, folder: Path, more: int) -> None:
    before = entries(folder)
    job.wait_until(lambda: len(entries(folder) - before) >= more)


def entries(folder: Path) -> set[Path]:
    """Spark writes into hidden files first, and gives them their names when they are whole."""
    return {path for path in folder.glob("*") if not path.name.startswith(".")} if folder.exists() else set()


def test_every_query_has_matches_to_lose() -> None:
    answer = ost.detect_many(queries(), events(600), order_by=["type", "key", "n"])
    counts = Counter(answer["query"].to_pylist())
    assert {name for name, count in counts.items() if count > 20} == set(QUERIES)
