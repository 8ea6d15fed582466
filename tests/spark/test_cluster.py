"""A cluster whose workers have neither this package nor numba nor kernels: what they need comes with the job.

Then its executors die while they work, which changes no answer, batch or streaming.
"""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from support.spark.jobs import cluster as job
from support.spark.jobs.processes import python, start_job
from support.spark.jobs.workload import counted, events, expected, write_files

pytestmark = pytest.mark.own_session
LOST_WITH = events(600)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where one cluster has written its answers."""
    folder = tmp_path_factory.mktemp("cluster")
    write_files(LOST_WITH, folder / "events", 6)
    with start_job(python("cluster", folder), folder / "log") as started:
        started.finish()
    return folder


def read_answers(folder: Path) -> dict[str, Any]:
    """All but those that depend on where streams stop."""
    answers: dict[str, Any] = json.loads((folder / "answers.json").read_text())
    assert answers.pop("packages before") == "", "workers found packages that nobody sent"
    for name in [name for name in answers if name.startswith("stream")]:
        assert answers.pop(name) > 0, name
    return answers


def expected_answers() -> dict[str, Any]:
    """Without Spark."""
    patterns = {name: query.detect(job.EVENTS, time="ts").num_rows for name, query in job.PATTERNS.items()}
    return patterns | {
        "rules": job.RULES.detect(job.EVENTS, time="ts").num_rows,
        **{
            name: sum(query.detect(text.encode()).num_rows for text in job.DOCUMENTS)
            for name, query in job.XSEQ.items()
        },
        "forecast": len(job.EVENTS),
        "table function": patterns["compared"],
        "another session": patterns["compared"],
    }


def test_workers_compile_nothing(folder: Path) -> None:
    assert read_answers(folder / "classic") == expected_answers()
    assert not (folder / "cache").exists(), "workers compiled kernels"


@pytest.mark.skipif(not find_spec("grpc"), reason="needs the libraries of Spark Connect")
def test_what_they_need_travels_over_spark_connect_too(folder: Path) -> None:
    answers, expected = read_answers(folder / "connect"), expected_answers()
    assert len(answers) == 5
    assert answers == {name: expected[name] for name in answers}
    assert not (folder / "cache").exists(), "workers compiled kernels"


@pytest.mark.skipif(not Path("/proc").exists(), reason="executors are found in /proc")
def test_the_answer_survives_the_loss_of_executors(folder: Path) -> None:
    killed = (folder / "loss" / "killed").read_text().split()
    assert len(set(killed)) == 3, f"executors were to be killed, twice in batch and once in the stream: {killed}"
    for answer in ("batch", "read"):
        assert counted(pq.read_table(folder / "loss" / answer).to_pylist()) == expected(LOST_WITH), answer
