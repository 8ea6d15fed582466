"""Benchmarks are never timed here; what is tested is that they run, name themselves and can be compared."""

from __future__ import annotations

import io
import json
import runpy
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from ostinato.cli import bench
from ostinato.errors import QueryError
from support import paths

SCRIPTS = paths.ROOT / "benchmarks"


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(QueryError, match="no benchmark is called `nosuch`") as caught:
        bench.run(only="nosuch", events=1000)
    assert caught.value.fix is not None and "strategies" in caught.value.fix and "partitions" in caught.value.fix


def test_cases_stand_beside_both_limits() -> None:
    text = io.StringIO()
    found = bench.run(only="q4 within 100", events=1000, repeats=1, console=Console(file=text, width=150))
    names = [case.name for case in found]
    assert names[:2] == [bench.LIMIT, "codes read side by side"] and "MAX Q4 WITHIN 100, update" in names
    assert all(case.units > 0 for case in found) and "of the bare limit" in text.getvalue()


def test_a_step_of_the_limit_depends_on_the_one_before() -> None:
    codes, table = np.array([0, 1, 1], np.int32), np.array([[1, 0], [0, 2], [2, 1]], np.int32)
    assert bench._step_codes(codes, table) == 1


def script(name: str, *arguments: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", [name, *map(str, arguments)])
    runpy.run_path(str(SCRIPTS / name), run_name="__main__")


def test_results_are_recorded_and_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    script("record.py", old, "Q1 WITHIN 100", "--events", 1000, "--repeats", 1, monkeypatch=monkeypatch)
    record = json.loads(old.read_text(encoding="utf-8"))
    assert record["events"] == 1000 and "update only: Q1 WITHIN 100" in record["cases"]
    for case in record["cases"].values():
        case["seconds"] /= 2
    record["cases"]["update only: Q1 WITHIN 100"]["seconds"] /= 2
    record["cases"]["new"] = record["cases"].pop("strategies: NXT Q1 WITHIN 100")
    new.write_text(json.dumps(record), encoding="utf-8")
    capsys.readouterr()
    monkeypatch.setenv("COLUMNS", "150")
    script("compare.py", old, new, monkeypatch=monkeypatch)
    text = capsys.readouterr().out
    (row,) = [line for line in text.splitlines() if "update only: Q1 WITHIN 100 " in line]
    assert "4.00" in row and "2.00" in row
    assert "only in old.json: strategies: NXT Q1 WITHIN 100" in text and "only in new.json: new" in text


@pytest.mark.slow
def test_rules_are_measured(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    found = bench.run(only="rules", events=3000, repeats=1, console=Console(file=io.StringIO()))
    assert [case.units for case in found if case.group == "rules"] == [3000, 3000, 3000]
    script("rules.py", "--only", "push", "--events", 40_000, monkeypatch=monkeypatch)
    marks = json.loads(capsys.readouterr().out)["push"]["at"]
    assert [mark["events"] for mark in marks] == [10_000, 20_000, 40_000]
    assert all(mark["tuples kept"] <= mark["most tuples kept"] < 20_000 for mark in marks)
    script("rules.py", "--only", "single", "--single", 40, monkeypatch=monkeypatch)
    assert json.loads(capsys.readouterr().out)["single"]["events"] == 36


def test_the_recorded_results_can_be_read() -> None:
    results = list((SCRIPTS / "results").glob("[0-9]*.json"))
    assert results
    for path in results:
        assert f"limit: {bench.LIMIT}" in json.loads(path.read_text(encoding="utf-8"))["cases"]
