"""A job that brings its workers' Python along, in an archive of half a gigabyte: `make test-cluster`."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark.test_cluster import expected_answers, read_answers
from support.spark.jobs.processes import python, start_job

pytestmark = [pytest.mark.own_session, pytest.mark.archive]


def test_every_language_on_fresh_workers(tmp_path: Path) -> None:
    with start_job(python("archived_workers", tmp_path), tmp_path / "log") as started:
        started.finish()
    assert read_answers(tmp_path / "classic") == expected_answers()
    assert not (tmp_path / "cache").exists(), "workers compiled kernels"
