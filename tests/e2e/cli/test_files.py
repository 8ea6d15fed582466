"""Files as they come: empty, broken, too large, in odd forms; and runs that are stopped."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

from support.commands import COMMAND, failed, process, run, start

HEADER = "ts,type,value,k\n"
TIMED = "T AS x ; H AS y FILTER x.value > 40 AND y.value < 25 PARTITION BY k WITHIN 10 minutes"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


def written(name: str, content: str | bytes) -> str:
    Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    return name


# -- nothing to read


@pytest.mark.parametrize("content", ["", HEADER])
@pytest.mark.parametrize(
    "query", [TIMED, "T ; H", "SELECT x WHERE T AS x ; H AS y FILTER y.value > 1", "SELECT x.k WHERE T AS x"]
)
def test_no_events_give_no_matches(content: str, query: str) -> None:
    path = written("e.csv", content)
    for more in ([], ["--sort"], ["--count"], ["-o", "m.parquet"], ["-o", "m.jsonl"]):
        result = run("detect", "-q", query, "-i", path, *more)
        assert result.exit_code == 0, result.output
        assert "0 events, 0 matches" in result.stderr
    assert len(pq.read_table("m.parquet")) == 0 and Path("m.jsonl").read_bytes() == b""
    assert run("check", "-q", query, "-i", path).exit_code == 0


def test_an_empty_file_among_others() -> None:
    files = [written("a.jsonl", ""), written("b.csv", HEADER + "1,T,50,a\n2,H,20,a\n"), written("c.csv", HEADER)]
    result = run("detect", "-q", TIMED, *(part for file in files for part in ("-i", file)))
    assert result.exit_code == 0 and "1 match" in result.stdout, result.output


def test_a_time_column_without_values_is_told_with_its_row() -> None:
    failed(run("detect", "-q", "T ; H", "-i", written("e.csv", "ts,type\n,T\n,H\n")), 1, "row 0: `ts` is NULL")


# -- broken text


def test_a_quote_left_open_loses_no_rows_in_silence() -> None:
    path = written("e.csv", 'ts,type,note\n1,T,x\n2,H,"open\n3,T,y\n4,H,z\n')
    failed(run("detect", "-q", "T ; H", "-i", path), 1, "e.csv, line 3", "a quote opens here that nothing closes")
    result = run("detect", "-q", "T ; H", "-i", path, "--on-error", "collect")
    assert "3 events, 2 matches" in result.stderr and "1 row could not be read" in result.stderr
    assert "e.csv, line 3: a quote opens here" in result.stderr


@pytest.mark.slow
def test_deeply_nested_lines() -> None:
    depth = 3000
    deep = '{"ts": 2, "type": "H", "a": ' + '{"a": ' * depth + "1" + "}" * (depth + 1)
    path = written("e.jsonl", f'{{"ts": 1, "type": "T"}}\n{deep}\n{{"ts": 3, "type": "H"}}\n')
    done = process(*COMMAND, "detect", "-q", "T ; H", "-i", path)
    assert done.returncode == 1 and "e.jsonl, line 2: nested more than 64 deep" in done.stderr
    assert "1 match" in run("detect", "-q", "T ; H", "-i", path, "--on-error", "skip").stdout


@pytest.mark.parametrize("output", [[], ["-o", "m.csv"], ["-o", "m.jsonl"]])
def test_json_lines_that_are_not_utf8(output: list[str]) -> None:
    path = written("e.jsonl", b'{"ts": 1, "type": "T", "s": "a"}\n{"ts": 2, "type": "T", "s": "\xff"}\n')
    command = ["detect", "-q", "SELECT x.s WHERE T AS x", "-i", path, *output]
    failed(run(*command), 1, "e.jsonl, line 2", "not UTF-8")
    for mode in ("skip", "collect"):
        result = run(*command, "--on-error", mode)
        assert result.exit_code == 0 and "1 event, 1 match" in result.stderr


# -- kinds, forms, warnings


def test_kinds_of_columns_that_are_not_there() -> None:
    path = written("e.csv", HEADER + "1,T,50,a\n")
    for verb in ("detect", "check"):
        failed(run(verb, "-q", "T", "-i", path, "--kind", "valu=number"), 2, "`valu`", "did you mean `value`?")


def test_run_end_encoded_columns() -> None:
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([1, 3], pa.int32()), pa.array(["T", "H"]))
    table = pa.table({"ts": [1, 2, 3], "type": runs})
    with pyarrow.ipc.new_file("e.arrow", table.schema) as sink:
        sink.write_table(table)
    result = run("detect", "-q", "T ; H", "-i", "e.arrow")
    assert result.exit_code == 0 and "2 matches" in result.stdout, result.output


@pytest.mark.parametrize("kind", [pa.uuid(), pa.month_day_nano_interval()])
def test_keys_that_cannot_be_told_apart_are_refused(kind: pa.DataType) -> None:
    table = pa.table({"ts": [1], "type": ["T"], "k": pa.nulls(1, kind)})
    with pyarrow.ipc.new_file("e.arrow", table.schema) as sink:
        sink.write_table(table)
    failed(run("detect", "-q", "T PARTITION BY k", "-i", "e.arrow"), 1, "cannot be keys", "cast the column to text")
    for output in ("m.csv", "m.jsonl"):
        assert run("detect", "-q", "SELECT x.k WHERE T AS x", "-i", "e.arrow", "-o", output).exit_code == 0


def test_detect_warns_like_check() -> None:
    path = written("e.csv", HEADER + "1,T,50,a\n2,H,20,a\n")
    checked, result = run("check", "-q", "T+ ; H"), run("detect", "-q", "T+ ; H", "-i", path)
    (warning,) = checked.stderr.splitlines()
    assert warning.startswith("warning: without WITHIN") and warning in result.stderr.splitlines()
    assert result.exit_code == 0 and "warning" not in result.stdout


def test_types_are_found_in_sight_and_in_the_time_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from ostinato.files.delimited import CsvSource

    scan, clock = CsvSource.scan, [0.0]

    def slow(source: CsvSource, block: Any, columns: list[str] | None) -> pa.Schema:
        clock[0] += 5
        return scan(source, block, columns)

    monkeypatch.setattr(CsvSource, "scan", slow)
    monkeypatch.setattr("ostinato.cli.jobs.patterns.time.perf_counter", lambda: clock[0])
    monkeypatch.setenv("FORCE_COLOR", "1")
    result = run("detect", "-q", "T ; H", "-i", written("e.csv", HEADER + "1,T,50,a\n2,H,20,a\n"))
    assert "finding types" in result.stderr
    assert ", 5.00 s, " in re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", result.stderr)


def test_counting_reads_in_order_or_sorts() -> None:
    rows = [f"{n},{'TH'[n % 2]},50,a\n" for n in range(6)]
    for lines in (rows, rows[::-1]):
        result = run("detect", "-q", "T ; H", "-i", written("e.csv", HEADER + "".join(lines)), "--count")
        assert (result.exit_code, result.stdout) == (0, "6\n") and "6 events, 6 matches" in result.stderr


# -- stopped


def big() -> list[str]:
    """A command that writes for long enough."""
    times = pa.array([datetime(2026, 1, 1)] * 100_000, pa.timestamp("us"))
    pq.write_table(pa.table({"ts": times, "type": ["T", "H"] * 50_000}), "big.parquet")
    files = ["big.parquet"] * 500
    return [*COMMAND, "detect", "-q", "T AS x : H AS y", "-i", *files]


@pytest.mark.slow
def test_a_file_that_may_not_grow(folder: Path) -> None:
    written("m.csv", "before")
    done = process("bash", "-c", f"ulimit -f 100; exec {shlex.join([*big()[:-490], '-o', 'm.csv'])}")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert re.search(r"^data error: m\.csv: cannot be written: File too large\nfix: ", done.stderr, re.MULTILINE)
    assert Path("m.csv").read_text() == "before"
    assert not list(folder.glob("*.part"))


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_run_that_is_told_to_end_leaves_nothing_behind(folder: Path, number: int, code: int) -> None:
    running = start(*big(), "-o", "m.csv")
    while not list(folder.glob("m.csv*")) and running.poll() is None:
        time.sleep(0.01)
    os.kill(running.pid, number)
    out, err = running.communicate(timeout=30)
    assert running.returncode == code, (out, err)
    assert "stopped: nothing was written" in err and "Traceback" not in err
    assert not list(folder.glob("m.csv*"))


# -- written text


def test_matches_as_text_are_read_back() -> None:
    lines = [{"ts": f"2026-01-01T10:00:0{n}.5Z", "type": "T", "s": s} for n, s in enumerate(['"', "a,b\n", "é", None])]
    path = written("e.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    assert run("detect", "-q", "T AS x", "--events", "-i", path, "-o", "m.jsonl").exit_code == 0
    found = [json.loads(line) for line in Path("m.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [match["events"][0]["s"] for match in found] == [line["s"] for line in lines]
    assert found[0]["start"] == "2026-01-01T10:00:00.500000Z"
