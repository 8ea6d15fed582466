"""The benchmark of XSeq runs and records, and others find as many answers as XSeq does."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

import ostinato
from ostinato.samples.documents import ensure_document
from support import paths

SCRIPTS = paths.ROOT / "benchmarks"
sys.path.append(str(SCRIPTS))

import xseq as benchmark  # noqa: E402
from xseq_peers import NEEDS, PEERS, peer_queries  # noqa: E402

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("peer", "query", "kind"), [*peer_queries(), ("Saxon", "Figure 1", "stocks")])
def test_others_count_the_same(peer: str, query: str, kind: str, tmp_path: Path) -> None:
    pytest.importorskip(NEEDS.get(peer, "xml"))
    path = ensure_document(tmp_path, kind, 50_000 if query == "Figure 1" else 200_000)
    named: dict[str, Any] = {"root": "stocks", "record": "transaction"} if kind == "stock lines" else {}
    text = benchmark.QUERIES["S2" if query == "Figure 1" else query]
    assert PEERS[peer](query, path) == ostinato.xseq(text).count(path, **named) > 0


def test_a_case_is_measured_and_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    record = tmp_path / "xseq.json"
    options = ("--only", "growing, 1 MB: S2", "--size", 1, "--repeats", 1, "--data", tmp_path, "--record", record)
    monkeypatch.setattr("sys.argv", ["xseq.py", *map(str, options)])
    runpy.run_path(str(SCRIPTS / "xseq.py"), run_name="__main__")
    (case,) = json.loads(record.read_text(encoding="utf-8"))["cases"].values()
    assert case["rows"] > 0 and case["seconds"] > 0 and case["units"] > 900_000 and case["unit"] == "bytes"
    assert "growing, 1 MB" in capsys.readouterr().out


def test_a_job_that_fails_becomes_a_line(tmp_path: Path) -> None:
    job = benchmark.Job("a group", "a name", "batches", "from nothing", folder=str(tmp_path))
    assert benchmark.measure(job).wrong
