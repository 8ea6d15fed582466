"""Files that are written: complete or not at all, and text as it was always written."""

from __future__ import annotations

import errno
import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from ostinato.errors import DataError
from ostinato.files import Writer, open_events
from support.event_files import EVENTS

NUMBERS = pa.table({"v": np.random.default_rng(0).integers(0, 1 << 60, 40_000)})
FORMATS = ["m.parquet", "m.csv", "m.jsonl", "m.arrow"]


@contextmanager
def no_file_beyond(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("rows", [100, 40_000])  # 100: less than a buffer, so that only closing the file fails
@pytest.mark.parametrize("name", FORMATS)
def test_a_file_that_cannot_grow_leaves_what_was_there(tmp_path: Path, name: str, rows: int) -> None:
    (tmp_path / name).write_text("before")
    message = rf"{name}: cannot be written: File too large\nfix: make room"
    with no_file_beyond(200), pytest.raises(DataError, match=message), Writer(tmp_path / name) as writer:
        writer.write(NUMBERS[:rows])
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(name, "before")]


@pytest.mark.parametrize("name", FORMATS)
def test_a_full_disk_is_told_after_another_error_only_by_that(tmp_path: Path, name: str) -> None:
    with no_file_beyond(200), pytest.raises(RuntimeError, match="first"), Writer(tmp_path / name) as writer:
        writer.write(NUMBERS[:100])
        raise RuntimeError("first")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_a_run_that_is_stopped_leaves_nothing(tmp_path: Path, stop: type[BaseException]) -> None:
    with pytest.raises(stop), Writer(tmp_path / "m.csv") as writer:
        writer.write(NUMBERS)
        raise stop
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_takes_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> None:
        raise OSError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(DataError, match=r"m\.csv: cannot be written: Permission denied\nfix: "):
        Writer(tmp_path / "m.csv").write(NUMBERS)


def test_types_that_csv_does_not_know(tmp_path: Path) -> None:
    table = pa.table(
        {
            "uuid": pa.array([UUID(int=1).bytes, None], pa.uuid()),
            "interval": pa.array([(1, 2, 3), None], pa.month_day_nano_interval()),
            "bytes": pa.array([b"x", None], pa.binary_view()),
            "map": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())),
            "coded": pa.array(["a", None]).dictionary_encode(),
            "plain": pa.array([Decimal("1.50"), None]),
        }
    )
    with Writer(tmp_path / "m.csv") as writer:
        writer.write(table)
    assert (tmp_path / "m.csv").read_text().splitlines()[1:] == [
        '"00000000-0000-0000-0000-000000000001","[1, 2, 3]","x","[[""a"", 1]]","a",1.50',
        ",,,,,",
    ]


@pytest.mark.parametrize("rows", [0, 1, 7])
def test_blocks_of_any_size_give_the_same_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    start = datetime(2026, 1, 1)
    table = pa.table(
        {
            "start": pa.array([start.replace(second=n) for n in range(7)], pa.timestamp("us")),
            "positions": [list(range(n)) if n != 3 else None for n in range(7)],
            "events": [[{"s": f'"{n}\n', "v": n / 2}] * n for n in range(7)],
        }
    )[:rows]
    for block in (1, 2, 1 << 16):
        monkeypatch.setattr("ostinato.files.encode._BLOCK_ROWS", block)
        for name in ("m.csv", "m.jsonl"):
            with Writer(tmp_path / name, table.schema) as writer:
                writer.write(pa.concat_tables([table[:2], table[2:]]))
        lines = (tmp_path / "m.jsonl").read_text().splitlines()
        expected = [{**row, "start": row["start"].isoformat()} for row in table.to_pylist()]
        assert [json.loads(line) for line in lines] == expected
        assert lines == [json.dumps(row, ensure_ascii=False) for row in expected]
        parsed = pyarrow.csv.read_csv(
            tmp_path / "m.csv", parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True)
        ).to_pylist()
        assert [json.loads(row["events"]) for row in parsed] == [row["events"] for row in expected]


def jsonl(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "events.jsonl"
    path.write_text(text, encoding="utf-8")
    return path


def test_csv_writes_lists_as_json(tmp_path: Path) -> None:
    table = pa.table(
        {
            "positions": [[1, 2], None],
            "event": [{"t": datetime(2026, 1, 1), "d": Decimal("1.5")}, {"t": None, "d": None}],
            "text": pa.array(["a,b", None], pa.string_view()),
        }
    )
    with Writer(tmp_path / "m.csv") as writer:
        writer.write(table)
    assert (tmp_path / "m.csv").read_text().splitlines() == [
        '"positions","event","text"',
        '"[1, 2]","{""t"": ""2026-01-01T00:00:00"", ""d"": 1.5}","a,b"',
        ',"{""t"": null, ""d"": null}",',
    ]


def test_json_lines_are_valid_json(tmp_path: Path) -> None:
    table = pa.table(
        {"a": [[1.5, float("nan")]], "b": [b"\x00"], "c": [timedelta(seconds=2)], "d": [date(2026, 1, 1)], "e": ["é"]}
    )
    with Writer(tmp_path / "m.jsonl") as writer:
        writer.write(table)
    assert json.loads((tmp_path / "m.jsonl").read_text()) == {
        "a": [1.5, None],
        "b": "AA==",
        "c": 2.0,
        "d": "2026-01-01",
        "e": "é",
    }


@pytest.mark.parametrize("name", ["m.parquet", "m.csv", "m.jsonl", "m.arrow"])
def test_a_failed_write_leaves_what_was_there(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("before")
    with pytest.raises(RuntimeError), Writer(tmp_path / name) as writer:
        writer.write(EVENTS)
        assert (tmp_path / name).read_text() == "before"
        raise RuntimeError
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(name, "before")]


@pytest.mark.parametrize("name", ["m.parquet", "m.csv", "m.jsonl", "m.arrow"])
def test_no_rows(tmp_path: Path, name: str) -> None:
    with Writer(tmp_path / name, EVENTS.schema):
        pass
    assert (tmp_path / name).exists()
    if name != "m.jsonl":
        assert open_events(tmp_path / name).schema.names == EVENTS.schema.names


def test_tables_of_another_schema_fail_whole(tmp_path: Path) -> None:
    with (
        pytest.raises(DataError, match="differ in the columns other"),
        Writer(tmp_path / "m.parquet", EVENTS.schema) as writer,
    ):
        writer.write(pa.table({"other": [1]}))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("m.xlsx", "cannot write a `.xlsx` file"),
        ("no/m.csv", "there is no such folder"),
        ("dir.csv", "this is a folder"),
    ],
)
def test_places_that_cannot_be_written(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "dir.csv").mkdir()
    with pytest.raises(DataError, match=message):
        Writer(tmp_path / name)
