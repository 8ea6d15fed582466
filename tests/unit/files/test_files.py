"""Files in and out: every format, bad input with its place, nothing half-written."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest

from ostinato.errors import DataError
from ostinato.files import EventReader, Writer, open_events, text

EVENTS = pa.table(
    {
        "ts": pa.array([datetime(2026, 1, 1, 10, 0, second) for second in range(5)], pa.timestamp("us")),
        "type": ["T", "H", "T", "", None],
        "value": [1.5, None, 3.0, -2.25, 0.0],
        "id": [1, 2, 3, 4, 5],
    }
)


def rows(reader: EventReader) -> list[dict[str, Any]]:
    return [row for table in reader for row in table.to_pylist()]


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


Write = Callable[[str, str | bytes], Path]


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Text files in blocks of a line or two."""
    monkeypatch.setattr(text, "BLOCK", 32)


# -- there and back


@pytest.mark.parametrize(
    "name", ["e.parquet", "e.csv", "e.jsonl", "e.ndjson", "e.json", "e.arrow", "e.feather", "e.ipc", "E.PARQUET"]
)
def test_written_events_are_read_back(tmp_path: Path, name: str) -> None:
    with Writer(tmp_path / name) as writer:
        writer.write(EVENTS.slice(0, 2))
        writer.write(EVENTS.slice(2))
    assert writer.rows == 5
    reader = open_events(tmp_path / name)
    assert [{**row, "ts": row["ts"].replace(tzinfo=None)} for row in rows(reader)] == EVENTS.to_pylist()
    assert reader.bytes_read == reader.bytes_total == (tmp_path / name).stat().st_size
    assert reader.rows_read == 5
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["e.parquet", "e.csv", "e.jsonl", "e.arrow"])
def test_columns_and_batches(tmp_path: Path, name: str) -> None:
    with Writer(tmp_path / name) as writer:
        writer.write(EVENTS)
    reader = open_events([tmp_path / name], columns=["id", "type", "nowhere"], batch_rows=2)
    tables = list(reader)
    assert reader.schema.names == ["id", "type"]
    assert [table.num_rows for table in tables] == [2, 2, 1]
    assert pa.concat_tables(tables).to_pydict() == EVENTS.select(["id", "type"]).to_pydict()
    assert rows(reader) == EVENTS.select(["id", "type"]).to_pylist()  # a reader can be read again


def test_arrow_stream_format(tmp_path: Path) -> None:
    with ipc.new_stream(str(tmp_path / "e.arrow"), EVENTS.schema) as sink:
        sink.write_table(EVENTS, max_chunksize=2)
    reader = open_events(tmp_path / "e.arrow")
    assert rows(reader) == EVENTS.to_pylist()


def test_dictionary_columns_stay_coded(tmp_path: Path) -> None:
    coded = pa.table({"type": pa.array(["A", "B", "A"]).dictionary_encode()})
    for name in ("e.parquet", "e.arrow"):
        with Writer(tmp_path / name) as writer:
            writer.write(coded)
        assert pa.types.is_dictionary(open_events(tmp_path / name).schema.field("type").type)


# -- CSV


def test_csv_types(write: Write) -> None:
    path = write(
        "e.csv",
        "when,day,zoned,n,x,flag,word,none\n"
        "2026-01-01 10:00:00,2026-01-01,2026-01-01T10:00:00.5Z,1,1.5,true,NA,\n"
        '2026-01-01 10:00:01,2026-01-02,2026-01-01T12:00:00+02:00,,nan,false,"",\n'
        "N/A,,,3,NULL,,,\n",
    )
    table = pa.concat_tables(list(open_events(path)))
    assert table.to_pydict()["word"] == ["NA", "", None]
    assert table["n"].to_pylist() == [1, None, 3]
    assert table["flag"].to_pylist() == [True, False, None]
    assert table["x"].to_pylist()[0] == 1.5 and table["x"].to_pylist()[2] is None
    assert table["when"].to_pylist() == [datetime(2026, 1, 1, 10), datetime(2026, 1, 1, 10, 0, 1), None]
    assert table["day"].to_pylist() == [date(2026, 1, 1), date(2026, 1, 2), None]
    assert table["zoned"].cast(pa.timestamp("ms", "UTC")).to_pylist()[:2] == [
        datetime(2026, 1, 1, 10, 0, 0, 500_000, tzinfo=UTC),
        datetime(2026, 1, 1, 10, tzinfo=UTC),
    ]
    assert table["none"].null_count == 3


