"""`ostinato train`, `forecast`, `evaluate`, and models for `explain`: what they print, write, and how they fail."""

from __future__ import annotations

import csv
import io
import json
import random
import re
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import ostinato
from ostinato.cli.main import make_app
from support.commands import failed, first_line, run

QUERY = "warm AS w ; hot AS h ; fail AS f PARTITION BY machine WITHIN 12 EVENTS"
WAYS = {
    "ok": {"ok": 0.9, "warm": 0.1},
    "warm": {"warm": 0.5, "hot": 0.3, "ok": 0.2},
    "hot": {"hot": 0.3, "fail": 0.5, "ok": 0.2},
    "fail": {"ok": 1.0},
}
FORECASTS = [
    "probability",
    "beyond",
    "point",
    "earliest",
    "latest",
    "mass",
    "point_seconds",
    "earliest_seconds",
    "latest_seconds",
    "mass_seconds",
]


def readings(hours: int, seed: int) -> pa.Table:
    """Two machines that run warm, then hot, and fail or cool down; a reading of each every hour."""
    chance = random.Random(seed)
    states, rows = ["ok", "ok"], []
    for hour in range(hours):
        for machine in (0, 1):
            ways = WAYS[states[machine]]
            states[machine] = chance.choices(list(ways), list(ways.values()))[0]
            row = {"ts": hour * 3600 + machine, "type": states[machine], "machine": machine}
            rows.append(row | {"load": chance.randrange(100)})
    return pa.Table.from_pylist(rows)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a query, its events, and a model of them."""
    folder = tmp_path_factory.mktemp("trained")
    (folder / "q.cel").write_text(QUERY + "\n", encoding="utf-8")
    pq.write_table(readings(3_000, 1), folder / "history.parquet")
    pq.write_table(readings(500, 2), folder / "events.parquet")
    history = pq.read_table(folder / "history.parquet")
    ostinato.Forecaster(QUERY, order=2, horizon=24).fit(history).save(folder / "model")
    return folder


@pytest.fixture
def folder(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(trained, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path / "work"


# -- train


def test_train_writes_a_model_and_says_what_was_learned(folder: Path) -> None:
    result = run("train", "q.cel", "--input", "history.parquet", "--output", "m", "--horizon", "24")
    assert result.exit_code == 0, result.output
    model = ostinato.ForecastModel.load("m")
    learned, order, intervals = result.stdout.splitlines()
    assert learned.startswith(f"completions: {model.statistics.completions:,.0f} in 6,000 events (")
    assert re.match(
        rf"order: {model.order}, the best of 0 to \d+; [\d,]+ contexts over 4 symbols, [\d,]+ states", order
    )
    assert intervals.startswith("intervals: threshold 0.5, made with 0.")
    assert re.search(r"^6,000 events, [\d,]+ completions, [\d.]+ s, [\d,]+ events/s$", result.stderr.splitlines()[-1])
    expected = ostinato.Forecaster(QUERY, horizon=24).fit(pq.read_table("history.parquet"))
    events = pq.read_table("events.parquet")
    assert model.forecast(events).equals(expected.forecast(events))


def test_every_option_of_train_reaches_the_model(folder: Path) -> None:
    history = pq.read_table("history.parquet").rename_columns(["at", "kind", "machine", "load"])
    with Path("history.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(history.column_names)
        writer.writerows(zip(*(column.to_pylist() for column in history.columns), strict=True))
    given = ["--time", "at", "--type", "kind", "--order-by", "machine", "--kind", "load=number", "--on-error", "skip"]
    given += ["--order", "3", "--horizon", "10", "--threshold", "0.6", "--holdout", "0.1", "--no-calibrate"]
    given += [
        "--feature",
        "load > 50",
        "--feature",
        "load < 10",
        "--learning",
        "min_count=80",
        "--learning",
        "max_nodes=900",
    ]
    given += ["--max", "states=5000", "--language", "cel"]
    result = run("train", "-q", QUERY, "-i", "history.csv", "-o", "deep/m", *given)
    assert result.exit_code == 0, result.output
    assert "intervals: threshold 0.6, not calibrated" in result.stdout
    model = ostinato.ForecastModel.load("deep/m")
    settings = model.settings
    assert (settings.time, settings.type, settings.order_by) == ("at", "kind", ("machine",))
    assert (settings.order, settings.horizon, settings.threshold, settings.holdout) == (3, 10, 0.6, 0.1)
    assert (settings.learning.min_count, settings.learning.max_nodes, settings.limits.states) == (80.0, 900, 5000)
    assert model.calibration is None and model.pattern.features == ("load > 50", "load < 10")
    failed(run("forecast", "deep/m", "--input", "history.csv"), 2, "equal time by machine", "needs --sort")
    assert run("forecast", "deep/m", "--input", "history.csv", "--sort").exit_code == 0


def test_train_refuses_a_folder_that_is_there_before_it_reads(folder: Path) -> None:
    train = ("train", "q.cel", "--input", "nothing.parquet", "--output")
    failed(run(*train, "model"), 1, "model exists already", "fix: give another folder, or --overwrite")
    Path("mine").mkdir()
    failed(run(*train, "mine", "--overwrite"), 1, "mine exists and is not a saved model")
    result = run(
        "train", "q.cel", "-i", "history.parquet", "-o", "model", "--overwrite", "--order", "0", "--horizon", "9"
    )
    assert result.exit_code == 0 and ostinato.ForecastModel.load("model").settings.horizon == 9


def test_srem_by_the_name_of_the_file(folder: Path) -> None:
    Path("q.srem").write_text('[type = "hot"] . [type = "fail"]\n'.replace('"', "'"), encoding="utf-8")
    result = run("train", "q.srem", "--input", "history.parquet", "--output", "m", "--order", "1")
    assert result.exit_code == 0, result.output
    assert ostinato.ForecastModel.load("m").pattern.language == "srem"


@pytest.mark.parametrize(
    ("query", "extra", "code", "expected"),
    [
        (QUERY, ["--feature", "laod > 5"], 2, ["in a feature: unknown attribute `laod`", "laod > 5 ^^^^", "`load`"]),
        (QUERY, ["--feature", "load >> 5"], 2, ["in a feature", "load >> 5 ^"]),
        (QUERY, ["--order", "long"], 2, ["--order is a number of events, or auto"]),
        (QUERY, ["--order", "99"], 1, ["order cannot be 99", "from 0 to 50"]),
        (QUERY, ["--threshold", "2"], 1, ["threshold cannot be 2.0", "between 0 and 1"]),
        (QUERY, ["--holdout", "0"], 1, ["holdout cannot be 0"]),
        (QUERY, ["--learning", "speed=3"], 2, ["--learning is NAME=NUMBER", "min_count"]),
        (QUERY, ["--max", "states=many"], 2, ["--max is NAME=NUMBER", "pattern_states"]),
        (
            QUERY,
            ["--max", "states=2", "--order", "1"],
            1,
            ["limit reached", "(limit states=2)", "raise --max states=N"],
        ),
        (QUERY, ["--kind", "lod=number"], 2, ["--kind names `lod`", "`load`"]),
        (QUERY, ["--time", "when"], 1, ["history.parquet: --time is `when`, but there is no such column"]),
        (QUERY, ["--master", "local[1]"], 2, ["--master is for --engine spark"]),
        (QUERY, ["--engine", "spark", "--on-error", "collect"], 2, ["is not for --engine spark"]),
        ("hot AS h ; NOT ok WITHIN 1 hour", [], 2, ["cannot be forecast", "without it"]),
        ("hot AS h ; fail AS f FILTER f.pressure > 3", [], 2, ["unknown attribute `pressure`"]),
        ("hot AS h ; fail AS f PARTITION BY machine CONSUME BY ANY", [], 2, ["CONSUME BY PARTITION"]),
    ],
)
def test_what_train_refuses(folder: Path, query: str, extra: list[str], code: int, expected: list[str]) -> None:
    failed(run("train", "-q", query, "-i", "history.parquet", "-o", "m", *extra), code, *expected)
    assert not Path("m").exists()


def test_train_needs_a_query_of_events_a_place_and_events(folder: Path) -> None:
    Path("q.rules").write_text("DETECT a { } ON event b: c {{ }} END", encoding="utf-8")
    failed(run("train", "q.rules", "-i", "history.parquet", "-o", "m"), 2, "a query in CEL or SREM")
    failed(run("train", "q.cel", "-i", "history.parquet"), 2, "--output FOLDER")
    failed(run("train", "q.cel", "-o", "m"), 2, "events are missing: --input FILE")
    pq.write_table(readings(1, 1).slice(0, 0), "empty.parquet")
    failed(run("train", "q.cel", "-i", "empty.parquet", "-o", "m"), 1, "empty.parquet: the history has no events")


# -- forecast


def test_forecast_prints_the_first_rows_short(folder: Path) -> None:
    result = run("forecast", "model", "--input", "events.parquet")
    assert result.exit_code == 0, result.output
    assert "1,000 forecasts, the first 20 shown; --output FILE keeps all" in result.stdout
    heads = ["position", "ts", "machine", "probability", "point", "interval", "in", "completes"]
    assert [line.split() for line in result.stdout.splitlines() if "position" in line] == [heads]
    assert re.search(r"^1,000 events, [\d,]+ completions, [\d.]+ s", result.stderr.splitlines()[-1])


@pytest.mark.parametrize("name", ["f.parquet", "f.csv", "f.jsonl"])
def test_forecasts_in_files_are_those_of_python(folder: Path, name: str) -> None:
    result = run("forecast", "model", "--input", "events.parquet", "--output", name)
    assert result.exit_code == 0 and result.stdout == ""
    events = pq.read_table("events.parquet")
    expected = ostinato.ForecastModel.load("model").forecast(events)
    if name == "f.parquet":
        found = pq.read_table(name)
        assert found.column_names == ["position", "ts", "machine", *FORECASTS, "completes"]
        assert found.select(expected.column_names).equals(expected)
        assert found["position"].to_pylist() == list(range(len(events))) and found["ts"].equals(events["ts"])
    elif name == "f.csv":
        with Path(name).open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        assert [float(row["probability"]) for row in rows] == expected["probability"].to_pylist()
    else:
        lines = [json.loads(line) for line in Path(name).read_text(encoding="utf-8").splitlines()]
        assert [line["earliest"] for line in lines] == expected["earliest"].to_pylist()


def test_pieces_of_a_stream_are_forecast_as_the_whole(folder: Path) -> None:
    events = pq.read_table("events.parquet")
    Path("parts").mkdir()
    for number in range(4):
        pq.write_table(events.slice(250 * number, 250), f"parts/{number}.parquet")
    run("forecast", "model", "--input", "events.parquet", "--output", "whole.parquet")
    assert run("forecast", "model", "--input", "parts", "--output", "parts.parquet").exit_code == 0
    assert run("forecast", "model", "-i", *sorted(Path("parts").iterdir()), "-o", "each.parquet").exit_code == 0
    whole = pq.read_table("whole.parquet")
    assert pq.read_table("parts.parquet").equals(whole) and pq.read_table("each.parquet").equals(whole)


def test_alert_keeps_the_likely_ones_and_events_all_columns(folder: Path) -> None:
    run("forecast", "model", "--input", "events.parquet", "--output", "all.parquet")
    result = run("forecast", "model", "-i", "events.parquet", "-o", "some.parquet", "--alert", "0.8", "--events")
    assert result.exit_code == 0, result.output
    every, some = pq.read_table("all.parquet"), pq.read_table("some.parquet")
    likely = every.filter(pc.greater_equal(every["probability"], 0.8))
    assert 0 < len(some) < len(every) and some.select(every.column_names).equals(likely)
    assert "load" in some.column_names and "type" in some.column_names
    assert "0 forecasts" in run("forecast", "model", "-i", "events.parquet", "--alert", "1").stdout


def test_unsorted_events_are_refused_or_sorted(folder: Path) -> None:
    events = pq.read_table("events.parquet")
    turned = events.take(pa.array(range(len(events) - 1, -1, -1)))
    pq.write_table(turned, "turned.parquet")
    back = "turned.parquet, row 1 (from 0): the events go back in time"
    failed(run("forecast", "model", "--input", "turned.parquet", "--output", "f.parquet"), 1, back, "--sort")
    assert not Path("f.parquet").exists()
    assert run("forecast", "model", "--input", "turned.parquet", "--output", "f.parquet", "--sort").exit_code == 0
    expected = ostinato.ForecastModel.load("model").forecast(events)["probability"].to_pylist()
    assert pq.read_table("f.parquet")["probability"].to_pylist() == expected[::-1]


def test_bad_rows_are_left_out_and_kinds_never_seen_are_pointed_out(folder: Path) -> None:
    history = pq.read_table("history.parquet")
    ostinato.Forecaster(QUERY, order=0, horizon=5, features=["load > 200"]).fit(history).save("m")
    Path("new.csv").write_text("ts,type,machine,load\n1,warm,0,3\n2,hot,0,300\nx,y\n", encoding="utf-8")
    result = run("forecast", "m", "--input", "new.csv", "--kind", "ts=number", "--on-error", "collect")
    assert result.exit_code == 0, result.output
    assert "2 forecasts" in result.stdout and "new.csv, line 4" in result.stderr
    assert "never seen in training, read as the nearest: 1" in result.stderr


@pytest.mark.parametrize(
    ("args", "code", "expected"),
    [
        (["nowhere"], 1, ["there is no saved model in nowhere", "fix: give the folder that ostinato train wrote"]),
        (["model", "--output", "f.txt"], 2, ["f.txt must end in one of"]),
        (["model", "--output", "events.parquet"], 2, ["is one of the input files"]),
        (["model", "--alert", "3"], 2, ["--alert"]),
        (["model", "--stream"], 2, ["are for --engine spark"]),
        (["model", "--format", "csv"], 2, ["is for --engine spark, and for standard input"]),
        (["model", "--engine", "spark", "--once"], 2, ["--once and --checkpoint are for --stream"]),
        (["model", "--engine", "spark", "--checkpoint", "c"], 2, ["--once and --checkpoint are for --stream"]),
        (["model", "--engine", "spark", "--master", "local[1]", "--sort"], 2, ["--sort is not for --engine spark"]),
    ],
)
def test_what_forecast_refuses(folder: Path, args: list[str], code: int, expected: list[str]) -> None:
    failed(run("forecast", *args, "--input", "events.parquet"), code, *expected)


def test_events_that_do_not_fit_the_model(folder: Path) -> None:
    events = pq.read_table("events.parquet")
    pq.write_table(events.drop(["machine"]), "bad.parquet")
    failed(run("forecast", "model", "--input", "bad.parquet"), 2, "machine")
    pq.write_table(events.append_column("point", events["load"]), "clash.parquet")
    failed(run("forecast", "model", "--input", "clash.parquet", "--events"), 1, "a column `point`", "rename it")
    assert run("forecast", "model", "--input", "clash.parquet").exit_code == 0
    failed(run("forecast", "model"), 2, "events are missing")


@pytest.mark.parametrize(("file", "content"), [("model.json", "{"), ("model.json", "{}"), ("counts.parquet", "PAR1")])
def test_damaged_models_are_refused(folder: Path, file: str, content: str) -> None:
    (Path("model") / file).write_text(content, encoding="utf-8")
    for verb in ("forecast", "evaluate"):
        failed(run(verb, "model", "--input", "events.parquet"), 1, "model", "fix:")


# -- evaluate, explain


def test_evaluate_prints_scores_beside_baselines(folder: Path) -> None:
    result = run(
        "evaluate", "model", "-i", "events.parquet", "--within", "5", "--decision", "0.4", "--picture", "r.svg"
    )
    assert result.exit_code == 0, result.output
    scores = ostinato.ForecastModel.load("model").evaluate(pq.read_table("events.parquet"), within=5, decision=0.4)
    assert result.stdout == f"{scores}\n" and "mean rate" in result.stdout
    assert Path("r.svg").read_text(encoding="utf-8").startswith("<svg")


def test_evaluate_reads_text_and_refuses_what_is_wrong(folder: Path) -> None:
    rows = pq.read_table("events.parquet").to_pylist()
    Path("e.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + "{\n", encoding="utf-8")
    assert run("evaluate", "model", "-i", "e.jsonl", "--kind", "load=number", "--on-error", "skip").exit_code == 0
    failed(run("evaluate", "model", "-i", "events.parquet", "--within", "99"), 2, "--within 99", "24")
    failed(run("evaluate", "model", "-i", "events.parquet", "--picture", "r.png"), 2, "must end in .svg")
    failed(run("evaluate", "model"), 2, "events are missing")


def test_explain_tells_what_a_model_learned(folder: Path) -> None:
    result = run("explain", "model")
    assert result.exit_code == 0
    assert "== prediction suffix tree ==\norder 2" in result.stdout and QUERY in result.stdout
    Path("no_model").mkdir()
    failed(run("explain", "no_model"), 2, "is a folder")


# -- update, and probabilities within numbers of events


def test_update_learns_and_says_where_the_stream_has_changed(folder: Path) -> None:
    pq.write_table(readings(1_500, 3), "more.parquet")
    result = run("update", "model", "--input", "more.parquet", "--decay", "0.5", "--output", "newer")
    assert result.exit_code == 0, result.output
    expected = ostinato.ForecastModel.load("model")
    assert expected.update(pq.read_table("more.parquet"), decay=0.5) is None
    newer = ostinato.ForecastModel.load("newer")
    assert newer.fingerprint == expected.fingerprint and newer.nominal == expected.nominal
    assert "completions: " in result.stdout and "drift" not in result.stdout and "3,000 events" in result.stderr
    failed(run("update", "model", "-i", "more.parquet", "-o", "newer"), 1, "newer exists already", "--overwrite")

    broken = [{"ts": 10**8 + n, "type": ["warm", "hot", "fail"][n % 3], "machine": 0} for n in range(2_000)]
    pq.write_table(pa.Table.from_pylist(broken), "broken.parquet")
    result = run("update", "newer", "--input", "broken.parquet")
    assert result.exit_code == 0 and result.stdout.splitlines()[-1].startswith("drift: ")
    assert ostinato.ForecastModel.load("newer").statistics.events == newer.statistics.events + 2_000
    assert "drift: " in run("explain", "newer").stdout
    failed(run("update", "model"), 2, "events are missing")


def test_forecasts_within_numbers_of_events(folder: Path) -> None:
    result = run("forecast", "model", "--input", "events.parquet", "--within", "6, 2", "--output", "f.parquet")
    assert result.exit_code == 0, result.output
    found, events = pq.read_table("f.parquet"), pq.read_table("events.parquet")
    expected = ostinato.ForecastModel.load("model").forecast(events, within=[2, 6])
    assert found.select(["within_2", "within_6"]).equals(expected.select(["within_2", "within_6"]))
    assert "within_2" in run("forecast", "model", "-i", "events.parquet", "--within", "2").stdout
    failed(run("forecast", "model", "-i", "events.parquet", "--within", "2,x"), 2, "a list of numbers of events")
    failed(run("forecast", "model", "-i", "events.parquet", "--within", "25"), 1, "from 1 to 24, the horizon")


def test_columns_are_named_by_options(folder: Path) -> None:
    pq.write_table(pa.table({"at": [1, 2], "kind": ["warm", "hot"], "machine": [0, 0]}), "other.parquet")
    failed(run("train", "q.cel", "-i", "other.parquet", "-o", "m"), 1, "--type COLUMN")
    failed(run("forecast", "model", "-i", "other.parquet"), 1, "--type COLUMN, when the model is trained")


@pytest.mark.slow
def test_forecasts_come_before_standard_input_ends(trained: Path) -> None:
    rows = pq.read_table(trained / "events.parquet").slice(0, 2)
    lines = "".join(json.dumps(row) + "\n" for row in rows.to_pylist()).encode()
    found = json.loads(first_line(lines, "forecast", trained / "model", "-i", "-"))
    assert found["position"] == 0 and found["ts"] == 0 and 0 <= found["probability"] <= 1
    assert json.loads(first_line(lines, "forecast", trained / "model", "-i", "-", "-o", "-", "--events")) == {
        **rows.to_pylist()[0], **found
    }  # fmt: skip


def test_standard_input_and_files_forecast_alike(trained: Path, tmp_path: Path) -> None:
    rows = pq.read_table(trained / "events.parquet")
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_table(rows, max_chunksize=70)
    piped = CliRunner().invoke(
        make_app(),
        ["forecast", str(trained / "model"), "-i", "-", "-o", str(tmp_path / "piped.parquet")],
        input=sink.getvalue(),
    )
    assert piped.exit_code == 0, piped.output
    assert (
        run("forecast", trained / "model", "-i", trained / "events.parquet", "-o", tmp_path / "read.parquet").exit_code
        == 0
    )
    assert pq.read_table(tmp_path / "piped.parquet") == pq.read_table(tmp_path / "read.parquet")


def test_training_reads_standard_input_to_its_end(trained: Path, tmp_path: Path) -> None:
    given = "".join(json.dumps(row) + "\n" for row in pq.read_table(trained / "history.parquet").to_pylist())
    arguments = ["train", str(trained / "q.cel"), "-i", "-", "-o", str(tmp_path / "model")]
    told = CliRunner().invoke(make_app(), arguments, input=given)
    assert told.exit_code == 0 and "completions" in told.stdout, told.output
