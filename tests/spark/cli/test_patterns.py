"""The command line on Spark: the same matches as without it, whole folders in and out, and errors on one screen."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import signal
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import ostinato as ost
from ostinato.files import Writer
from ostinato.spark.failures import describe_failure
from support.commands import COMMAND, failed, run, start, write_inputs
from support.spark.daemon import SHORT_LIVED

QUERY = "T AS x ; H AS y FILTER x.value > 40 AND y.value < 25 PARTITION BY place WITHIN 10 minutes"
NOON = datetime(2026, 7, 6, 12, tzinfo=UTC)
COLUMNS = ["place", "start", "end"]


def events(count: int = 60, start: int = 0) -> pa.Table:
    rows = [
        {
            "ts": NOON + timedelta(minutes=number // 2),
            "type": "TTH"[number % 3],
            "place": "ab"[number % 2],
            "value": number * 17 % 60,
        }
        for number in range(start, start + count)
    ]
    return pa.Table.from_pylist(rows).cast(
        pa.schema(
            [("ts", pa.timestamp("us", "UTC")), ("type", pa.string()), ("place", pa.string()), ("value", pa.int64())]
        )
    )


EXPECTED = sorted(map(str, ost.cel(QUERY).detect(events()).select(COLUMNS).to_pylist()))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in: a query, and its events in two files that are not in order."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    write_inputs("q.cel", QUERY, events())
    return tmp_path


def on_spark(*args: str | Path) -> Any:
    return run("detect", "q.cel", "--engine", "spark", "--master", "local[2]", *args)


def rows(folder: str) -> list[str]:
    return sorted(map(str, pq.read_table(folder).select(COLUMNS).to_pylist()))


def test_a_folder_in_and_a_folder_out(folder: Path) -> None:
    for _ in range(2):  # what an earlier run has written is written over
        result = on_spark("--input", "events", "--output", "matches")
        assert result.exit_code == 0 and result.stdout == "", result.output
        assert re.fullmatch(rf"{len(EXPECTED)} matches, [\d.]+ s\n", result.stderr)
        assert rows("matches") == EXPECTED != []
    assert sorted(path.name for path in folder.iterdir()) == ["events", "matches", "q.cel"]


def test_text_in_and_text_out(folder: Path) -> None:
    for name in ("in.csv", "in.jsonl"):
        with Writer(Path(name)) as writer:
            writer.write(events())
    assert on_spark("--input", "in.csv", "--output", "out", "--format", "jsonl").exit_code == 0
    lines = [json.loads(line) for part in Path("out").glob("part*.json") for line in part.read_text().splitlines()]
    assert len(lines) == len(EXPECTED) and lines[0].keys() == set(COLUMNS)
    assert on_spark("--input", "in.jsonl", "--output", "out.csv", "--events").exit_code == 0
    tables = [pyarrow.csv.read_csv(part) for part in Path("out.csv").glob("part*.csv")]
    assert sum(map(len, tables)) == len(EXPECTED) and tables[0].column_names == [*COLUMNS, "events"]


def test_without_output_the_first_are_printed(folder: Path) -> None:
    result = on_spark("--input", "events")
    assert result.exit_code == 0, result.output
    assert "2026-07-06 12:" in result.stdout and f"{len(EXPECTED)} matches" in result.stdout
    assert on_spark("--input", "events", "--count").stdout == f"{len(EXPECTED)}\n"


def test_a_stream_goes_on_where_it_ended(folder: Path) -> None:
    """A row far in the future closes the stream: nothing can come before it any more."""
    for name in ("1.parquet", "2.parquet"):
        Path("events", name).unlink()
    pq.write_table(events().slice(0, 30), "events/1.parquet")
    args = ["--input", "events", "--stream", "--once", "--output", "matches", "--lateness", "1 minute"]
    result = on_spark(*args)
    assert result.exit_code == 0 and result.stdout == "", result.output
    assert "step 0: 30 events, " in result.stderr
    assert len(rows("matches")) < len(EXPECTED)
    pq.write_table(events().slice(30), "events/2.parquet")
    pq.write_table(events(1, start=10_000), "events/3.parquet")
    assert on_spark(*args).exit_code == 0
    assert rows("matches") == EXPECTED


@pytest.fixture(scope="module")
def streamed(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a stream that has run once."""
    folder = tmp_path_factory.mktemp("streamed")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        write_inputs("q.cel", QUERY, events())
        assert on_spark(*STREAM).exit_code == 0
    for check in folder.rglob(".*.crc"):
        check.unlink()
    return folder


STREAM = ["--input", "events", "--stream", "--once", "--output", "matches"]


@pytest.mark.parametrize(
    ("spoilt", "left"),
    [("offsets/1", 15), ("commits/1", 0), ("state/0/*/*.changelog", 15)],
)
def test_a_damaged_checkpoint_is_told(folder: Path, streamed: Path, spoilt: str, left: int) -> None:
    shutil.copytree(streamed, folder, dirs_exist_ok=True)
    checkpoint = Path("matches", "_checkpoint")
    for path in checkpoint.glob(spoilt):
        path.write_bytes(path.read_bytes()[:left])
    pq.write_table(events(1, start=10_000), "events/3.parquet")
    result = on_spark(*STREAM)
    failed(result, 1, f"error: the checkpoint {checkpoint} cannot be read: ")
    assert result.stderr.splitlines()[1:] == ["fix: start with a new --checkpoint, or restore the folder"]


