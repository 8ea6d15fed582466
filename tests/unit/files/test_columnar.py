"""Parquet and Arrow files that hold what they should not."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest

from ostinato.errors import DataError
from ostinato.files import open_events


@pytest.mark.parametrize("name", ["e.parquet", "e.arrow"])
def test_text_that_is_not_utf8(tmp_path: Path, name: str) -> None:
    text = pa.array([b"good", b"b\xe4d"], pa.binary()).view(pa.string())
    table = pa.table({"type": text, "v": [1, 2]})
    if name == "e.parquet":
        pq.write_table(table, tmp_path / name)
    else:
        with ipc.new_file(str(tmp_path / name), table.schema) as sink:
            sink.write_table(table)
    with pytest.raises(DataError, match=f"{name}.*UTF8"):
        list(open_events(tmp_path / name))
    assert [batch["v"].to_pylist() for batch in open_events(tmp_path / name, columns=["v"])] == [[1, 2]]
