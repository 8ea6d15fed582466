"""Rows as events, and events whose terms SQL cannot match."""

from __future__ import annotations

import pyarrow as pa
import pytest

from ostinato.errors import DataError
from ostinato.rules.runtime.ingest import LABEL, IncomingColumns, tag, untag
from ostinato.rules.terms.data import DataTerm

ROWS = pa.table({"ts": [1, 2], "type": ["a", "b"], "v": pa.array(["x", "y"]).dictionary_encode()})


def test_rows_are_read_in_numbered_columns() -> None:
    columns = IncomingColumns.resolve(ROWS.schema, labels=["a", "b"])
    read = columns.read(ROWS)
    assert read.column_names == [LABEL, "begin", "end", "c0"]
    assert read["c0"].to_pylist() == ["x", "y"]
    assert columns.attributes.types == {"v": pa.string()}


def test_a_single_label_needs_no_column() -> None:
    rows = ROWS.drop_columns(["type"])
    assert IncomingColumns.resolve(rows.schema, labels=["a"]).read(rows)[LABEL].to_pylist() == ["a", "a"]
    with pytest.raises(DataError, match="the rules use the event types a, b, but there is no column `type`"):
        IncomingColumns.resolve(rows.schema, labels=["a", "b"])


def test_documents_say_their_label_themselves_in_xml() -> None:
    rows = pa.table({"ts": [1, 2], "type": ["a", None], "body": ['{"k": 1}', "<b><k>2</k></b>"]})
    columns = IncomingColumns.resolve(rows.schema, labels=["a", "b"], document="body")
    read = columns.read(rows)
    assert read[LABEL].to_pylist() == ["a", "b"]
    assert read["c0"].to_pylist() == ['{"a":[{"k":[1]}]}', '{"b":[{"k":[2]}]}']
    with pytest.raises(DataError, match="does not say what kind of event it is") as error:
        columns.read(pa.table({"ts": [1], "type": pa.array([None], pa.string()), "body": ["{}"]}), first_row=7)
    assert error.value.row == 7


@pytest.mark.parametrize("value", ["text", 'a "quoted" one', 3, 2.5, True, DataTerm("a", (1,))])
def test_values_of_any_type_as_text_and_back(value: object) -> None:
    assert untag(tag(value)) == value  # type: ignore[arg-type]
