"""What a task does with a batch of documents, without Spark around it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ostinato.errors import DataError
from ostinato.files.reader import OnError
from ostinato.spark.xseq.task import XSeqTask, local_path

COLUMNS = pa.schema([("node", pa.string())])


def answers(documents: list[str | None], *, files: bool = False, on_error: OnError = "collect") -> list[dict[str, Any]]:
    task = XSeqTask("//b/@n", "all", None, COLUMNS, files, None, on_error, {})
    batch = pa.record_batch([pa.array(documents, pa.string()), pa.array(range(len(documents)))], names=["c0", "c1"])
    return [row for found in task([batch]) for row in found.to_pylist()]


def test_rows_errors_and_rows_without_a_document() -> None:
    found = answers(["<a><b n='1'/><b n='2'/></a>", "<a>", None, '{"b": [{"n": 3}]}'])
    assert [(row["c0"], row["c1"]) for row in found if row["c2"] is None] == [(0, "1"), (0, "2"), (3, "3")]
    assert [row["c0"] for row in found if row["c2"] is not None] == [1]
    assert [row["c0"] for row in answers(["<a>", "<b n='1'/>"], on_error="skip")] == [1]
    with pytest.raises(DataError, match="`<a>` is not closed"):
        answers(["<a>"], on_error="raise")


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "a b.xml"
    path.write_text("<b n='1'/>")
    found = answers([str(path), path.as_uri(), str(tmp_path), "s3a://bucket/a.xml"], files=True)
    assert sorted((row["c0"], row["c1"]) for row in found) == [(0, "1"), (1, "1"), (2, None), (3, None)]
    assert "Is a directory" in found[-2]["c2"] and "`s3a:` is not a file system" in found[-1]["c2"]
    assert local_path("/plain") == "/plain"
