"""Events from a pipe: every format, told by how it begins, whatever pieces it comes in."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pyarrow.ipc as ipc
import pytest

import ostinato as ost
from ostinato.files.live import LiveEvents, sniff_format

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


FORMS = {
    "jsonl": b'{"type": "A", "ts": 1}\n{"type": "B", "ts": 2}\n{"type": "A", "ts": 3}',
    "csv": b"type,ts\nA,1\nB,2\nA,3\n",
    "arrow": arrow(ipc.new_stream),
    "arrow file": arrow(ipc.new_file),
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


def test_parquet_does_not_come_piece_by_piece() -> None:
    assert sniff_format(b"PAR1...") == "parquet"
    with pytest.raises(ost.DataError, match="cannot be read as it comes"):
        LiveEvents(Pipe(b"PAR1...", 7), {}, "raise")


def test_nothing_at_all() -> None:
    assert list(LiveEvents(Pipe(b"", 7), {}, "raise")) == []
