"""A streaming job that is killed over and over and started again from its checkpoint gives everything exactly once."""

from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import ostinato as ost
from support.spark.jobs.processes import Job, python, start_job
from support.spark.jobs.workload import (
    ORDER,
    PATTERN,
    QUERIES,
    RULES,
    counted,
    events,
    expected,
    queries,
    read_back,
    write_files,
)

# Where a step of a micro-batch leaves its trace.
PLANNED, WRITTEN, VALID, DONE = "checkpoint/offsets", "{}", "{}/_spark_metadata", "checkpoint/commits"


@pytest.mark.parametrize(
    ("answer", "files", "kills"),
    [("matches", 12, (PLANNED, WRITTEN, VALID, DONE)), ("derived", 5, (VALID,)), ("forecasts", 5, (WRITTEN,))],
)
def test_kills_at_any_moment_lose_nothing_and_repeat_nothing(
    spark: Any, tmp_path: Path, answer: str, files: int, kills: tuple[str, ...]
) -> None:
    table = events(600)
    write_files(table, tmp_path / "events", files)
    model = ost.Forecaster(PATTERN, order=1, horizon=10, order_by=ORDER).fit(table)
    model.save(tmp_path / "model")
    command = python("stream_files", tmp_path / "events", tmp_path, answer)
    chance = random.Random(7)
    for trace in kills:
        with start_job(command, tmp_path / "log") as job:
            wait_for_more(job, tmp_path / trace.format(answer), chance.randint(1, 2))
            time.sleep(chance.uniform(0, 0.3))
            assert job.running, "the stream ended before it could be killed"
    assert len(list((tmp_path / DONE).glob("[0-9]*"))) < files
    with start_job(command, tmp_path / "log") as job:
        job.finish()
    # Reading with Spark leaves out what killed batches wrote and never made valid.
    found = read_back(spark.read.parquet(str(tmp_path / answer)))
    if answer == "matches":
        assert found == expected(table)
    elif answer == "derived":
        assert found == counted(ost.rules(RULES).detect(table).to_pylist())
    else:  # The last event waits: as long as time has not passed it, one before it may still come.
        whole = model.forecast(spark.createDataFrame(table))
        assert found == read_back(whole.where(f"n < {len(table) - 1}"))


def wait_for_more(job: Job, folder: Path, more: int) -> None:
    before = entries(folder)
    job.wait_until(lambda: len(entries(folder) - before) >= more)


def entries(folder: Path) -> set[Path]:
    """Spark writes into hidden files first, and gives them their names when they are whole."""
    return {path for path in folder.glob("*") if not path.name.startswith(".")} if folder.exists() else set()


def test_every_query_has_matches_to_lose() -> None:
    answer = ost.detect_many(queries(), events(600), order_by=ORDER)
    counts = Counter(answer["query"].to_pylist())
    assert {name for name, count in counts.items() if count > 20} == set(QUERIES)