@pytest.mark.parametrize(
    ("early", "late", "expected"),
    [
        ("1", "2.5", [1.0] * 9 + [2.5]),
        ("", "7", [None] * 9 + [7]),
        ("1", "x", ["1"] * 9 + ["x"]),
        ("2026-01-01", "2026-01-02 10:00:00", [datetime(2026, 1, 1)] * 9 + [datetime(2026, 1, 2, 10)]),
        ("true", "1.5", ["true"] * 9 + ["1.5"]),
        ("10:00:00", "x", ["10:00:00"] * 9 + ["x"]),
    ],
)
@pytest.mark.usefixtures("small_blocks")
def test_csv_types_fit_the_whole_file(write: Write, early: str, late: str, expected: list[Any]) -> None:
    path = write("e.csv", "a,b\n" + f"{early},k\n" * 9 + f"{late},k\n")
    reader = open_events(path)
    assert [row["a"] for row in rows(reader)] == expected
    assert len({table.schema for table in reader}) == 1


@pytest.mark.usefixtures("small_blocks")
def test_csv_values_with_line_breaks(write: Write) -> None:
    values = [f'line {n}\nbreak, "quoted" {"x" * n}' for n in range(20)]
    lines = ['"' + value.replace('"', '""') + '"' for value in values]
    path = write("e.csv", "a,b\n" + "".join(f"{line},{n}\n" for n, line in enumerate(lines)))
    assert [(row["a"], row["b"]) for row in rows(open_events(path))] == [(value, n) for n, value in enumerate(values)]


