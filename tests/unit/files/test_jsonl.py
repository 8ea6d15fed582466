"""JSON lines: types, times and bad lines."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from ostinato.errors import DataError
from ostinato.files import open_events, text
from support.event_files import Write, rows

BAD_JSON = '{"v": 1}\n{"v": \n\n{"v": "x"}\n[1]\n{"v": 2}'


def jsonl(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "events.jsonl"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.usefixtures("small_blocks")
def test_json_fields_that_come_late(write: Write) -> None:
    lines = [{"a": 1}, {"a": 2.5}, {"a": None, "b": {"x": 1}}, {}, {"b": {"y": [1]}, "c": "z"}]
    path = write("e.jsonl", "\n".join(json.dumps(line) for line in lines))
    reader = open_events(path)
    assert rows(reader) == [
        {"a": 1.0, "b": None, "c": None},
        {"a": 2.5, "b": None, "c": None},
        {"a": None, "b": {"x": 1, "y": None}, "c": None},
        {"a": None, "b": None, "c": None},
        {"a": None, "b": {"x": None, "y": [1]}, "c": "z"},
    ]


@pytest.mark.parametrize("block", [1 << 20, 32])
def test_json_times(write: Write, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(text, "BLOCK", block)
    times = ["2026-01-01T10:00:00", "2026-01-01 10:00:00.25", "2026-01-01T12:00:00.5+02:00", "2026-01-01T10:00:01Z"]
    path = write(
        "e.jsonl", "".join(f'{{"t": "{time}", "s": "{time}"}}\n' for time in times) + '{"t": null, "s": "soon"}\n'
    )
    reader = open_events(path)
    start = datetime(2026, 1, 1, 10, tzinfo=UTC)
    assert [row["t"] for row in rows(reader)] == [start + timedelta(seconds=s) for s in (0, 0.25, 0.5, 1)] + [None]
    assert [row["s"] for row in rows(reader)] == [*times, "soon"]


def test_json_times_keep_that_they_have_a_zone(write: Write) -> None:
    whole, part = ("2026-01-01T10:00:00", "2026-01-01T10:00:00.5")
    for shown, zone in (("", None), ("Z", "UTC"), ("+02:00", "UTC")):
        path = write("e.jsonl", f'{{"whole": "{whole}{shown}", "part": "{part}{shown}", "n": "Z"}}\n')
        schema = open_events(path).schema
        assert schema.field("whole").type == pa.timestamp("s", zone)
        assert schema.field("part").type == pa.timestamp("us", zone)


@pytest.mark.parametrize("block", [1 << 20, 12])
def test_bad_json_lines(write: Write, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(text, "BLOCK", block)
    path = write("e.jsonl", BAD_JSON)
    with pytest.raises(DataError, match=r'e\.jsonl, line 2: .*\{"v":'):
        rows(open_events(path))
    reader = open_events(path, on_error="collect")
    assert rows(reader) == [{"v": 1}, {"v": 2}]
    assert [(bad.line, bad.text) for bad in reader.bad_rows] == [(2, '{"v": '), (4, '{"v": "x"}'), (5, "[1]")]


def test_truncated_last_json_line(write: Write) -> None:
    with pytest.raises(DataError, match=r"e\.jsonl, line 2"):
        rows(open_events(write("e.jsonl", '{"v": 1}\n{"v": 2')))


def test_json_column_that_must_be_a_number(write: Write) -> None:
    path = write("e.jsonl", '{"v": "?"}\n{"v": 2}\n')
    reader = open_events(path, kinds={"v": "number"}, on_error="skip")
    assert rows(reader) == [{"v": 2.0}]
    assert reader.bad_count == 1


def test_json_without_one_readable_line(write: Write) -> None:
    with pytest.raises(DataError, match="line 1"):
        open_events(write("e.jsonl", "not json\nat all\n"))


def test_json_array_is_explained(write: Write) -> None:
    with pytest.raises(DataError, match=r"one JSON array\n.*one JSON object per line"):
        open_events(write("e.json", ' [{"v": 1}]'))


@pytest.mark.parametrize("line", ["null", ' "x"', "3", "[1]", '\ufeff{"type":"B"}', 'null {"type":"B"}', '"type":"B"}'])
def test_lines_without_an_object_are_bad_rows(tmp_path: Path, line: str) -> None:
    path = jsonl(tmp_path, f'{{"type":"A"}}\n{line}\n{{"type":"B"}}\n')
    with pytest.raises(DataError, match="line 2"):
        list(open_events(path))
    reader = open_events(path, on_error="collect")
    assert [row["type"] for table in reader for row in table.to_pylist()] == ["A", "B"]
    assert [bad.line for bad in reader.bad_rows] == [2]


@pytest.mark.parametrize("text", ["null\n", '{"type":"A"\n', "null\nnull\n3"])
def test_a_file_of_bad_rows_only_can_be_skipped(tmp_path: Path, text: str) -> None:
    with pytest.raises(DataError, match="line 1"):
        open_events(jsonl(tmp_path, text))
    assert sum(map(len, open_events(jsonl(tmp_path, text), on_error="skip"))) == 0


def test_a_byte_order_mark_may_begin_the_file(tmp_path: Path) -> None:
    assert sum(map(len, open_events(jsonl(tmp_path, '\ufeff{"type":"A"}\n{"type":"B"}\n')))) == 2
