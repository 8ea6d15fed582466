"""`ostinato rules`, and rules for `check` and `explain`: what they print, what they write, and how they fail."""

from __future__ import annotations

import io
import json
import random
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import ostinato
from ostinato.cli.main import make_app
from support import paths
from support.commands import failed, first_line, run

VECTOR = json.loads((paths.VECTORS / "rules.json").read_text(encoding="utf-8"))
DERIVED = {(event["type"], event["begin"], event["end"]) for event in VECTOR["derived"]}
FIRE = (
    "DETECT fire { area { var A } } ON and { event s: smoke {{ area {{ var A }} }}, "
    "event t: temp {{ area {{ var A }}, value {{ var T }} }} } "
    "where { s before t, {s, t} within 1 min, var T > 40 } END"
)

SMOKE = "DETECT x { area { var A } } ON event s: smoke {{ area {{ var A }} }} END"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with the paper's program and its events."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    Path("plant.rules").write_text(VECTOR["program"] + "\n", encoding="utf-8")
    write("events.jsonl", VECTOR["events"])
    return tmp_path


def write(name: str, events: list[dict[str, Any]]) -> None:
    Path(name).write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")


def written(rows: list[dict[str, Any]], form: str) -> bytes:
    """The rows as a pipe gives them."""
    if form == "jsonl":
        return "".join(json.dumps(row) + "\n" for row in rows).encode()
    table, sink = pa.Table.from_pylist(rows), io.BytesIO()
    if form == "csv":
        arrow_csv.write_csv(table, sink)
    elif form == "parquet":
        pq.write_table(table, sink)
    else:
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
    return sink.getvalue()


def read(name: str) -> set[tuple[str, int, int]]:
    lines = Path(name).read_text(encoding="utf-8").splitlines()
    return {(event["type"], event["begin"], event["end"]) for event in map(json.loads, lines)}


def test_standard_input_and_output(folder: Path) -> None:
    events = Path("events.jsonl").read_text(encoding="utf-8")
    result = CliRunner().invoke(make_app(), ["rules", "plant.rules", "--input", "-", "--output", "-"], input=events)
    assert result.exit_code == 0, result.output
    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert {(event["type"], event["begin"], event["end"]) for event in found} == DERIVED
    rows = "begin,end,type,area\n1,2,smoke,a\n"
    arguments = ["rules", "-q", SMOKE, "-i", "-", "-o", "-", "--format", "csv"]
    assert CliRunner().invoke(make_app(), arguments, input=rows).stdout == '"type","begin","end","area"\n"x",1,2,"a"\n'
    told = CliRunner().invoke(make_app(), arguments, input="begin,end,type,area\n3,2,smoke,a\n")
    failed(told, 1, "the event ends before it begins", "standard input")
    failed(
        run("rules", "plant.rules", "-i", "events.jsonl", "--format", "csv"),
        2,
        "other files have it in their names",
    )
    failed(run("rules", "plant.rules", "-i", "-", "--engine", "spark"), 2, "standard input")


@pytest.mark.slow
@pytest.mark.parametrize("output", [[], ["-o", "-"]], ids=["printed", "standard output"])
@pytest.mark.parametrize("form", ["jsonl", "csv", "arrow"])
def test_events_are_derived_before_standard_input_ends(form: str, output: list[str], folder: Path) -> None:
    rows = [{"ts": 1, "type": "smoke", "area": "a"}, {"ts": 2, "type": "smoke", "area": "b"}]
    found = first_line(written(rows, form), "rules", "-q", SMOKE, "-i", "-", *output)
    assert json.loads(found) == {"type": "x", "begin": 1, "end": 1, "area": "a"}


def test_standard_input_is_derived_from_to_its_end(folder: Path) -> None:
    rows = [{"ts": 1, "type": "smoke", "area": "a"}, {"ts": 2, "type": "smoke", "area": "b"}]
    for form in ("jsonl", "csv", "arrow", "parquet"):
        given = written(rows[:1], form)
        for output in ("out.jsonl", "out.csv"):
            told = CliRunner().invoke(make_app(), ["rules", "-q", SMOKE, "-i", "-", "-o", output], input=given)
            assert told.exit_code == 0, told.output
            assert len(Path(output).read_text(encoding="utf-8").splitlines()) == (1 if output == "out.jsonl" else 2)
    back = written(rows[::-1], "jsonl")
    failed(CliRunner().invoke(make_app(), ["rules", "-q", SMOKE, "-i", "-"], input=back), 1, "not in order", "standard")
    told = CliRunner().invoke(make_app(), ["rules", "-q", SMOKE, "-i", "-", "--sort"], input=back)
    assert "2 derived events" in told.stdout
    none = CliRunner().invoke(make_app(), ["rules", "-q", SMOKE, "-i", "-"], input=b"")
    assert (none.exit_code, none.stdout) == (0, ""), none.output
    failed(run("rules", "-q", SMOKE, "-i", "-", "events.jsonl"), 2, "standard input is read alone")


