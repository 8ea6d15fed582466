"""`ostinato detect`, `check` and `explain` with queries in SQL."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

import ostinato as ost
from support.commands import COMMAND, failed, process, run

QUERY = """
-- prices that fall and rise
SELECT t.sym, name, since FROM ticks MATCH_RECOGNIZE (
    PARTITION BY sym ORDER BY ts MEASURES FIRST(ts) AS since
    PATTERN (STRT DOWN+ UP+) DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price)) AS t
JOIN names USING (sym) ORDER BY ALL
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    prices = {"a": [5, 3, 4], "b": [1, 2, 1, 3]}
    lines = [f"{sym},{ts},{price}" for sym, line in prices.items() for ts, price in enumerate(line)]
    (tmp_path / "ticks.csv").write_text("\n".join(["sym,ts,price", *lines]) + "\n")
    (tmp_path / "names.jsonl").write_text('{"sym": "a", "name": "Acme"}\n{"sym": "b", "name": "Bolt"}\n')
    (tmp_path / "v.sql").write_text(QUERY)
    return tmp_path


def test_tables_by_name(folder: Path) -> None:
    tables = ("--input", f"ticks={folder / 'ticks.csv'}", "-i", f"names={folder / 'names.jsonl'}")
    done = run("detect", folder / "v.sql", *tables, "--output", folder / "found.jsonl")
    assert "9 rows read, 2 rows" in done.stderr
    found = [json.loads(line) for line in (folder / "found.jsonl").read_text().splitlines()]
    assert found == [{"sym": "a", "name": "Acme", "since": 0}, {"sym": "b", "name": "Bolt", "since": 1}]
    done = run("check", folder / "v.sql", *tables)
    assert done.stdout == "ok: 1 clause of MATCH_RECOGNIZE, reads ticks, names; gives sym, name, since\n"


def test_a_query_as_text_is_known_by_its_clause(folder: Path) -> None:
    text = "FROM ticks MATCH_RECOGNIZE (ORDER BY sym, ts MEASURES count(*) AS n PATTERN (A+))"
    assert " 7 " in run("detect", "-q", text, "--input", folder / "ticks.csv").stdout
    assert "pattern      A+" in run("explain", "-q", text).stdout


def test_what_is_wrong_is_named(folder: Path) -> None:
    command = ("detect", folder / "v.sql")
    ticks, names = f"ticks={folder / 'ticks.csv'}", f"names={folder / 'names.jsonl'}"
    failed(run(*command), 2, "tables are missing")
    failed(run(*command, "-i", folder / "ticks.csv"), 2, "say which file is which table")
    failed(run(*command, "-i", ticks), 2, "there is no table `names`")
    failed(run(*command, "-i", ticks, "-i", names, "--count", "-o", "n.csv"), 2, "--count prints a number")
    failed(run(*command, "-i", ticks, "-i", names, "--stream"), 2, "--stream is for --engine spark")
    (folder / "v.sql").write_text(QUERY.replace("PREV(price), UP", "PREV(prize), UP"))
    failed(run("check", folder / "v.sql", "-i", ticks, "-i", names), 2, "there is no column `prize`")
    (folder / "v.sql").write_text(QUERY.replace("UP+)", "UP+"))
    failed(run("check", folder / "v.sql"), 2, "never closed")


RISES = """FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts MEASURES LAST(ts) AS ts
    AFTER MATCH SKIP TO NEXT ROW PATTERN (A UP) DEFINE UP AS price > A.price)"""


def test_how_tables_are_read(folder: Path) -> None:
    command = ("detect", "-q", RISES, "--input", folder / "bad.csv")
    (folder / "bad.csv").write_text("sym,ts,price\na,0,1\na,1,cheap\na,2,3\nb,3,4\n")
    failed(run(*command, "--kind", "price=number"), 1, "line 3")
    for mode, listed in (("skip", False), ("collect", True)):
        done = run(*command, "--kind", "price=number", "--on-error", mode, "--count")
        assert done.stdout == "1\n" and "1 row could not be read and was left out" in done.stderr
        assert ("bad.csv, line 3" in done.stderr) == listed
    failed(run(*command, "--kind", "prize=number"), 2, "--kind names `prize`")
    two = ("-i", f"ticks={folder / 'ticks.csv'}", "-i", f"names={folder / 'names.jsonl'}")
    done = run("detect", folder / "v.sql", *two, "--kind", "name=string", "--output", "-")  # which one of them has
    assert len(done.stdout.splitlines()) == 2


def test_limits(folder: Path) -> None:
    (folder / "many.csv").write_text("\n".join(["sym,ts,price", *(f"a,{ts},{ts % 7}" for ts in range(20_000))]))
    command = ("detect", "-q", RISES, "--input", folder / "many.csv")
    assert run(*command, "--count", "--limit-seconds", "60").stdout == "17142\n"
    sums = "ORDER BY i ALL ROWS PER MATCH PATTERN ((A | B)+ C) DEFINE C AS SUM(A.x) < 0"  # divides rows in every way
    (folder / "halves.csv").write_text("\n".join(["i,x", *(f"{i},{2.0**-i}" for i in range(60))]))
    slow = ("detect", "-q", f"SELECT * FROM t MATCH_RECOGNIZE ({sums})", "--input", folder / "halves.csv")
    failed(run(*slow, "--limit-seconds", "0.1"), 1, "0.1")


