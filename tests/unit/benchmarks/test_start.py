"""The benchmark of first answers: its programs answer, and its tables say what was measured. Nothing is timed here."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

from support import paths

sys.path.append(str(paths.ROOT / "benchmarks"))

import start as benchmark
from start import STARTS, Measured, Spent, Start

PROBE = paths.ROOT / "benchmarks" / "start_parts.py"


def show(table: Table) -> str:
    text = io.StringIO()
    Console(file=text, width=150).print(table)
    return text.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("start", STARTS, ids=lambda start: start.name)
def test_programs_answer(start: Start, tmp_path: Path) -> None:
    arguments = benchmark.command(start, benchmark.write_events(tmp_path), pandas=False)
    spent, _ = benchmark.run(arguments, benchmark.make_environment(None))
    assert spent.cpu > 0


def test_a_program_that_fails_ends_the_benchmark() -> None:
    with pytest.raises(SystemExit, match="ZeroDivisionError"):
        benchmark.run([sys.executable, "-c", "1 / 0"], benchmark.make_environment(None))


def test_an_empty_cache_is_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    found = benchmark.make_environment(tmp_path)
    assert found["OSTINATO_KERNEL_CACHE"] == str(tmp_path) and "PYTHONDONTWRITEBYTECODE" not in found


def test_goals_stand_beside_what_was_measured() -> None:
    fast, slow = Start("fast", "", 0.5, 3), Start("slow", "", 0.6)
    cold, warm = Spent(2.5, 4.25), Spent(0.4, 0.6)
    lines = show(
        benchmark.results_table([Measured(fast, cold, warm), Measured(slow, None, Spent(0.7, 1))])
    ).splitlines()
    assert "2.50 (4.25) │    3 │ 0.40 (0.60) │  0.5" in next(line for line in lines if "fast" in line)
    assert "0.70 (1.00) │  0.6" in next(line for line in lines if "slow" in line)


def test_the_median_counts() -> None:
    assert benchmark.middle([Spent(1, 9), Spent(5, 2), Spent(2, 3)]) == Spent(2, 3)


def test_large_parts_come_first_and_small_ones_are_summed_up() -> None:
    found = {"CEL": {"running": 0.01, "import: numpy": 0.1, "x": 0.001, "y": 0.002}, "rules": {"running": 0.2}}
    rows = [line.replace("│", " ").split() for line in show(benchmark.parts_table(found)).splitlines() if "│" in line]
    assert rows == [
        ["running", "10", "200"],
        ["import:", "numpy", "100"],
        ["other", "3", "0"],
        ["all", "113", "200"],
    ]


def test_time_belongs_to_what_is_innermost() -> None:
    arguments = [sys.executable, str(PROBE), "import json, lark, sys; sys.exit(0)"]
    _, output = benchmark.run(arguments, benchmark.make_environment(None))
    found = benchmark.read_parts(output)
    assert found.keys() >= {"python", "running", "import: standard library", "import: lark"}
    assert all(seconds >= 0 for seconds in found.values())
