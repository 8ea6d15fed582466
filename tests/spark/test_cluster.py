"""Executors that die while they work change no answer, batch or streaming."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from support.spark.jobs.processes import python, start_job
from support.spark.jobs.workload import counted, events, expected, write_files


@pytest.mark.own_session
@pytest.mark.skipif(not Path("/proc").exists(), reason="executors are found in /proc")
def test_the_answer_survives_the_loss_of_executors(tmp_path: Path) -> None:
    table = events(600)
    write_files(table, tmp_path / "events", 6)
    with start_job(python("executor_loss", tmp_path / "events", tmp_path), tmp_path / "log") as job:
        job.finish()
    killed = (tmp_path / "killed").read_text().split()
    assert len(set(killed)) == 3, f"executors were to be killed, twice in batch and once in the stream: {killed}"
    for folder in ("batch", "read"):
        assert counted(pq.read_table(tmp_path / folder).to_pylist()) == expected(table), folder