@pytest.mark.parametrize(
    ("option", "instead"),
    [
        (("--time", "ts"), "--time is not for queries in SQL; ORDER BY says what the time is"),
        (("--type", "sym"), "DEFINE a AS type = 'A'"),
        (("--order-by", "sym"), "write it in ORDER BY"),
        (("--events",), "write ALL ROWS PER MATCH"),
        (("--identity",), "MATCH_NUMBER()"),
        (("--sort",), "rows are always put in the order of ORDER BY"),
        (("--limit-matches", "3"), "write LIMIT at the end of the query"),
        (("--lateness", "3 s"), "--lateness is for --engine spark"),
        (("--engine", "spark", "--on-error", "collect"), "--on-error collect is not for --engine spark"),
        (("--engine", "spark", "--stream", "--count"), "--count is not for --stream"),
    ],
)
def test_options_for_something_else(folder: Path, option: tuple[str, ...], instead: str) -> None:
    failed(run("detect", "-q", RISES, "--input", folder / "ticks.csv", *option), 2, instead)


@pytest.mark.parametrize(
    ("clause", "code", "reason"),
    [
        ("MEASURES 1 AS n PATTERN (A) DEFINE B AS true", 2, "PATTERN has no variable `B`"),
        ("MEASURES LAST(B.sym) AS n PATTERN (A)", 2, "no table or pattern variable `B`"),
        ("MEASURES sum(count(A.*)) AS n PATTERN (A)", 2, "the aggregate count cannot stand in SUM"),
        ("PARTITION BY count(sym) MEASURES 1 AS n PATTERN (A)", 2, "the aggregate count cannot stand in"),
        ("MEASURES 1 AS n AFTER MATCH SKIP TO LAST B PATTERN (A B?) DEFINE B AS false", 1, "a match has no row of B"),
        ("MEASURES 1 AS n AFTER MATCH SKIP TO FIRST A PATTERN (A)", 1, "would be found again"),
        ("MEASURES 1 AS n PATTERN (A) DEFINE A AS price > DATE '2026-01-01'", 2, "cannot be compared"),
        ("MEASURES 1 AS n PATTERN (A{0,1000000})", 2, "the pattern is too large"),
        ("MEASURES 1 AS n PATTERN ((A{1000}){1001})", 2, "more than 20,000 variables"),
        ("ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A {- B -})", 2, "WITH UNMATCHED ROWS shows every row"),
    ],
)
def test_bad_input(folder: Path, clause: str, code: int, reason: str) -> None:
    text = f"SELECT * FROM ticks MATCH_RECOGNIZE (ORDER BY ts {clause})"
    failed(run("detect", "-q", text, "--input", folder / "ticks.csv"), code, reason)


def test_many_variables_and_empty_patterns(folder: Path) -> None:
    """Each has an answer."""
    many = " ".join(f"A{number}?" for number in range(1000))
    for pattern, rows in ((many, 1), ("()", 7), ("A | ()", 7)):
        text = f"SELECT * FROM ticks MATCH_RECOGNIZE (ORDER BY ts MEASURES count(*) AS n PATTERN ({pattern}))"
        found = run("detect", "-q", text, "--input", folder / "ticks.csv")
        assert found.exit_code == 0 and f"{rows} row" in found.stdout
        engine = ost.sql(text).engine()
        given = [engine.push([{"ts": number, "sym": "a"} for number in range(7)]), engine.flush()]
        assert sum(map(len, given)) == rows


def test_a_process_writes_what_it_has_to_say_and_nothing_more(folder: Path) -> None:
    query, ticks = str(folder / "v.sql"), f"ticks={folder / 'ticks.csv'}"
    done = process(*COMMAND, "explain", query)
    assert (done.returncode, done.stderr) == (0, "")
    done = process(*COMMAND, "detect", query, "-i", ticks)
    assert done.returncode == 2
    assert done.stderr.startswith("query error: there is no table `names`")
    assert done.stderr.rstrip().splitlines()[-1].startswith("fix: ")


def test_a_table_from_standard_input(folder: Path) -> None:
    command = [*COMMAND, "detect", str(folder / "v.sql"), "-i", f"names={folder / 'names.jsonl'}", "-i", "ticks=-"]
    given = (folder / "ticks.csv").read_text()
    done = subprocess.run([*command, "-o", str(folder / "found.jsonl")], input=given, capture_output=True, text=True)
    assert "9 rows read, 2 rows" in done.stderr
    assert len((folder / "found.jsonl").read_text().splitlines()) == 2
    text = "FROM ticks MATCH_RECOGNIZE (ORDER BY sym, ts MEASURES count(*) AS n PATTERN (A+))"
    query = [*COMMAND, "detect", "-q", text, "--input", "-", "--format", "csv"]
    assert " 7 " in subprocess.run(query, input=given, capture_output=True, text=True, check=True).stdout
    failed(run("detect", folder / "v.sql", "-i", "names=-", "-i", "ticks=-"), 2, "standard input is read once")
    failed(run("detect", folder / "v.sql", "-i", "ticks=-", "--engine", "spark"), 2, "not for --engine spark")
    failed(run("detect", "-q", text, "-i", folder / "ticks.csv", "--format", "csv"), 2, "--format is for")