def test_long_rows(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    long = "x" * 3_000_000
    assert rows(open_events(write("e.csv", f"a,b\n1,{long}\n2,y\n"))) == [{"a": 1, "b": long}, {"a": 2, "b": "y"}]
    assert rows(open_events(write("e.jsonl", f'{{"a": "{long}"}}\n{{"a": "y"}}\n'))) == [{"a": long}, {"a": "y"}]
    monkeypatch.setattr(text, "BLOCK", 1000)
    monkeypatch.setattr(text, "LONGEST_ROW", 10_000)
    for name in ("e.csv", "e.jsonl"):
        with pytest.raises(DataError, match=f"{name}: line .* does not end within"):
            open_events(write(name, "a" * 20_000))


def test_quotes_that_do_not_pair_up(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "BLOCK", 100)
    monkeypatch.setattr(text, "LONGEST_ROW", 300)
    path = write("e.csv", "a,b\n" + "".join(f'{n},5" disk\n' if n == 3 else f"{n},x\n" for n in range(200)))
    assert [row["a"] for row in rows(open_events(path))] == list(range(200))


def test_csv_separators_and_byte_order_mark(write: Write) -> None:
    assert rows(open_events(write("e.csv", "\ufeffa;b\n1;2,5\n"))) == [{"a": 1, "b": "2,5"}]
    assert rows(open_events(write("e.csv", "a\tb\r\n1\t2\r\n"))) == [{"a": 1, "b": 2}]


def test_csv_without_rows(write: Write) -> None:
    for content in ("a,b", "a,b\n", "a,b\n\n\n"):
        reader = open_events(write("e.csv", content))
        assert (reader.schema.names, rows(reader)) == (["a", "b"], [])


BAD_CSV = "a,b\n1,x\n2\n\n3,y,z\n4,w\n"


def test_bad_csv_row_is_named(write: Write) -> None:
    with pytest.raises(DataError, match=r"e\.csv, line 3: expected 2 values, got 1: 2\nfix: .*on_error='skip'"):
        rows(open_events(write("e.csv", BAD_CSV)))


@pytest.mark.parametrize("on_error", ["skip", "collect"])
@pytest.mark.parametrize("block", [1 << 20, 12])
def test_bad_csv_rows_are_left_out(write: Write, monkeypatch: pytest.MonkeyPatch, on_error: Any, block: int) -> None:
    monkeypatch.setattr(text, "BLOCK", block)
    reader = open_events(write("e.csv", BAD_CSV), on_error=on_error)
    assert rows(reader) == [{"a": 1, "b": "x"}, {"a": 4, "b": "w"}]
    assert reader.bad_count == 2
    assert [(bad.line, bad.text, bad.reason) for bad in reader.bad_rows] == [
        (3, "2", "expected 2 values, got 1"),
        (5, "3,y,z", "expected 2 values, got 3"),
    ]


def test_bad_values_in_columns_that_must_be_numbers(write: Write) -> None:
    path = write("e.csv", "a,b,t\n 1,x,10:00\n?,y,10:01\n3,z\n2.5,w,10:02\n")
    assert open_events(path).schema.field("a").type == pa.string()
    with pytest.raises(DataError, match=r"line 3: `a` is '\?', not a number: \?,y,10:01"):
        rows(open_events(path, kinds={"a": "number"}))
    reader = open_events(path, kinds={"a": "number", "b": "string"}, on_error="collect")
    assert [row["a"] for row in rows(reader)] == [1.0, 2.5]
    assert [(bad.line, bad.text) for bad in reader.bad_rows] == [(3, "?,y,10:01"), (4, "3,z")]


def test_skipping_remembers_only_the_first_bad_rows(write: Write) -> None:
    reader = open_events(write("e.csv", "a,b\n" + "1\n" * 500 + "1,2\n"), on_error="skip")
    assert (rows(reader), reader.bad_count, len(reader.bad_rows)) == ([{"a": 1, "b": 2}], 500, 100)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a,a\n1,2\n", "two columns are named `a`"),
        (b"\n\n1,2\n", "no header line"),
        (b"a,b\n1,\xff\xfe\n", "not UTF-8"),
    ],
)
def test_unreadable_csv(write: Write, content: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        rows(open_events(write("e.csv", content)))


def test_compressed_text(write: Write) -> None:
    content = b"a,b\n" + b"1,2\n" * 1000
    reader = open_events(write("e.csv.gz", gzip.compress(content)))
    assert len(rows(reader)) == 1000
    assert reader.bytes_read == reader.bytes_total
    with pytest.raises(DataError, match=r"cut\.csv\.gz: cannot be read"):
        rows(open_events(write("cut.csv.gz", gzip.compress(content)[:30])))
    assert rows(open_events(write("e.jsonl.gz", gzip.compress(b'{"a": 1}\n')))) == [{"a": 1}]


# -- JSON lines


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


BAD_JSON = '{"v": 1}\n{"v": \n\n{"v": "x"}\n[1]\n{"v": 2}'


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


# -- which files


def test_folders_and_globs(write: Write, tmp_path: Path) -> None:
    write("in/b.csv", "v,w\n2,x\n")
    write("in/a.csv", "v\n1\n")
    write("in/deep/c.jsonl", '{"v": 3.5}\n')
    write("in/_SUCCESS", "")
    write("in/.hidden.csv", "v\n9\n")
    write("in/notes.txt", "v\n9\n")
    assert rows(open_events(tmp_path / "in")) == [{"v": 1.0, "w": None}, {"v": 2.0, "w": "x"}, {"v": 3.5, "w": None}]
    assert [row["v"] for row in rows(open_events(str(tmp_path / "in" / "*.csv")))] == [1, 2]
    assert [row["v"] for row in rows(open_events([tmp_path / "in/b.csv", tmp_path / "in/a.csv"]))] == [2, 1]


def test_files_that_do_not_fit_together(write: Write) -> None:
    with pytest.raises(DataError, match=r"b\.csv: its columns do not fit"):
        open_events([write("a.csv", "v\n1\n"), write("b.csv", "v\nx\n")])


def test_dictionary_and_plain_columns_fit_together(tmp_path: Path) -> None:
    pq.write_table(pa.table({"t": pa.array(["A"]).dictionary_encode()}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"t": ["B"]}), tmp_path / "b.parquet")
    assert rows(open_events(tmp_path)) == [{"t": "A"}, {"t": "B"}]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("e.parquet", b"PAR1 this is no parquet file", "e.parquet: not a readable Parquet file"),
        ("e.arrow", b"nonsense, and more of it", "e.arrow: not a readable Arrow file"),
        ("e.txt", b"x", r"unknown kind of file: `.txt`\n.*\.parquet"),
        ("e.parquet", b"", "e.parquet: the file is empty"),
    ],
)
def test_unreadable_files(write: Write, name: str, content: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        rows(open_events(write(name, content)))


def test_missing_files(write: Write, tmp_path: Path) -> None:
    write("events.parquet", b"x")
    (tmp_path / "empty").mkdir()
    for path, message in (
        (tmp_path / "event.parquet", "no such file\n.*did you mean `events.parquet`"),
        (tmp_path / "*.csv", "no file matches"),
        (tmp_path / "empty", "the folder has no event files"),
        (tmp_path / "no" / "x.csv", "no such file\n.*check the path"),
    ):
        with pytest.raises(DataError, match=message):
            open_events(path)
    with pytest.raises(DataError, match="no input files"):
        open_events([])


@pytest.mark.parametrize("name", ["e.parquet", "e.arrow", "e.feather"])
def test_damage_in_the_middle_of_a_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with Writer(path) as writer:
        writer.write(pa.table({"v": [str(n) * 7 for n in range(50_000)]}))
    content = bytearray(path.read_bytes())
    middle = len(content) // 3
    content[middle : middle + 20_000] = b"\xff" * 20_000
    path.write_bytes(bytes(content))
    with pytest.raises(DataError, match=f"{name}.*not a readable"):
        rows(open_events(path))


# -- the writer


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
    with pytest.raises(ValueError), Writer(tmp_path / "m.parquet", EVENTS.schema) as writer:
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
