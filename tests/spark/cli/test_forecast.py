"""`ostinato train` and `forecast` on Spark: the same model and the same forecasts as in one process."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ostinato
from support.commands import failed, run

QUERY = "a AS x ; b AS y ; c AS z PARTITION BY key WITHIN 6 EVENTS"
SPARK = ("--engine", "spark", "--master", "local[2]")

pytestmark = pytest.mark.usefixtures("spark")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    chance = random.Random(4)
    rows = [{"ts": n, "type": chance.choice("aabcd"), "key": chance.randrange(3)} for n in range(1_500)]
    timed = pa.Table.from_pylist(rows).set_column(0, "ts", pa.array(range(1_500), pa.timestamp("s", tz="UTC")))
    pq.write_table(timed.cast(timed.schema.set(0, pa.field("ts", pa.timestamp("us", tz="UTC")))), "events.parquet")
    return tmp_path


def test_models_and_forecasts_are_those_of_one_process(folder: Path) -> None:
    train = ("train", "-q", QUERY, "--input", "events.parquet", "--horizon", "8", "--order", "2")
    assert run(*train, "--output", "here").exit_code == 0
    result = run(*train, "--output", "there", *SPARK)
    assert result.exit_code == 0, result.output
    assert "completions: " in result.stdout and "1,500 events" in result.stderr
    failed(run(*train, "--output", "there", *SPARK), 1, "there exists already", "--overwrite")

    events = pq.read_table("events.parquet")
    expected = ostinato.ForecastModel.load("here").forecast(events)
    assert ostinato.ForecastModel.load("there").forecast(events).equals(expected)

    result = run("forecast", "here", "--input", "events.parquet", "--output", "f", "--alert", "0.5", *SPARK)
    assert result.exit_code == 0, result.output
    found = pq.read_table("f").sort_by("ts")
    assert found.column_names == ["ts", "key", *expected.column_names]
    likely = [row for row in expected.to_pylist() if row["probability"] >= 0.5]
    assert found.select(expected.column_names).to_pylist() == likely and 0 < len(likely) < len(events)


def test_forecasts_are_printed_and_streamed(folder: Path) -> None:
    assert run("train", "-q", QUERY, "-i", "events.parquet", "-o", "m", "--horizon", "8", "--order", "1").exit_code == 0
    result = run("forecast", "m", "--input", "events.parquet", "--events", *SPARK)
    assert result.exit_code == 0, result.output
    assert "1,500 forecasts, the first 20 shown" in result.stdout and "interval" in result.stdout

    Path("in").mkdir()
    Path("events.parquet").rename("in/events.parquet")
    given = ("--stream", "--once", "--checkpoint", "state", "--format", "jsonl", "--output", "out")
    result = run("forecast", "m", "--input", "in", "--within", "3", *given, *SPARK)
    assert result.exit_code == 0, result.output
    assert "1,500 events, " in result.stderr and "1 of the events wait until the watermark" in result.stderr
    told = [
        int(number.replace(",", "")) for number in re.findall(r"events, ([\d,]+) forecasts?, 0 late", result.stderr)
    ]
    assert sum(told) == 1_499
    lines = [json.loads(line) for file in Path("out").glob("*.json") for line in file.read_text().splitlines()]
    # The last event waits: as long as time has not passed it, one before it may still come.
    expected = ostinato.ForecastModel.load("m").forecast(pq.read_table("in"), within=[3]).slice(0, 1_499)
    for name in ("probability", "within_3"):
        assert sorted(line[name] for line in lines) == sorted(expected[name].to_pylist())
