"""A streaming job that is killed over and over and started again from its checkpoints gives everything exactly once."""

from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import ostinato as ost
from support.spark.jobs.processes import Job, python, start_job
from support.spark.jobs.workload import (
    ORDER,
    PATTERN,
    QUERIES,
    ROW_PATTERN,
    RULES,
    counted,
    events,
    expected,
    queries,
    write_files,
)

pytestmark = pytest.mark.own_session
FILES = 10
# Where a step of a micro-batch leaves its trace.
PLANNED, WRITTEN, VALID, DONE = "checkpoints/{}/offsets", "{}", "{}/_spark_metadata", "checkpoints/{}/commits"
# Each kill hits one stream at such a step, and the others wherever they are.
KILLS = [(VALID, "derived"), (WRITTEN, "forecasts"), (PLANNED, "matches")]


def test_kills_at_any_moment_lose_nothing_and_repeat_nothing(tmp_path: Path) -> None:
    table = events(600)
    write_files(table, tmp_path / "events", FILES)
    ost.Forecaster(PATTERN, order=1, horizon=10, order_by=ORDER).fit(table).save(tmp_path / "model")
    command = python("stream_files", tmp_path / "events", tmp_path)
    chance = random.Random(7)
    for trace, answer in KILLS:
        with start_job(command, tmp_path / "log") as job:
            wait_for_more(job, tmp_path / trace.format(answer), 1)
            time.sleep(chance.uniform(0, 0.3))
            assert job.running, "the streams ended before they could be killed"
    assert len(list((tmp_path / DONE.format("matches")).glob("[0-9]*"))) < FILES
    with start_job(command, tmp_path / "log") as job:
        job.finish()
    assert counted(read(tmp_path, "matches")) == expected(table)
    assert counted(read(tmp_path, "derived")) == counted(ost.rules(RULES).detect(table).to_pylist())
    assert counted(read(tmp_path, "rows")) == counted(ost.sql(ROW_PATTERN).detect(table).to_pylist())
    # The last event waits: as long as time has not passed it, one before it may still come.
    whole = [row for row in read(tmp_path, "whole") if row["n"] < len(table) - 1]
    assert counted(read(tmp_path, "forecasts")) == counted(whole)


def wait_for_more(job: Job, folder: Path, more: int) -> None:
    before = entries(folder)
    job.wait_until(lambda: len(entries(folder) - before) >= more)


def entries(folder: Path) -> set[Path]:
    """Spark writes into hidden files first, and gives them their names when they are whole."""
    return {path for path in folder.glob("*") if not path.name.startswith(".")} if folder.exists() else set()


def read(folder: Path, answer: str) -> list[dict[str, Any]]:
    return pq.read_table(folder / "read" / answer).to_pylist()


def test_the_row_pattern_has_matches_to_lose() -> None:
    assert len(ost.sql(ROW_PATTERN).detect(events(600))) > 20


def test_every_query_has_matches_to_lose() -> None:
    answer = ost.detect_many(queries(), events(600), order_by=ORDER)
    counts = Counter(answer["query"].to_pylist())
    assert {name for name, count in counts.items() if count > 20} == set(QUERIES)