def test_a_full_disk_is_told_with_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark gives the reason in the trace only, and never the disk."""
    output, checkpoint = tmp_path / "matches", tmp_path / "not" / "there" / "yet"
    free = {tmp_path: 4096, output: 10_000_000, Path(tempfile.gettempdir()): 10_000_000}
    output.mkdir()
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=free[path]))
    error = RuntimeError(
        "[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: [TASK_WRITE_FAILED] Task"
    )
    vars(error)["_stackTrace"] = "Caused by: java.io.IOException: No space left on device\n\tat java.base/…"
    told = str(describe_failure(error, checkpoint=checkpoint, output=output))
    assert told == f"no space left on the disk of {checkpoint}\nfix: free some, then run it again"
    free[output] = 0
    assert f"the disk of {output}\n" in str(describe_failure(error, checkpoint=checkpoint, output=output))
    assert str(describe_failure(RuntimeError(str(error)))) == "Task"


def test_a_stream_without_output_is_printed_as_lines(folder: Path) -> None:
    pq.write_table(events(1, start=10_000), "events/3.parquet")
    result = on_spark("--input", "events", "--stream", "--once")
    assert result.exit_code == 0, result.output
    assert len([json.loads(line) for line in result.stdout.splitlines()]) == len(EXPECTED)


def test_explain_says_what_spark_does(folder: Path) -> None:
    result = run("explain", "q.cel", "--engine", "spark", "--input", "events")
    assert result.exit_code == 0 and "-- automaton" in result.stdout and "Spark, batch" in result.stdout
    failed(run("explain", "q.cel", "--engine", "spark"), 2, "--engine spark and --input go together")


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["--input", "nowhere"], 1, "nowhere: there is no such file or folder"),
        (["--input", "q.cel"], 1, "q.cel: the extension tells no format"),
        (["--input", "events", "--time", "at"], 1, "no time column `at`"),
        (["--input", "events", "--output", "events"], 2, "is one of the input files"),
        (["--input", "events", "--output", "."], 1, "is there already"),
        (["--input", "events", "--sort"], 2, "--sort is not for --engine spark"),
        (["--input", "events", "--lateness", "1 minute"], 2, "--lateness are for --stream"),
        (["--input", "events/1.parquet", "--stream"], 1, "give one folder: --input events/"),
        (["--input", "events", "--kind", "valu=number"], 2, "--kind names `valu`"),
        (["--input", "mixed"], 1, "the files are of several formats: csv, jsonl"),
    ],
)
def test_what_can_be_wrong(folder: Path, args: list[str], code: int, message: str) -> None:
    Path("mixed").mkdir()
    for name in ("1.csv", "2.jsonl"):
        Path("mixed", name).touch()
    failed(on_spark(*args), code, message)


def test_spark_options_need_spark(folder: Path) -> None:
    failed(run("detect", "q.cel", "--input", "events", "--stream"), 2, "are for --engine spark")


def test_a_query_that_does_not_fit_is_no_wall_of_java(folder: Path) -> None:
    wrong = run("detect", "-q", "T AS x FILTER x.valeu > 3", "--engine", "spark", "--input", "events")
    failed(wrong, 2, "unknown attribute `valeu`", "did you mean `value`?")


def test_rows_that_cannot_be_read_fail_with_our_message_and_leave_nothing(folder: Path) -> None:
    table = events()
    pq.write_table(table.set_column(0, "ts", pa.array([None] * len(table), table["ts"].type)), "events/3.parquet")
    failed(on_spark("--input", "events", "--output", "matches"), 1, "`ts`")
    assert sorted(path.name for path in folder.iterdir()) == ["events", "q.cel"]
    Path("bad.csv").write_text("ts,type,place,value\n2026-07-06 12:00:00,T,a,50,7,8\n", encoding="utf-8")
    Path("bad.jsonl").write_text('{"ts":"2026-07-06 12:00:00","type":"T","place":"a","value":1}\n{"ts":"20', "utf-8")
    for name, reason in (("bad.csv", "Malformed CSV record: 2026-07-06"), ("bad.jsonl", "Unexpected end-of-input")):
        result = on_spark("--input", name)
        failed(result, 1, f"rows cannot be read: {reason}", "fix: run it without Spark to see the file and ")
        assert len(result.stderr.splitlines()) == 2
        assert on_spark("--input", name, "--on-error", "skip", "--count").stdout == "0\n"


@pytest.mark.own_session
def test_ctrl_c_ends_a_stream_quietly(folder: Path) -> None:
    args = ["detect", "q.cel", "--engine", "spark", "--master", "local[1]", "--input", "events", "--stream"]
    settings = " ".join(shlex.quote(f"--conf={key}={value}") for key, value in SHORT_LIVED.items())
    submit = f"{settings} pyspark-shell"
    with start(*COMMAND, *args, "--output", "matches", PYSPARK_SUBMIT_ARGS=submit) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("step 0: 60 events")
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)
    assert process.returncode == 0 and said.splitlines()[-1] == "stopped; the same command goes on from here"
    assert "Exception" not in said and "Python worker" not in said
