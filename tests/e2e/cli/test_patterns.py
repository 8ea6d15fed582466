"""Every verb from the outside: what it prints, what it writes, and how it fails."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import ostinato
from ostinato.cli.main import make_app
from support import paths
from support.commands import COMMAND, failed, first_line, process, run, start

QUERY = "T AS x ; H AS y FILTER x.value > 40 AND y.value < 25 WITHIN 10 minutes"
NOON = datetime(2026, 7, 6, 12, tzinfo=UTC)
ROWS = [("T", 45), ("T", 20), ("H", 20), ("H", 60), ("T", 50), ("H", 10)]  # a minute apart
MATCHES = [[0, 2], [0, 5], [4, 5]]


def events(rows: Iterable[tuple[str, float]] = ROWS) -> pa.Table:
    kinds, values = zip(*rows, strict=True)
    times = [NOON + timedelta(minutes=minute) for minute in range(len(kinds))]
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
            "type": pa.array(kinds),
            "value": pa.array(values, pa.int64()),
            "note": pa.array(["-"] * len(kinds)),
        }
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with a query and its events."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    (tmp_path / "q.cel").write_text(QUERY + "\n", encoding="utf-8")
    pq.write_table(events(), tmp_path / "events.parquet")
    return tmp_path


def positions(path: Path) -> list[list[int]]:
    return list(pq.read_table(path)["positions"].to_pylist())


# -- detect


def test_detect_prints_the_matches_and_a_summary_apart(folder: Path) -> None:
    result = run("detect", "q.cel", "--input", "events.parquet")
    assert result.exit_code == 0, result.output
    assert "2026-07-06 12:00:00Z" in result.stdout and "0, 2" in result.stdout and "3 matches" in result.stdout
    assert re.search(r"^6 events, 3 matches, 0 late, [\d.]+ s, [\d,]+ events/s$", result.stderr.splitlines()[-1])


def test_detect_prints_the_first_matches_and_how_many_there_are(folder: Path) -> None:
    pq.write_table(events([("T", 50)] * 9 + [("H", 1)] * 9), "many.parquet")
    result = run("detect", "q.cel", "--input", "many.parquet")
    assert "first 20 shown" in result.stdout
    assert sum(line.lstrip().startswith("2026") for line in result.stdout.splitlines()) == 20
    total = len(ostinato.cel(QUERY).detect(pq.read_table("many.parquet")))
    assert f"{total} matches" in result.stdout and total > 20


@pytest.mark.parametrize("name", ["m.parquet", "m.csv", "m.jsonl", "m.arrow"])
def test_detect_writes_by_extension(folder: Path, name: str) -> None:
    result = run("detect", "q.cel", "--input", "events.parquet", "--output", name)
    assert result.exit_code == 0 and result.stdout == ""
    if name.endswith("parquet"):
        found = positions(Path(name))
    elif name.endswith("csv"):
        found = [json.loads(text) for text in pyarrow.csv.read_csv(name)["positions"].to_pylist()]
    elif name.endswith("jsonl"):
        found = [json.loads(line)["positions"] for line in Path(name).read_text(encoding="utf-8").splitlines()]
    else:
        found = pyarrow.ipc.open_file(name).read_all()["positions"].to_pylist()
    assert sorted(found) == MATCHES
    assert sorted(path.name for path in folder.iterdir()) == sorted(["events.parquet", name, "q.cel"])


def test_no_matches_is_an_answer_with_its_columns(folder: Path) -> None:
    result = run("detect", "-q", "T AS x FILTER x.value > 99", "-i", "events.parquet", "-o", "m.parquet")
    assert result.exit_code == 0
    assert (
        pq.read_table("m.parquet").column_names == ["start", "end", "positions"] and positions(Path("m.parquet")) == []
    )
    assert "0 matches" in run("detect", "-q", "T AS x FILTER x.value > 99", "-i", "events.parquet").stdout


def test_the_query_may_be_text_and_the_columns_may_be_named(folder: Path) -> None:
    renamed = events().rename_columns(["at", "kind", "value", "note"])
    pyarrow.csv.write_csv(renamed, "log.csv")
    result = run("detect", "-q", QUERY, "--input", "log.csv", "--time", "at", "--type", "kind", "-o", "m.parquet")
    assert result.exit_code == 0, result.output
    assert sorted(positions(Path("m.parquet"))) == MATCHES


def test_a_shell_may_expand_several_input_files(folder: Path) -> None:
    pq.write_table(events().slice(0, 3), "part1.parquet")
    pq.write_table(events().slice(3), "part2.parquet")
    for args in (
        ["q.cel", "--input", "part1.parquet", "part2.parquet"],
        ["-q", QUERY, "-i", "part1.parquet", "part2.parquet"],
    ):
        assert run("detect", *args, "-o", "m.parquet").exit_code == 0
        assert sorted(positions(Path("m.parquet"))) == MATCHES


def test_events_adds_the_rows_of_each_match(folder: Path) -> None:
    assert run("detect", "q.cel", "-i", "events.parquet", "--events", "-o", "m.parquet").exit_code == 0
    first = min(pq.read_table("m.parquet").to_pylist(), key=lambda match: match["positions"])
    assert [(event["type"], event["value"], event["note"]) for event in first["events"]] == [
        ("T", 45, "-"),
        ("H", 20, "-"),
    ]


@pytest.mark.parametrize("how", [[], ["--sort"], ["--lateness", "1 minute"]])
def test_identity_tells_matches_apart_however_they_are_found(folder: Path, how: list[str]) -> None:
    result = run("detect", "q.cel", "--input", "events.parquet", "--output", "out.parquet", "--identity", *how)
    assert result.exit_code == 0, result.output
    expected = ostinato.cel(QUERY).detect(events(), identity=True)
    assert pq.read_table("out.parquet")["match_id"].to_pylist() == expected["match_id"].to_pylist()


def test_since_and_until_give_the_matches_of_some_time(folder: Path) -> None:
    for begin, end, expected in (("12:00", "12:02", [[0, 2]]), ("12:02", "12:59", [[4, 5], [0, 5]])):
        period = ["--since", f"2026-07-06 {begin}", "--until", f"2026-07-06 {end}"]
        result = run("detect", "q.cel", "--input", "events.parquet", "--output", "out.parquet", *period)
        assert result.exit_code == 0, result.output
        assert positions(folder / "out.parquet") == expected
    failed(run("detect", "q.cel", "--input", "events.parquet", "--since", "noon"), 1, "'noon' is no time of `ts`")
    failed(
        run("detect", "q.cel", "--input", "events.parquet", "--since", "2026-07-06", "--count"), 2, "not for --count"
    )


def test_a_type_that_no_event_has_is_pointed_out(folder: Path) -> None:
    result = run("detect", "-q", "T AS x ; Hum AS y", "--input", "events.parquet")
    assert result.exit_code == 0 and "no event has the type `Hum`" in result.stderr


def test_count_prints_only_a_number(folder: Path) -> None:
    result = run("detect", "q.cel", "-i", "events.parquet", "--count")
    assert result.exit_code == 0 and result.stdout == "3\n"


def test_count_needs_no_list(folder: Path) -> None:
    table = pa.table({"type": ["A"] * 200 + ["B"], "ts": list(range(201))})
    pq.write_table(table, "long.parquet")
    result = run("detect", "-q", "A+ ; B", "-i", "long.parquet", "--count")
    assert result.stdout == f"{2**200 - 1}\n"


def test_files_out_of_order_need_lateness_or_sort(folder: Path) -> None:
    # The last event comes first: in another file, so that it is in another piece.
    pq.write_table(events().slice(5), "a.parquet")
    pq.write_table(events().slice(0, 5), "b.parquet")
    inputs = ["--input", "a.parquet", "b.parquet"]
    failed(run("detect", "q.cel", *inputs, "-o", "m.parquet"), 1, "go back in time", "--lateness", "--sort")
    assert not Path("m.parquet").exists()

    expected = [[1, 3], [1, 0], [5, 0]]  # positions are rows as given
    for extra in (["--sort"], ["--lateness", "10 minutes"]):
        result = run("detect", "q.cel", *inputs, *extra, "-o", "m.parquet")
        assert result.exit_code == 0, result.output
        assert sorted(positions(Path("m.parquet"))) == sorted(expected)


def test_events_later_than_the_lateness_are_counted(folder: Path) -> None:
    pq.write_table(events().slice(5), "a.parquet")
    pq.write_table(events().slice(0, 5), "b.parquet")
    result = run("detect", "q.cel", "--input", "a.parquet", "b.parquet", "--lateness", "90 seconds")
    assert result.exit_code == 0 and "6 events, 1 match, 4 late" in result.stderr


def test_order_by_decides_between_equal_times(folder: Path) -> None:
    same = pa.table({"ts": [1, 1], "type": ["H", "T"], "value": [20, 45], "number": [2, 1]})
    pq.write_table(same, "same.parquet")
    query = "T AS x ; H AS y"
    assert "0 matches" in run("detect", "-q", query, "-i", "same.parquet", "--sort").stdout
    assert "1 match" in run("detect", "-q", query, "-i", "same.parquet", "--sort", "--order-by", "number").stdout


def test_bad_rows_stop_are_skipped_or_are_listed(folder: Path) -> None:
    lines = [json.dumps({"ts": n, "type": kind, "value": value}) for n, (kind, value) in enumerate(ROWS)]
    lines[3] = '{"ts": 3, "type": "H", "val'
    Path("log.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    failed(run("detect", "q.cel", "-i", "log.jsonl"), 1, "log.jsonl, line 4", "fix:")
    skipped = run("detect", "q.cel", "-i", "log.jsonl", "--on-error", "skip")
    assert skipped.exit_code == 0 and "3 matches" in skipped.stdout
    assert "1 row could not be read" in skipped.stderr and "line 4" not in skipped.stderr
    assert "log.jsonl, line 4" in run("detect", "q.cel", "-i", "log.jsonl", "--on-error", "collect").stderr


def test_kind_says_what_a_column_of_text_holds(folder: Path) -> None:
    Path("log.csv").write_text("ts,type,value\n1,T,45\n2,H,broken\n3,H,20\n", encoding="utf-8")
    args = ("detect", "q.cel", "-i", "log.csv")
    failed(run(*args), 2, "value")
    failed(run(*args, "--kind", "value=number"), 1, "log.csv, line 3", "broken")
    assert "1 match" in run(*args, "--kind", "value=number", "--on-error", "skip").stdout
    failed(run(*args, "--kind", "value=money"), 2, "--kind is COLUMN=KIND")


def test_only_the_columns_that_are_needed_are_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ostinato.cli.jobs import patterns as job
    from ostinato.files import open_events as original

    asked: list[Any] = []

    def spy(files: Any, **options: Any) -> Any:
        asked.append(options.get("columns"))
        return original(files, **options)

    monkeypatch.setattr(job, "open_events", spy)
    assert run("detect", "q.cel", "-i", "events.parquet").exit_code == 0
    assert asked[-1] == ["ts", "type", "value"]
    assert run("detect", "q.cel", "-i", "events.parquet", "--events").exit_code == 0
    assert asked[-1] is None


# -- check, explain, bench, demo, help


def test_check_says_ok_and_what_the_query_reads(folder: Path) -> None:
    result = run("check", "q.cel")
    assert result.exit_code == 0
    assert result.stdout == "ok: an automaton of 3 states, reads value\n"
    assert "fits the 4 columns of events.parquet" in run("check", "q.cel", "--input", "events.parquet").stdout


def test_check_warns_of_a_query_that_cannot_match(folder: Path) -> None:
    result = run("check", "-q", "T AS x ; T AS x")
    assert result.exit_code == 0 and result.stdout.startswith("ok:")
    assert "warning" in result.stderr


def test_explain_prints_every_stage_and_draws(folder: Path) -> None:
    result = run("explain", "q.cel", "--svg", "a.svg")
    assert result.exit_code == 0
    assert "-- automaton" in result.stdout and "-- evaluation" in result.stdout
    assert Path("a.svg").read_text(encoding="utf-8").startswith("<svg")


def test_bench_prints_a_table(folder: Path) -> None:
    result = run("bench", "Q1 WITHIN 100", "--events", "20000", "--repeats", "1")
    assert result.exit_code == 0, result.output
    assert "Q1 WITHIN 100" in result.stdout and "Q2 WITHIN 100" not in result.stdout


@pytest.mark.slow
def test_demo_finds_the_fires_and_its_advice_works(folder: Path) -> None:
    from ostinato.cli.demo.fires import FIRES

    result = run("demo", "--output", "d")
    assert result.exit_code == 0, result.output
    seen = {(farm, sensor) for farm, sensors, _, _ in FIRES for sensor in sensors}
    found = pq.read_table("d/matches.parquet")
    assert set(zip(found["farm"].to_pylist(), found["sensor"].to_pylist(), strict=True)) == seen
    assert len(found) == len(seen)
    assert Path("d/timeline.svg").read_text(encoding="utf-8").startswith("<svg")
    assert all(farm in result.stdout for farm, *_ in FIRES) and "█" in result.stdout

    assert "Alarms foreseen" in result.stdout and "┿" in result.stdout
    assert Path("d/forecast.svg").read_text(encoding="utf-8").startswith("<svg")

    commands = re.findall(r"^ *\S*ostinato (.*)$", result.stdout, re.MULTILINE)
    assert len(commands) == 6
    for command in commands:
        again = run(*shlex.split(command))
        assert again.exit_code == 0, again.output


def test_the_query_of_the_demo_is_the_example() -> None:
    from ostinato.cli.demo.fires import QUERY as shown

    example = paths.ROOT / "examples" / "fires.cel"
    assert example.read_text(encoding="utf-8") == shown


def test_help_teaches_by_example(folder: Path) -> None:
    assert run("--help").exit_code == 0
    for verb in ("detect", "rules", "train", "forecast", "evaluate", "check", "explain", "bench", "demo"):
        assert verb in run("--help").stdout
        assert f"ostinato {verb}" in run(verb, "--help").stdout


def test_version() -> None:
    assert run("--version").stdout == f"ostinato {ostinato.__version__}\n"


# -- bad input: exit code 2 for the query and usage, 1 for data, and nothing half-written


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("T AS x ; ; H AS y", "^"),
        ("T AS x FILTER z.value > 1", "z"),
        ("(T AS x FILTER x.value > y.value)+ ; H AS y", "would have to be remembered"),
        ("T AS x WITHIN 0 EVENTS", "WITHIN"),
        ("T AS x WITHIN 5 parsecs", "parsecs"),
        ("T AS x FILTER x.valu > 1", "did you mean `value`?"),
        ("T AS x FILTER x.note > 1", "note"),
        ("T AS x PARTITION BY farm", "farm"),
        ("", "fix:"),
    ],
    ids=[
        "syntax",
        "unbound",
        "unbounded registers",
        "no window",
        "unknown unit",
        "no attribute",
        "wrong type",
        "no key",
        "empty",
    ],
)
def test_a_wrong_query_is_pointed_at(folder: Path, query: str, expected: str) -> None:
    failed(run("detect", "-q", query, "-i", "events.parquet", "-o", "m.parquet"), 2, expected)
    assert sorted(path.name for path in folder.iterdir()) == ["events.parquet", "q.cel"]


@pytest.mark.parametrize("verb", ["detect", "check", "explain"])
def test_a_wrong_query_fails_every_verb(folder: Path, verb: str) -> None:
    extra = ["-i", "events.parquet"] if verb == "detect" else []
    failed(run(verb, "-q", "T AS", *extra), 2, "query error")
    failed(run(verb, "nothing.cel", *extra), 2, "no query file `nothing.cel`")
    failed(run(verb, *extra), 2, "give a query")


def test_text_in_place_of_a_query_file_is_told_so(folder: Path) -> None:
    failed(run("detect", "T AS x ; H AS y", "-i", "events.parquet"), 2, "-q 'T AS x ; H AS y'")
    failed(run("detect", "events.parquet", "-i", "q.cel"), 2, "not a text file")


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["q.cel"], "--input"),
        (["q.cel", "-i", "events.parquet", "-o", "events.parquet"], "one of the input files"),
        (["q.cel", "-i", "events.parquet", "--order-by", "value"], "needs --sort"),
        (["q.cel", "-i", "events.parquet", "--sort", "--lateness", "1 s"], "piece by piece"),
        (["q.cel", "-i", "events.parquet", "--count", "-o", "m.parquet"], "leave out --output"),
        (["q.cel", "-i", "events.parquet", "--lateness", "soon"], "not a duration"),
        (["q.cel", "-i", "events.parquet", "--lateness", "3 fortnights"], "unknown unit"),
        (["q.cel", "-i", "events.parquet", "--on-error", "ignore"], "raise"),
        (["q.cel", "-i", "events.parquet", "--limit-matches", "0"], "--limit-matches"),
        (["q.cel", "-i", "events.parquet", "--nonsense"], "--nonsense"),
    ],
)
def test_wrong_usage(folder: Path, args: list[str], expected: str) -> None:
    failed(run("detect", *args), 2, expected)
    assert sorted(path.name for path in folder.iterdir()) == ["events.parquet", "q.cel"]


def corrupt(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4 : len(data) // 2] = b"\xff" * (len(data) // 2 - 4)
    path.write_bytes(data)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


@pytest.mark.parametrize("damage", [corrupt, truncate])
def test_a_damaged_parquet_file(folder: Path, damage: Any) -> None:
    damage(Path("events.parquet"))
    failed(
        run("detect", "q.cel", "-i", "events.parquet", "-o", "m.parquet"), 1, "events.parquet", "not a readable Parquet"
    )
    assert sorted(path.name for path in folder.iterdir()) == ["events.parquet", "q.cel"]


@pytest.mark.slow
def test_damage_in_the_middle_leaves_the_old_output(folder: Path) -> None:
    """The first rows are read and matched before the damage is met."""
    rows = [json.dumps({"ts": n, "type": "TH"[n % 2], "value": 45 if n % 2 == 0 else 20}) for n in range(300_000)]
    Path("log.jsonl").write_text("\n".join(rows) + '\n{"ts": 300000, "ty', encoding="utf-8")
    assert run("detect", "q.cel", "-i", "events.parquet", "-o", "m.parquet").exit_code == 0
    query = "T AS x : H AS y"
    failed(run("detect", "-q", query, "-i", "log.jsonl", "-o", "m.parquet"), 1, "log.jsonl, line 300001")
    assert sorted(positions(Path("m.parquet"))) == MATCHES
    assert sorted(path.name for path in folder.iterdir()) == ["events.parquet", "log.jsonl", "m.parquet", "q.cel"]


def test_missing_files_and_columns(folder: Path) -> None:
    failed(run("detect", "q.cel", "-i", "event.parquet"), 1, "no such file", "did you mean `events.parquet`?")
    failed(run("detect", "q.cel", "-i", "q.cel"), 1, "unknown kind of file")
    failed(run("detect", "q.cel", "-i", "events.parquet", "--time", "when"), 1, "when", "no such column")
    failed(run("detect", "q.cel", "-i", "events.parquet", "-o", "nowhere/m.parquet"), 1, "no such folder")
    failed(run("detect", "q.cel", "-i", "events.parquet", "-o", "m.xlsx"), 2, ".xlsx")
    failed(run("explain", "q.cel", "--svg", "a.png"), 2, ".svg")
    failed(run("explain", "."), 2, "is a folder")
    failed(run("check", "q.cel", "-i", "events.parquet", "--type", "note2"), 1, "note2")
    failed(run("explain", "q.cel", "--svg", "nowhere/a.svg"), 1, "cannot write")


def test_a_query_that_would_blow_up_is_stopped(folder: Path) -> None:
    pq.write_table(events([("T", 50)] * 40 + [("H", 1)]), "many.parquet")
    bounded = ["-o", "m.parquet", "--limit-matches", "100000"]
    failed(run("detect", "-q", "T+ ; H", "-i", "many.parquet", *bounded), 1, "limit reached", "--count")
    failed(
        run("detect", "q.cel", "-i", "events.parquet", "--limit-matches", "2"),
        1,
        "(limit matches=2)",
        "--limit-matches",
    )
    assert run("detect", "q.cel", "-i", "events.parquet", "--limit-matches", "3").exit_code == 0
    assert not Path("m.parquet").exists()


def test_a_query_that_would_blow_up_is_stopped_soon(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ostinato.files import Writer

    written: list[int] = []
    monkeypatch.setattr(Writer, "write", lambda self, table: written.append(len(table)))
    for rows in (100, 3000):  # more matches than any limit, and more than any float
        pq.write_table(pa.table({"ts": range(rows + 1), "type": ["T"] * rows + ["H"]}), "many.parquet")
        for query in ("T+ ; H", "T+ ; H WITHIN 1 day"):
            failed(run("detect", "-q", query, "-i", "many.parquet", "-o", "m.parquet"), 1, "limit reached", "--count")
    assert sum(written) < 1_000_000


def test_many_matches_within_the_limit_are_all_written(folder: Path) -> None:
    rows = 2200
    pq.write_table(pa.table({"ts": range(2 * rows), "type": ["T"] * rows + ["H"] * rows}), "many.parquet")
    result = run("detect", "-q", "T ; H", "-i", "many.parquet", "-o", "m.arrow")
    assert result.exit_code == 0 and f"{rows * rows:,} matches" in result.stderr


def test_an_unexpected_error_is_told_in_one_line_unless_asked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(text: str) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(ostinato, "cel", broken)
    result = run("check", "q.cel")
    assert result.exit_code == 1 and result.stderr.startswith("internal error: ZeroDivisionError: oops")
    monkeypatch.setenv("OSTINATO_DEBUG", "1")
    assert isinstance(run("check", "q.cel").exception, ZeroDivisionError)


# -- as a real process


@pytest.mark.slow
def test_a_real_process_writes_results_to_stdout_and_the_rest_to_stderr(folder: Path) -> None:
    done = process(*COMMAND, "detect", "q.cel", "--input", "events.parquet")
    assert done.returncode == 0, done.stderr
    assert "3 matches" in done.stdout and "6 events, 3 matches" in done.stderr
    wrong = process(*COMMAND, "detect", "-q", "T AS", "--input", "events.parquet")
    assert wrong.returncode == 2 and wrong.stdout == "" and "Traceback" not in wrong.stderr


def test_a_reader_that_leaves_early_is_no_error_to_shout_about(folder: Path) -> None:
    done = process("bash", "-c", f"{shlex.join([*COMMAND, 'explain', 'q.cel'])} | true")
    assert done.stderr == ""


@pytest.mark.slow
def test_ctrl_c_leaves_nothing_behind(folder: Path) -> None:
    pq.write_table(events([("T", 45), ("H", 20)] * 50_000), "big.parquet")
    # The same file many times over keeps it busy for long enough; each goes back in time, which lateness allows.
    command = [*COMMAND, "detect", "-q", "T AS x : H AS y", "-i", *["big.parquet"] * 500, "-o", "m.parquet"]
    running = start(*command, "--lateness", "1 s")
    while not list(folder.glob("m.parquet*")) and running.poll() is None:
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=30)
    assert running.returncode == 130, (out, err)
    assert "stopped: nothing was written" in err and "Traceback" not in err
    assert not list(folder.glob("m.parquet*"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "given", ['{"type": "A", "ts": 1}\n{"type": "B", "ts": 2, "v": 5}\n', "type,ts\nA,1\nB,2\n"], ids=["jsonl", "csv"]
)
def test_standard_input_gives_matches_as_lines(given: str, folder: Path) -> None:
    command = [sys.executable, "-m", "ostinato", "detect", "-q", "A ; B", "-i", "-"]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
    assert [json.loads(line) for line in done.stdout.splitlines()] == [{"start": 1, "end": 2, "positions": [0, 1]}]
    counted = subprocess.run([*command, "--count"], input=given, capture_output=True, text=True, check=True)
    assert counted.stdout == "1\n"
    subprocess.run([*command, "-o", "found.jsonl"], input=given, capture_output=True, text=True, check=True)
    assert len(Path("found.jsonl").read_text().splitlines()) == 1


@pytest.mark.slow
def test_matches_come_before_standard_input_ends(folder: Path) -> None:
    given = b'{"type": "A", "ts": 1}\n{"type": "B", "ts": 2}\n'
    assert json.loads(first_line(given, "detect", "-q", "A ; B", "-i", "-"))["positions"] == [0, 1]
    csv = ["detect", "-q", "A ; B", "-i", "-", "-o", "-", "--format", "csv"]
    assert first_line(b"type,ts\nA,1\nB,2\n", *csv) == b'"start","end","positions"\n'


def test_events_of_standard_input_are_in_order_from_the_first_on(folder: Path) -> None:
    given = '{"type": "A", "ts": 2}\n{"type": "B", "ts": 1}\n'
    told = CliRunner().invoke(make_app(), ["detect", "-q", "A ; B", "-i", "-"], input=given)
    failed(told, 1, "go back in time", "standard input", "--lateness")


def test_only_files_of_a_like_name_are_offered(folder: Path) -> None:
    failed(run("detect", "q.cel", "-i", "nothing-like-it.csv"), 1, "no such file", "check the path")
    failed(run("detect", "q.cel", "-i", "-", "events.parquet"), 2, "standard input is read alone")
    failed(run("detect", "q.cel", "-i", "-", "--engine", "spark"), 2, "standard input is not for")


def test_a_limit_of_time(folder: Path) -> None:
    pq.write_table(events([("T", 50)] * 400 + [("H", 1)]), "many.parquet")
    query = "SELECT x WHERE ANY AS x+ ; T ; ANY+"
    bounded = ["-i", "many.parquet", "-o", "m.parquet", "--limit-seconds", "0.5"]
    failed(run("detect", "-q", query, *bounded), 1, "the call took longer than the limit", "--limit-seconds S")
