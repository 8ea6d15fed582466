"""A cluster whose workers have neither this package nor numba nor kernels: what they need comes with the job."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from support.spark.jobs import fresh_workers as job
from support.spark.jobs.processes import python, start_job

pytestmark = pytest.mark.own_session


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where one cluster has written its answers."""
    folder = tmp_path_factory.mktemp("cluster")
    with start_job(python("fresh_workers", folder), folder / "log") as started:
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
