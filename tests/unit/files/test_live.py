"""Events from a pipe: every format, told by how it begins, whatever pieces it comes in."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest

from ostinato.errors import DataError
from ostinato.files.live import LiveEvents

TABLE = pa.table({"type": ["A", "B", "A"], "ts": [1, 2, 3]})


class Pipe(io.RawIOBase):
    """Gives a few bytes at a time."""

    def __init__(self, data: bytes, size: int) -> None:
        self.data, self.size = data, size

    def read1(self, size: int = -1) -> bytes:
        return self.read(self.size if size < 0 else min(size, self.size))

    def read(self, size: int = -1) -> bytes:
        size = len(self.data) if size < 0 else size
        found, self.data = self.data[:size], self.data[size:]
        return found


def arrow(kind: Any) -> bytes:
    sink = io.BytesIO()
    with kind(sink, TABLE.schema) as writer:
        writer.write_table(TABLE)
    return sink.getvalue()


def parquet() -> bytes:
    sink = io.BytesIO()
    pq.write_table(TABLE, sink)
    return sink.getvalue()


FORMS = {
    "jsonl": b'{"type": "A", "ts": 1}\n{"type": "B", "ts": 2}\n{"type": "A", "ts": 3}',
    "csv": b"type,ts\nA,1\nB,2\nA,3\n",
    "arrow": arrow(ipc.new_stream),
    "arrow file": arrow(ipc.new_file),
    "parquet": parquet(),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", [8, 30, 10**6])
def test_any_format_in_any_pieces(form: str, size: int) -> None:
    reader = LiveEvents(Pipe(FORMS[form], size), {}, "raise")
    assert pa.concat_tables(list(reader)).to_pylist() == TABLE.to_pylist()
    assert (reader.form, reader.rows_read) == (form.split()[0], 3)


def test_bad_lines_are_collected() -> None:
    reader = LiveEvents(Pipe(b'{"type": "A"}\nrubbish\n{"type": "B"}\n', 14), {}, "collect")
    assert [row["type"] for table in reader for row in table.to_pylist()] == ["A", "B"]
    assert reader.bad_count == len(reader.bad_rows) == 1
    assert [(bad.file, bad.line) for bad in reader.bad_rows] == [("standard input", 2)]


@pytest.mark.parametrize("size", [15, 10**6])
@pytest.mark.parametrize("data", [b'{"a": 12345}\n{"a": 12345}\n{bad\n', b'a,b\n123456789,12345\n"12345\n'])
def test_an_error_names_the_line_of_the_stream(data: bytes, size: int) -> None:
    with pytest.raises(DataError, match=r"^standard input, line 3: "):
        list(LiveEvents(Pipe(data, size), {}, "raise"))


def test_columns_of_earlier_rows_stay() -> None:
    reader = LiveEvents(Pipe(b'{"type": "A"}\n{"type": "B", "v": 2}\n{"type": "C"}\n', 22), {}, "raise")
    assert [row for table in reader for row in table.to_pylist()][-1] == {"type": "C", "v": None}


def test_nothing_at_all() -> None:
    assert list(LiveEvents(Pipe(b"", 7), {}, "raise")) == []
