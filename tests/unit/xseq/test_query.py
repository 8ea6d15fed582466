"""`ostinato.xseq(text)`: where documents come from, what its verbs give, its options, and what is said of mistakes."""

from __future__ import annotations

import io
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import ostinato
from ostinato.errors import DataError, LimitError, QueryError

XML = "<shop><sale id='1' price='5'/><sale id='2' price='4'/><sale id='3' price='6'/></shop>"
ROWS = [{"id": 1, "price": 5}, {"id": 2, "price": 4}, {"id": 3, "price": 6}]
JSON = json.dumps({"sale": ROWS})
LINES = "".join(json.dumps(row) + "\n" for row in ROWS)
IDS = "return $X@id as id from //$X[@price > 4]"
CHEAPER = r"return $X@id as id, $Y@id as next from //$X \$Y where $Y@price < $X@price"


def ids(source: Any, query: str = IDS, **options: Any) -> list[str]:
    return ostinato.xseq(query).detect(source, **options)["id"].to_pylist()


def test_every_source_of_a_document(tmp_path: Path) -> None:
    path = tmp_path / "shop.xml"
    path.write_text(XML, encoding="utf-8")
    with path.open("rb") as file:
        assert ids(file) == ["1", "3"]
    raw = XML.encode()
    array = np.frombuffer(raw, np.uint8)
    for source in (path, str(path), raw, bytearray(raw), memoryview(raw), array, XML, io.BytesIO(raw)):
        assert ids(source) == ["1", "3"]


def test_json_and_json_lines(tmp_path: Path) -> None:
    assert ids(JSON) == ids(JSON.encode()) == ids(JSON, format="json") == ["1", "3"]
    assert ids(LINES) == ids(io.BytesIO(LINES.encode()), format="jsonl") == ["1", "3"]
    assert ids(json.dumps(ROWS)) == ["1", "3"]
    (tmp_path / "shop.ndjson").write_text(LINES, encoding="utf-8")
    named = "return $X@id as id from /shop/$X where tag($X) = 'sale'"
    assert ids(tmp_path / "shop.ndjson", named, root="shop", record="sale") == ["1", "2", "3"]
    assert ids(LINES + "{\n", on_error="skip") == ["1", "3"]
    with pytest.raises(DataError, match="line 4"):
        ids(LINES + "{\n")


@pytest.mark.parametrize("chunk_size", [1, 7, 64, None])
def test_how_a_document_is_cut_changes_nothing(chunk_size: int | None) -> None:
    assert ids(XML, chunk_size=chunk_size) == ["1", "3"]
    assert ids(JSON, chunk_size=chunk_size) == ["1", "3"]
    assert ids(LINES, chunk_size=chunk_size) == ["1", "3"]


def test_columns_of_documents() -> None:
    texts = [XML, None, "<shop/>", XML]
    for column in (pa.array(texts), pa.chunked_array([texts[:1], texts[1:]]), pa.array(texts, pa.large_string())):
        found = ostinato.xseq(IDS).detect(column)
        assert found.column_names == ["row", "id"]
        assert found.to_pylist() == [{"row": row, "id": each} for row in (0, 3) for each in ("1", "3")]
    structs = pa.array([{"sale": ROWS}, {"sale": ROWS[1:2]}])
    assert ostinato.xseq(IDS).detect(structs)["row"].to_pylist() == [0, 0]
    assert ostinato.xseq(IDS).detect(pa.array([None], pa.string())).to_pylist() == []


def test_a_bad_document_spoils_only_its_own_row() -> None:
    column = pa.array([XML, "<shop><sale", XML])
    query = ostinato.xseq(IDS)
    with pytest.raises(DataError, match="row 1: line 1"):
        query.detect(column)
    assert query.detect(column, on_error="skip")["row"].to_pylist() == [0, 0, 2, 2]
    found = query.detect(column, on_error="collect")
    assert found["row"].to_pylist() == [0, 0, 1, 2, 2]
    assert [bool(error) for error in found["error"].to_pylist()] == [False, False, True, False, False]


def test_verbs() -> None:
    query = ostinato.xseq(CHEAPER)
    assert query.columns == ["id", "next"] and query.warnings == []
    assert query.count(XML) == 1 and query.recognises(XML) and not query.recognises("<shop/>")
    assert (
        pa.concat_tables(query.batches(XML)).to_pylist() == query.detect(XML).to_pylist() == [{"id": "1", "next": "2"}]
    )
    assert "one pass" in query.explain() and query.diagram().svg().startswith("<svg")
    assert repr(query) == f"ostinato.xseq({CHEAPER!r})"
    assert query.detect("<shop/>").schema == pa.schema([("id", pa.string()), ("next", pa.string())])


