"""`ostinato xseq --engine spark`: files of a folder, documents in a column, bad ones, and what is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.commands import failed, run

QUERY = "return $X@n as n from //$X where tag($X) = 'b'"
SPARK = ("--engine", "spark", "--master", "local[2]")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    Path("docs").mkdir()
    Path("docs/one.xml").write_text("<a><b n='1'/><b n='2'/></a>", encoding="utf-8")
    Path("docs/two.json").write_text('{"b": [{"n": 3}]}', encoding="utf-8")
    return tmp_path


def rows(name: str) -> list[dict[str, object]]:
    lines = [line for part in Path(name).glob("part-*") for line in part.read_text(encoding="utf-8").splitlines()]
    return [json.loads(line) for line in lines]


def test_files_are_read_by_tasks(folder: Path) -> None:
    result = run("xseq", QUERY, "-i", "docs", "-o", "out.jsonl", *SPARK)
    assert result.exit_code == 0 and result.stderr.startswith("3 rows, "), result.output
    found = sorted((Path(str(row["document"])).name, row["n"]) for row in rows("out.jsonl"))
    assert found == [("one.xml", "1"), ("one.xml", "2"), ("two.json", "3")]
    result = run("xseq", QUERY, "-i", "docs/one.xml", "--limit", "1", *SPARK)
    assert result.exit_code == 0 and "document" not in result.stdout and "1 row" in result.stdout


def test_wrong_usage(folder: Path) -> None:
    failed(run("xseq", QUERY, "-i", "nowhere", *SPARK), 1, "there is no such file or folder")
    failed(run("xseq", QUERY, "-i", "docs", "--sort", *SPARK), 2, "--sort is not for --engine spark")