def test_times_keep_their_zone(folder: Path) -> None:
    write("events.jsonl", [{"ts": "2026-01-01T00:00:00+02:00", "type": "smoke", "area": "a"}])
    for name, shown in (("d.jsonl", '"begin": "2025-12-31T22:00:00Z"'), ("d.csv", "2025-12-31 22:00:00Z")):
        assert run("rules", "-q", SMOKE, "-i", "events.jsonl", "-o", name).exit_code == 0
        assert shown in Path(name).read_text(encoding="utf-8")
    assert "2025-12-31 22:00:00Z" in run("rules", "-q", SMOKE, "-i", "events.jsonl").stdout
    assert "2025-12-31 22:00:00Z" in run("detect", "-q", "smoke AS x", "-i", "events.jsonl").stdout


def test_rules_print_derived_events_and_a_summary_apart(folder: Path) -> None:
    result = run("rules", "plant.rules", "--input", "events.jsonl")
    assert result.exit_code == 0, result.output
    assert "burnt_down" in result.stdout and "3 derived events" in result.stdout
    last = result.stderr.splitlines()[-1]
    assert re.search(r"^3 events, 1 avg_temp, 1 burnt_down, 1 fire, 0 late, [\d.]+ s, [\d,]+ events/s$", last)


@pytest.mark.parametrize("extra", [[], ["--sort"], ["--lateness", "1 min"], ["--longest", "1 min"]])
def test_every_way_to_read_derives_the_same(folder: Path, extra: list[str]) -> None:
    result = run("rules", "plant.rules", "-i", "events.jsonl", "-o", "d.jsonl", *extra)
    assert result.exit_code == 0 and result.stdout == ""
    assert read("d.jsonl") == DERIVED


def test_a_long_file_derives_what_the_table_does(folder: Path) -> None:
    chance = random.Random(3)
    rows: list[dict[str, Any]] = []
    for second in range(3_000):
        kind = chance.choice(["temp", "temp", "smoke"])
        place = chance.randrange(20)
        row = {"begin": second, "end": second + chance.choice([0, 1]), "type": kind, "area": f"a{place // 4}"}
        rows.append(row | ({"sensor": place, "value": chance.randrange(30, 50)} if kind == "temp" else {}))
    rows.sort(key=lambda row: row["end"])
    table = pa.Table.from_pylist(rows, pa.schema([*VECTOR_COLUMNS.items()]))
    pq.write_table(table, "long.parquet", row_group_size=500)
    assert run("rules", "plant.rules", "-i", "long.parquet", "-o", "d.parquet").exit_code == 0
    keys = [(name, "ascending") for name in ("end", "begin", "type", "area", "sensor")]
    expected = ostinato.rules(VECTOR["program"]).detect(table)
    assert pq.read_table("d.parquet").sort_by(keys).equals(expected.sort_by(keys)) and len(expected) > 1_000


VECTOR_COLUMNS = {
    "begin": pa.int64(),
    "end": pa.int64(),
    "type": pa.string(),
    "area": pa.string(),
    "sensor": pa.int64(),
    "value": pa.int64(),
}


def test_the_program_may_be_text_and_the_columns_may_be_named(folder: Path) -> None:
    names = {"begin": "since", "end": "until", "type": "kind"}
    write("log.jsonl", [{names.get(key, key): value for key, value in row.items()} for row in VECTOR["events"]])
    columns = ["--begin", "since", "--end", "until", "--type", "kind"]
    result = run("rules", "-q", FIRE, "-i", "log.jsonl", *columns, "-o", "d.jsonl")
    assert result.exit_code == 0, result.output
    assert read("d.jsonl") == {("fire", 65, 80)}
    assert run("check", "plant.rules", "-i", "log.jsonl", *columns).exit_code == 0


def test_documents_are_events(folder: Path) -> None:
    rows = [
        {"ts": 1, "body": "<order id='7'><item><name>pen</name><qty>2</qty></item></order>"},
        {"ts": 2, "body": "<order id='8'><item><name>ink</name><qty>9</qty></item></order>"},
    ]
    write("orders.jsonl", rows)
    program = (
        "DETECT large { id { var I } } "
        "ON event o: order {{ @id {{ var I }}, desc qty {{ var Q }} }} where { var Q > 5 } END"
    )
    result = run("rules", "-q", program, "-i", "orders.jsonl", "--document", "body", "-o", "d.jsonl")
    assert result.exit_code == 0, result.output
    assert [json.loads(line)["id"] for line in Path("d.jsonl").read_text().splitlines()] in ([8], ["8"])


