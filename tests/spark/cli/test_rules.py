"""`ostinato rules` on Spark: the same derived events as without it, batch and stream, and errors on one screen."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ostinato as ost
from support.commands import failed, run, write_inputs

PROGRAM = """
DETECT hot { place { var P }, value { var V } }
ON event t: T {{ place {{ var P }}, value {{ var V }} }} where { var V > 40 }
END
DETECT silent { place { var P } }
ON and { event h: hot {{ place {{ var P }} }}, event w: timer:from-end [event h, 2 min],
         while w: not H {{ place {{ var P }} }} }
END
"""
NOON = datetime(2026, 7, 6, 12, tzinfo=UTC)
COLUMNS = ["type", "begin", "end", "place", "value"]


def events(count: int = 60) -> pa.Table:
    schema = pa.schema(
        [("ts", pa.timestamp("us", "UTC")), ("type", pa.string()), ("place", pa.string()), ("value", pa.int64())]
    )
    rows = [
        {
            "ts": NOON + timedelta(seconds=40 * number),
            "type": "TTTH"[number * 7 % 4],
            "place": "abc"[number % 3],
            "value": number * 17 % 60,
        }
        for number in range(count)
    ]
    end = {"ts": NOON + timedelta(days=1), "type": "end", "place": None, "value": None}
    return pa.Table.from_pylist([*rows, end], schema)


EXPECTED = sorted(map(str, ost.rules(PROGRAM).detect(events()).select(COLUMNS).to_pylist()))


@pytest.fixture
def folder(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in: a program, and its events in two files that are not in order."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    write_inputs("p.rules", PROGRAM, events())
    return tmp_path


def on_spark(*args: str) -> Any:
    return run("rules", "p.rules", "--engine", "spark", "--master", "local[2]", *args)


def rows(folder: str) -> list[str]:
    return sorted(map(str, pq.read_table(folder).select(COLUMNS).to_pylist()))


def test_a_folder_in_and_a_folder_out(folder: Path) -> None:
    result = on_spark("--input", "events", "--output", "derived")
    assert result.exit_code == 0 and result.stdout == "", result.output
    assert re.fullmatch(rf"{len(EXPECTED)} derived events, [\d.]+ s\n", result.stderr)
    assert rows("derived") == EXPECTED and len({row.partition(",")[0] for row in EXPECTED}) == 2


def test_the_first_are_printed(folder: Path) -> None:
    result = on_spark("--input", "events")
    assert result.exit_code == 0 and f"{len(EXPECTED)} derived events" in result.stdout and "silent" in result.stdout


def test_a_stream_of_files(folder: Path) -> None:
    result = on_spark("--input", "events", "--stream", "--once", "--lateness", "2 days", "--output", "derived")
    assert result.exit_code == 0, result.output
    assert "derived event" in result.stderr and "0 late" in result.stderr
    assert not pq.read_table("derived")["type"].to_pylist()  # what was read is two days short of the watermark
    last = pa.table(
        {"ts": pa.array([NOON + timedelta(days=9)]).cast(events().schema.field("ts").type), "type": ["end"]}
    )
    pq.write_table(
        pa.concat_tables([events().schema.empty_table(), last], promote_options="default"), "events/3.parquet"
    )
    assert (
        on_spark("--input", "events", "--stream", "--once", "--lateness", "2 days", "--output", "derived").exit_code
        == 0
    )
    assert rows("derived") == EXPECTED


def test_wrong_usage_and_wrong_columns(folder: Path) -> None:
    failed(on_spark("--input", "events", "--lateness", "1 s"), 2, "--stream")
    failed(on_spark("--input", "events", "--sort"), 2, "--sort")
    failed(on_spark("--input", "events", "--type", "kind"), 1, "kind", "no such column")
    Path("p.rules").write_text(PROGRAM.replace("value {{ var V }}", "valeu {{ var V }}"), encoding="utf-8")
    failed(on_spark("--input", "events", "--output", "derived"), 2, "did you mean `value`?", "^")
    assert not Path("derived").exists()