def test_recognition_with_axes_that_lead_back() -> None:
    query = ostinato.xseq("//sale[@id = '3']/preceding_sibling::sale/parent::shop")
    assert query.recognises(XML) and not query.recognises("<shop><sale id='3'/></shop>")


def test_types_and_names_of_columns() -> None:
    query = r"return $X@id, $X@price * 2 as twice, count($Y), sum($Y@price) from //$X (\$Y)*"
    schema = ostinato.xseq(query).detect(XML).schema
    assert schema.names == ["$X@id", "twice", "count($Y)", "sum($Y@price)"]
    assert schema.types == [pa.string(), pa.float64(), pa.int64(), pa.float64()]
    assert ostinato.xseq("//sale/@id").columns == ["node"]


def test_rows_are_in_document_order_of_their_last_nodes() -> None:
    query = "return $X@id as id, $Y@id as later from //$X $Y"
    rows = ostinato.xseq(query).detect(XML).to_pylist()
    assert [(row["id"], row["later"]) for row in rows] == [("1", "2"), ("1", "3"), ("2", "3")]
    nested = "<a><b n='1'><b n='2'/></b><b n='3'/></a>"
    assert [node[6] for node in ostinato.xseq("//b").detect(nested)["node"].to_pylist()] == ["1", "2", "3"]


def test_longest_matches() -> None:
    rising = r"return $X@id as id, last($Y)@id as last from //$X \$Y (\$Y)* where $Y@price > 0"
    assert len(ostinato.xseq(rising).detect(XML)) == 3
    longest = ostinato.xseq(rising, matches="longest").detect(XML).to_pylist()
    assert longest == [{"id": "1", "last": "3"}, {"id": "2", "last": "3"}]


def test_namespaces_and_encodings() -> None:
    document = '<a:shop xmlns:a="http://x.org/a"><a:sale id="1"/></a:shop>'
    query = "return tag($X) as id from //$X where $X@id = 1"
    assert ids(document, query) == ["a:sale"]
    assert ids(document, query, namespaces={"s": "http://x.org/a"}) == ["s:sale"]
    assert ids("<a b='é' id='1'/>".encode("latin-1"), "return $X@b as id from //$X", encoding="latin-1") == ["é"]
    assert ids(
        "<?xml version='1.0' encoding='utf-16'?><a id='1'/>".encode("utf-16"), "return $X@id as id from //$X"
    ) == ["1"]


def test_schemas(tmp_path: Path) -> None:
    sample, dtd = tmp_path / "shop.xml", tmp_path / "shop.dtd"
    sample.write_text(XML, encoding="utf-8")
    dtd.write_text(
        "<!ELEMENT shop (sale*)><!ELEMENT sale EMPTY><!ATTLIST sale id CDATA #REQUIRED price CDATA #REQUIRED>",
        encoding="utf-8",
    )
    for schema in (sample, str(dtd)):
        query = ostinato.xseq(IDS, schema=schema)
        assert query.detect(XML)["id"].to_pylist() == ["1", "3"]
        with pytest.raises(DataError):
            query.detect("<store/>")
    assert ostinato.xseq("//cart/@id", schema=dtd).warnings


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"format": "yaml"}, "format"),
        ({"limits": 3}, "limits"),
        ({"namespaces": {"p": ""}}, "stands for no namespace"),
        ({"encoding": "klingon"}, "klingon"),
    ],
)
def test_wrong_options(options: dict[str, Any], expected: str) -> None:
    with pytest.raises(ostinato.OstinatoError, match=expected):
        ids(XML, **options)


def test_wrong_arguments(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match="a query is text"):
        ostinato.xseq(3)  # type: ignore[arg-type]
    with pytest.raises(QueryError, match="matches"):
        ostinato.xseq("//a", matches="some")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="no such file"):
        ostinato.xseq("//a", schema=tmp_path / "none.dtd")
    with pytest.raises(ostinato.OstinatoError, match="schema"):
        ostinato.xseq("//a", schema={"a": "b"})  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"none\.xml"):
        ids(tmp_path / "none.xml")
    with pytest.raises(DataError, match="cannot be read from int"):
        ids(3)
    with pytest.raises(DataError, match="not bytes"):
        ids(io.StringIO(XML))
    with pytest.raises(DataError, match="holds no documents"):
        ids(pa.array([1, 2]))
    with pytest.raises(ostinato.OstinatoError, match="on_error"):
        ids(pa.array([XML]), on_error="ignore")


def test_limits() -> None:
    deep = "<a>" * 50 + "</a>" * 50
    with pytest.raises(LimitError, match="depth=20"):
        ostinato.xseq("//a").detect(deep, limits=ostinato.XSeqLimits(depth=20))
    with pytest.raises(LimitError, match="token=1,000"):
        ostinato.xseq("//a").detect(f"<a b='{'x' * 200_000}'/>", chunk_size=500, limits=ostinato.XSeqLimits(token=1000))
    with pytest.raises(LimitError):
        ostinato.xseq("return $X@a, $Y@a, $Z@a from //$X $Y $Z").detect(
            "<r>" + "<a a='1'/>" * 300 + "</r>", limits=ostinato.XSeqLimits(runs=100)
        )