def test_files_out_of_order_need_lateness_or_sort(folder: Path) -> None:
    write("back.jsonl", VECTOR["events"][::-1])
    failed(run("rules", "plant.rules", "-i", "back.jsonl", "-o", "d.jsonl"), 1, "row 1", "--lateness", "--sort")
    assert not Path("d.jsonl").exists()
    for extra in (["--sort"], ["--lateness", "20 seconds"]):
        assert run("rules", "plant.rules", "-i", "back.jsonl", "-o", "d.jsonl", *extra).exit_code == 0
        assert read("d.jsonl") == DERIVED


def test_late_and_too_long_events_are_counted(folder: Path) -> None:
    for number, event in enumerate(VECTOR["events"][::-1]):
        write(f"{number}.jsonl", [event])
    result = run("rules", "plant.rules", "-i", "0.jsonl", "1.jsonl", "2.jsonl", "--lateness", "5 seconds")
    assert result.exit_code == 0 and "2 late" in result.stderr
    result = run("rules", "plant.rules", "-i", "events.jsonl", "--longest", "5 seconds")
    assert result.exit_code == 0 and "1 late" in result.stderr  # 70 to 80


def test_a_label_that_no_event_has_is_pointed_out(folder: Path) -> None:
    for extra in ([], ["--sort"]):
        result = run("rules", "-q", FIRE.replace("smoke", "smokes"), "-i", "events.jsonl", *extra)
        assert result.exit_code == 0
        assert "no event has the label `smokes`; did you mean `smoke`?" in result.stderr


def test_events_without_a_label_are_pointed_out(folder: Path) -> None:
    write("events.jsonl", [{"ts": 1, "type": None, "area": "a"}, {"ts": 2, "type": "smoke", "area": "b"}])
    lines = Path("events.jsonl").read_bytes()
    for given in (["-i", "events.jsonl"], ["-i", "events.jsonl", "--sort"], ["-i", "-"]):
        told = CliRunner().invoke(make_app(), ["rules", "-q", SMOKE, *given], input=lines)
        assert told.exit_code == 0, told.output
        assert "note: an event has no label (NULL), so that no rule reads it" in told.stderr
        assert "Warning" not in told.stderr


def test_files_of_nothing(folder: Path) -> None:
    Path("empty.jsonl").write_text("", encoding="utf-8")
    for extra in ([], ["--sort"]):
        result = run("rules", "plant.rules", "-i", "empty.jsonl", *extra)
        assert result.exit_code == 0 and "0 derived events" in result.stdout


def test_check_says_what_is_derived_from_what(folder: Path) -> None:
    result = run("check", "plant.rules")
    assert result.stdout == "ok: 3 rules, derives avg_temp, burnt_down, fire from smoke, temp\n"
    assert "fits the 6 columns of events.jsonl" in run("check", "plant.rules", "-i", "events.jsonl").stdout
    assert run("check", "--language", "rules", "-q", FIRE).exit_code == 0
    private = f"PRIVATE {FIRE} DETECT alarm {{ }} ON event f: fire {{{{ }}}} END"
    told = run("check", "--language", "rules", "-q", private).stdout
    assert told == "ok: 2 rules, derives alarm (private: fire) from smoke, temp\n"
    never = FIRE.replace("event t:", "event i: timer:from-end [event s, 9 sec], event t:").replace(
        "s before", "i before s, s before"
    )
    assert "warning" in run("check", "--language", "rules", "-q", never).stderr


def test_explain_shows_the_plan(folder: Path) -> None:
    result = run("explain", "plant.rules")
    assert result.exit_code == 0 and "-- rules in CERA" in result.stdout and "kept for ever" in result.stdout
    assert "kept for ever" not in run("explain", "plant.rules", "--longest", "1 minute").stdout


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("event s: smoke", "event s smoke"), "^"),
        (("area { var A }", "area { var B }"), "`var B` is not bound"),
        (("area {{ var A }}, value", "aera {{ var A }}, value"), "did you mean `area`?"),
        (("var T > 40", "var T > 'hot'"), "number and a string"),
        (("within 1 min", "within 1 parsec"), "parsec"),
        (("s before t", "s befor t"), "did you mean `before`"),
    ],
)
def test_a_wrong_program_is_pointed_at(folder: Path, change: tuple[str, str], expected: str) -> None:
    result = run("rules", "-q", FIRE.replace(*change, 1), "-i", "events.jsonl", "-o", "d.jsonl")
    failed(result, 2, expected, "^")
    assert not Path("d.jsonl").exists()


