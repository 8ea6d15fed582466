"""Files of every format as one stream of tables, and files that cannot be read."""

from __future__ import annotations

import gzip
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest

from ostinato.errors import DataError
from ostinato.files import Writer, open_events
from support.event_files import EVENTS, Write, rows


def jsonl(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "events.jsonl"
    path.write_text(text, encoding="utf-8")
    return path


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


def test_compressed_text(write: Write) -> None:
    content = b"a,b\n" + b"1,2\n" * 1000
    reader = open_events(write("e.csv.gz", gzip.compress(content)))
    assert len(rows(reader)) == 1000
    assert reader.bytes_read == reader.bytes_total
    with pytest.raises(DataError, match=r"cut\.csv\.gz: cannot be read"):
        rows(open_events(write("cut.csv.gz", gzip.compress(content)[:30])))
    assert rows(open_events(write("e.jsonl.gz", gzip.compress(b'{"a": 1}\n')))) == [{"a": 1}]


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


@pytest.mark.parametrize("name", ["events.csv", "events.jsonl"])
def test_whole_numbers_beyond_64_bits_stay_apart(tmp_path: Path, name: str) -> None:
    large = [10**19 + 1, 10**19 + 2, 5]
    lines = ["type,id", *(f"A,{n}" for n in large)] if name.endswith("csv") else [f'{{"id":{n}}}' for n in large]
    path = tmp_path / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    (table,) = open_events(path)
    assert table["id"].to_pylist() == [Decimal(number) for number in large]
    assert table.schema.field("id").type == pa.decimal128(38, 0)


def test_large_numbers_with_fractions_are_floats(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    path.write_text("v\n10000000000000000001\n0.5\n", encoding="utf-8")
    assert open_events(path).schema.field("v").type == pa.float64()


@pytest.mark.parametrize("name", ["events.csv", "events.jsonl"])
def test_utf_16_is_told(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("type,v\nA,1\n", encoding="utf-16")
    with pytest.raises(DataError, match="UTF-16"):
        open_events(path)


@pytest.mark.parametrize(
    ("name", "fix"),
    [("nofile.jsonl", "check the path"), ("e.jsnl", "did you mean `e.jsonl`?"), ("f", "check the path")],
)
def test_a_file_is_offered_where_its_name_is_close(tmp_path: Path, name: str, fix: str) -> None:
    for each in ("e.jsonl", "e.csv", "other.csv"):
        (tmp_path / each).touch()
    with pytest.raises(DataError, match="there is no such file") as caught:
        open_events(tmp_path / name)
    assert caught.value.fix == fix
