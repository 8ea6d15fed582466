"""A cluster whose workers have neither this package nor kernels: both come with the job."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ostinato as ost
from support.spark.jobs import fresh_workers as job
from support.spark.jobs.processes import python, start_job


@pytest.mark.own_session
def test_workers_without_the_package_compile_nothing(tmp_path: Path) -> None:
    with start_job(python("fresh_workers", tmp_path), tmp_path / "log") as started:
        started.finish()
    answers = json.loads((tmp_path / "answers.json").read_text())
    matches = ost.cel(job.CEL).detect(job.EVENTS, time="ts").num_rows
    assert matches > 0
    assert answers.pop("forecast") == len(job.EVENTS)
    assert answers.pop("rules") == ost.rules(job.RULES).detect(job.EVENTS, time="ts").num_rows
    assert 0 < answers.pop("stream") <= matches, "the last rows wait for the watermark"
    assert set(answers.pop("before")) == {"False"}, "workers found the package before it was sent"
    assert answers == {
        "patterns": matches,
        "xseq": sum(ost.xseq(job.XSEQ).detect(text.encode()).num_rows for text in job.DOCUMENTS),
    }  # fmt: skip
    assert not (tmp_path / "cache").exists(), "workers compiled kernels"