def test_documents_larger_than_memory_come_in_pieces() -> None:
    class Endless(io.RawIOBase):
        """A shop that never closes."""

        sold, left = 0, b"<shop>"

        def readable(self) -> bool:
            return True

        def readinto(self, room: Any) -> int:
            if not self.left:
                self.left = "".join(f"<sale id='{self.sold + n}' price='{n}'/>" for n in range(50)).encode()
                self.sold += 50
            count = min(len(room), len(self.left))
            room[:count], self.left = self.left[:count], self.left[count:]
            return count

    source = Endless()
    first = next(table for table in ostinato.xseq(IDS).batches(source, chunk_size=1 << 16) if table.num_rows)
    assert first["id"].to_pylist()[:2] == ["5", "6"] and source.sold < 100_000


def test_aggregates_over_all_matches_stand_alone() -> None:
    with pytest.raises(ostinato.QueryError, match="columns of their own"):
        ostinato.xseq("return max($X@price) - 1 from /stocks/$X")


@pytest.mark.parametrize("text", ["//b/@x", "//b/parent::a"])
def test_large_values_are_refused(text: str) -> None:
    document = b"<a><b x='" + b"y" * 1000 + b"'/></a>"
    with pytest.raises(ostinato.LimitError, match="limit token=100"):
        ostinato.xseq(text).detect(document, limits=ostinato.XSeqLimits(token=100))
    assert ostinato.xseq(text).count(document, limits=ostinato.XSeqLimits(token=2000)) == 1


def test_columns_of_documents_have_every_verb() -> None:
    query, column = ostinato.xseq("//b/@x"), pa.array(["<a><b x='1'/></a>", "<a/>"])
    assert query.count(column) == 1
    assert query.recognises(column)
    assert [table.num_rows for table in query.batches(column)] == [1]


@pytest.mark.parametrize(
    "options", [{"doctype": "expand"}, {"on_error": "foo"}, {"namespaces": "x"}, {"frmat": "xml"}, {"root": ""}]
)
def test_options_that_are_none(options: dict[str, Any]) -> None:
    with pytest.raises(ostinato.OstinatoError, match="fix: give"):
        ostinato.xseq("//b").detect("<a/>", **options)
    with pytest.raises(ostinato.OstinatoError, match="whole number"):
        ostinato.XSeqLimits(depth=-1)


def test_keys_of_json_that_are_no_names() -> None:
    document = {"first name": "Ann", "2": [{"a b": 1, "it's": "x"}, {"a b": 5}]}
    for query, expected in (
        ("/json@'first name'", ["Ann"]),
        ("//'2'[@'a b' > 1]@'a b'", ["5"]),
        ("return $X@\"it's\" from //$X[@'a b' = 1]", ["x"]),
        ("return $X child::'2'@'a b' from /$X", ["1"]),
        ("return $X@'a b' from //$X[./parent::*]", ["1", "5"]),
        ("//*@$V where tag($V) = 'first name'", ["Ann"]),
    ):
        found = ostinato.xseq(query).detect(json.dumps(document))
        assert found.column(0).to_pylist() == expected, query


def test_warnings() -> None:
    (warning,) = ostinato.xseq("return $X@id from //$X order by $X@price").warnings
    assert "sort the table" in warning


def test_names_of_the_answer_that_are_taken() -> None:
    with pytest.raises(ostinato.QueryError, match="the column `error`"):
        ostinato.xseq("return $X@n as error from //$X").detect(pa.array(["<a/>"]), on_error="collect")


def test_rows_of_a_pipe_come_before_its_end() -> None:
    class Pipe:
        def __init__(self) -> None:
            self.parts = [b"<a>" + b"<b/>" * 2000 + b"<b x='1'/>", b"<c/>" * 10, b"</a>"]

        def read(self, size: int = -1) -> bytes:
            return self.parts.pop(0) if self.parts else b""

    pipe = Pipe()
    first = next(table for table in ostinato.xseq("//b/@x").batches(pipe) if table.num_rows)
    assert first.to_pylist() == [{"node": "1"}]
    assert pipe.parts


@pytest.mark.parametrize("text", [IDS, "return $X@id as id from //$X/parent::shop/$Y"])
def test_a_query_that_was_used_can_be_sent(text: str) -> None:
    query = ostinato.xseq(text)
    rows = query.detect(XML).to_pylist()
    assert pickle.loads(pickle.dumps(query)).detect(XML).to_pylist() == rows != []