@pytest.mark.parametrize("sort", [(), ("--sort",)])
def test_rows_that_are_no_events_can_be_left_out(folder: Path, sort: tuple[str, ...]) -> None:
    write("bad.jsonl", [{"begin": 5, "end": 3, "type": "temp"}, *VECTOR["events"]])
    Path("bad.jsonl").write_text(Path("bad.jsonl").read_text() + "nonsense\n")
    result = run("rules", "plant.rules", "-i", "bad.jsonl", "-o", "d.jsonl", "--on-error", "skip", *sort)
    assert result.exit_code == 0, result.stderr
    assert "1 row could not be read and was left out" in result.stderr
    assert "1 row was no event and was left out" in result.stderr and "row 0 (from 0): the event ends" in result.stderr
    found = [json.loads(line) for line in Path("d.jsonl").read_text().splitlines()]
    assert {(event["type"], event["begin"], event["end"]) for event in found} == DERIVED


def test_bad_events_are_named_by_file_and_row(folder: Path) -> None:
    wrong = {**VECTOR["events"][2], "begin": 90}
    write("wrong.jsonl", [*VECTOR["events"][:2], wrong])
    for extra in ([], ["--sort"], ["--lateness", "1 min"]):
        args = ("rules", "plant.rules", "-i", "wrong.jsonl", "-o", "d.jsonl", *extra)
        failed(run(*args), 1, "wrong.jsonl, row 2", "ends before it begins")
    write("missing.jsonl", [*VECTOR["events"][:2], {**VECTOR["events"][2], "end": None}])
    failed(run("rules", "plant.rules", "-i", "missing.jsonl"), 1, "missing.jsonl, row 2")
    assert not Path("d.jsonl").exists()


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["rules", "plant.rules"], "--input"),
        (["rules", "-i", "events.jsonl"], "give a query"),
        (["rules", "plant.rules", "-i", "events.jsonl", "-o", "events.jsonl"], "one of the input files"),
        (["rules", "plant.rules", "-i", "events.jsonl", "-o", "d.xlsx"], ".xlsx"),
        (["rules", "plant.rules", "-i", "events.jsonl", "--sort", "--lateness", "1 s"], "piece by piece"),
        (["rules", "plant.rules", "-i", "events.jsonl", "--lateness", "soon"], "not a duration"),
        (["rules", "plant.rules", "-i", "events.jsonl", "--longest", "3 fortnights"], "unknown unit"),
        (["rules", "plant.rules", "-i", "events.jsonl", "--stream"], "--engine spark"),
        (["rules", "plant.rules", "-i", "events.jsonl", "--engine", "spark", "--once"], "--stream"),
        (["rules", "plant.rules", "-i", "events.jsonl", "--kind", "valu=number"], "did you mean `value`?"),
        (["rules", "plant.rules", "--engine", "spark", "--stream", "-i", "kafka://h:1/t"], "give the kind of `area`"),
        (["detect", "plant.rules", "-i", "events.jsonl"], "ostinato rules"),
        (["explain", "plant.rules", "--svg", "a.svg"], "--svg"),
        (["explain", "-q", "T AS x", "--longest", "1 min"], "--longest"),
        (["check", "-q", "T AS x", "--begin", "since"], "--begin"),
    ],
)
def test_wrong_usage(folder: Path, args: list[str], expected: str) -> None:
    failed(run(*args), 2, expected)
    assert sorted(path.name for path in folder.iterdir()) == ["events.jsonl", "plant.rules"]


def test_tables_in_files(folder: Path) -> None:
    priced = """TABLE areas KEY area
    DETECT seen { area { var A }, floor { var F } }
    ON and { event s: smoke {{ area {{ var A }} }}, at s: areas {{ area {{ var A }}, floor {{ var F }} }} } END"""
    Path("areas.csv").write_text("area,floor\na,3\n")
    Path("others.csv").write_text("name,floor\na,3\n")
    command = ("rules", "-q", priced, "--input", "events.jsonl")
    assert '"floor":3' in run(*command, "--table", "areas=areas.csv", "--output", "-").stdout.replace(" ", "")
    failed(run(*command, "--table", "areas=others.csv"), 1, "others.csv: the rows of the table `areas`", "`area`")
    failed(run(*command, "--table", "area=areas.csv"), 1, "data error: no rule looks into a table `area`", "`areas`")
    failed(run(*command, "--table", "areas=none.csv"), 1, "none.csv: there is no such file")
