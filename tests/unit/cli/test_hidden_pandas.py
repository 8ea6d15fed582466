"""The command line runs without pandas, also where it is installed; only Spark gets to see it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.commands import COMMAND

pytest.importorskip("pandas")


def run(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("asked", ["", "pa.array([1])"], ids=["before an array", "after an array"])
def test_pyarrow_knows_pandas_once_it_is_shown(asked: str) -> None:
    run(f"""
import sys
from ostinato.cli.hidden_pandas import hide_pandas, show_pandas
hide_pandas()
import pyarrow as pa
{asked}
assert "pandas" not in sys.modules
show_pandas()
import pandas
assert pa.array(pandas.Series([1.0, float("nan")])).null_count == 1
""")


def test_showing_what_was_never_hidden_imports_nothing() -> None:
    run("import sys, pyarrow; from ostinato.cli.hidden_pandas import show_pandas; show_pandas(); "
        "assert 'pandas' not in sys.modules")  # fmt: skip


@pytest.mark.slow
def test_nanoseconds_are_shown_and_written_without_pandas(tmp_path: Path) -> None:
    moments, lengths = pa.array([1, 2], pa.timestamp("ns")), pa.array([1, 2], pa.duration("ns"))
    pq.write_table(pa.table({"ts": moments, "type": ["A", "B"], "long": lengths}), tmp_path / "events.parquet")
    detect = [*COMMAND, "detect", "-q", "A AS x ; B AS y", "--events", "-i", "events.parquet"]
    for more in ([], ["-o", "found.jsonl"]):
        done = subprocess.run([*detect, *more], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert '"long": 2e-09' in (tmp_path / "found.jsonl").read_text(encoding="utf-8")
