"""`ostinato detect` with a folder of queries."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.commands import failed, first_line, run

ROWS = [("T", 45), ("T", 20), ("H", 20), ("H", 60)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    queries = tmp_path / "queries"
    queries.mkdir()
    (queries / "fire.cel").write_text("T AS x ; H AS y FILTER x.value > 40")
    (queries / "hot.cel").write_text("SELECT x.value AS v WHERE H AS x FILTER x.value > 50")
    (queries / "twice.srem").write_text("[type = 'T'] . [type = 'T']")
    (queries / "notes.txt").write_text("not a query")
    lines = [json.dumps({"ts": ts, "type": kind, "value": value}) for ts, (kind, value) in enumerate(ROWS)]
    (tmp_path / "events.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_matches_name_their_query(folder: Path) -> None:
    done = run("detect", folder / "queries", "--input", folder / "events.jsonl", "-o", folder / "found.jsonl")
    assert "4 events, 4 matches" in done.stderr and "3 queries, 0 of them without a match" in done.stderr
    found = [json.loads(line) for line in (folder / "found.jsonl").read_text().splitlines()]
    assert sorted((match["query"], match["positions"], match["v"]) for match in found if match["query"] != "hot") == [
        ("fire", [0, 2], None), ("fire", [0, 3], None), ("twice", [0, 1], None),
    ]  # fmt: skip
    assert [match["v"] for match in found if match["query"] == "hot"] == [60]


def test_counts_by_query(folder: Path) -> None:
    done = run("detect", folder / "queries", "--input", folder / "events.jsonl", "--count")
    assert done.stdout.splitlines() == ["fire: 2", "hot: 1", "twice: 1"]


def test_standard_input(folder: Path) -> None:
    first = first_line((folder / "events.jsonl").read_bytes(), "detect", folder / "queries", "--input", "-")
    assert json.loads(first)["query"] in ("fire", "twice")


def test_what_is_wrong_is_named(folder: Path) -> None:
    command = ("detect", folder / "queries", "--input", folder / "events.jsonl")
    bad = folder / "queries" / "bad.cel"
    bad.write_text("T AS x ;; H")
    failed(run(*command), 2, "bad.cel: ")
    bad.write_text("T AS x FILTER x.missing > 1")
    failed(run(*command), 2, "bad: unknown attribute `missing`")
    bad.unlink()
    failed(run(*command, "--sort"), 2, "--sort and --order-by are for one query")
    failed(run(*command, "--engine", "spark"), 2, "detect_many")
    (folder / "queries" / "fire.srem").write_text("[type = 'T']")
    failed(run(*command), 2, "two queries in", "are named `fire`")
    (folder / "empty").mkdir()
    failed(run("detect", folder / "empty", *command[2:]), 2, "there is no query in")


def test_a_query_that_reaches_a_limit(folder: Path) -> None:
    (folder / "queries" / "many.cel").write_text("ANY+ ; ANY")
    done = run("detect", folder / "queries", "--input", folder / "events.jsonl", "--count", "--limit-matches", "5")
    assert "many was stopped: more matches than may be returned at once" in done.stderr
    assert "fire: 2" in done.stdout


def test_queries_in_other_languages_are_named(folder: Path) -> None:
    command = ("--input", folder / "events.jsonl", "--count")
    (folder / "queries" / "dip.sql").write_text("SELECT 1")
    done = run("detect", folder / "queries", *command)
    assert "note: dip.sql left out" in " ".join(done.stderr.split()) and "ostinato detect FILE.sql" in done.stderr
    assert done.stdout.splitlines() == ["fire: 2", "hot: 1", "twice: 1"]
    (folder / "sql").mkdir()
    (folder / "sql" / "dip.sql").write_text("SELECT 1")
    failed(run("detect", folder / "sql", *command), 2, "no query in CEL or SREM", "only dip.sql", "one by one")
    failed(run("check", folder / "queries"), 2, "is a folder", "ostinato detect FOLDER")
