"""Rows that are no events are told apart from those that are, each with its reason."""

from __future__ import annotations

import pyarrow as pa

from ostinato.rules.runtime.ingest import IncomingColumns
from ostinato.rules.runtime.unusable_rows import split_unusable


def test_faulty_rows_are_left_out_with_their_numbers() -> None:
    rows = pa.table({"begin": [1, 5, None, 4, 9], "end": [2, 3, 4, 5, 8], "type": ["a"] * 5})
    columns = IncomingColumns.resolve(rows.schema, labels=["a"])
    good, faults = split_unusable(columns, rows)
    assert good["begin"].to_pylist() == [1, 4]
    assert [row for row, _ in faults] == [1, 2, 4]
    assert "`begin` is 5, `end` 3" in faults[0][1] and "NULL" in faults[1][1]


def test_bad_documents_are_left_out() -> None:
    rows = pa.table({"ts": [1, 2], "type": ["a", "a"], "body": ["{}", "{"]})
    columns = IncomingColumns.resolve(rows.schema, labels=["a"], document="body")
    good, faults = split_unusable(columns, rows)
    assert good["ts"].to_pylist() == [1] and [row for row, _ in faults] == [1]
