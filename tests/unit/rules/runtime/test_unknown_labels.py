"""Labels that no event has."""

from __future__ import annotations

import pyarrow as pa

from ostinato.rules.runtime.ingest import IncomingColumns
from ostinato.rules.runtime.unknown_labels import read_labels, unknown_label_warnings


def test_warnings_name_the_likely_label() -> None:
    assert unknown_label_warnings(["smok", "temp"], ["smoke", "temp"]) == [
        "no event has the label `smok`; did you mean `smoke`?"
    ]
    assert unknown_label_warnings(["smoke"], []) == ["no event has the label `smoke`"]
    assert unknown_label_warnings(["smoke"], None) == []


def test_documents_have_labels_of_their_own() -> None:
    rows = pa.table({"ts": [1, 2, 3], "type": ["a", None, "a"], "body": ["", "", ""]})
    assert read_labels(rows, IncomingColumns.resolve(rows.schema, labels=["a"])) == {"a"}
    assert read_labels(rows, IncomingColumns.resolve(rows.schema, labels=["a"], document="body")) is None
    bare = rows.drop_columns(["type"])
    assert read_labels(bare, IncomingColumns.resolve(bare.schema, labels=["b"])) == {"b"}
