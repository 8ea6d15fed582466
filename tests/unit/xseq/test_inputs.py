"""Many documents at once: columns, tables, folders, lists of files; compressed ones; and what a text or file is."""

from __future__ import annotations

import bz2
import gzip
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ostinato
from ostinato.documents.formats import Format
from ostinato.errors import DataError, QueryError

XML = "<shop><sale id='1'/><sale id='2'/></shop>"
LINES = '{"id": 3}\n{"id": 4}\n'
IDS = "return $X@id as id from //$X"
BACK = "//sale/parent::shop"  # which no single pass answers


def rows(source: Any, **options: Any) -> list[list[Any]]:
    return [list(row.values()) for row in ostinato.xseq(IDS).detect(source, **options).to_pylist()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "below").mkdir()
    (tmp_path / "a.xml").write_text(XML, encoding="utf-8")
    (tmp_path / "b.xml.gz").write_bytes(gzip.compress(XML.encode()))
    (tmp_path / "below" / "c.jsonl.gz").write_bytes(gzip.compress(LINES.encode()))
    (tmp_path / "notes.txt").write_text("no document", encoding="utf-8")
    return tmp_path


# --- columns


@pytest.mark.parametrize("query", [IDS, BACK])
def test_recognition_of_a_column_stops_at_the_first_match(query: str) -> None:
    made = ostinato.xseq(query)
    assert made.recognises(pa.array([XML, "<shop"]))
    with pytest.raises(DataError, match="row 0"):
        made.recognises(pa.array(["<shop", XML]))
    assert made.recognises(pa.array(["<shop", XML]), on_error="skip")
    assert not made.recognises(pa.array(["<shop", "<shop/>"]), on_error="collect")


@pytest.mark.slow
def test_batches_of_a_column_come_before_its_end() -> None:
    column = pa.array([*[XML] * 5000, "<shop"])
    batches = ostinato.xseq(IDS).batches(column)
    first = next(batches)
    assert 0 < first.num_rows < 10_000 and first.column_names == ["row", "id"]
    with pytest.raises(DataError, match="row 5000"):
        list(batches)


def test_what_cannot_be_read_is_not_counted() -> None:
    column = pa.array([XML, "<shop", XML])
    for on_error in ("skip", "collect"):
        assert ostinato.xseq(IDS).count(column, on_error=on_error) == 4


def test_an_empty_document_says_where_it_is() -> None:
    with pytest.raises(DataError, match=r"row 1: the document is empty\nfix: leave it out"):
        rows(pa.array([XML, ""]))
    found = ostinato.xseq(IDS).detect(pa.array(["", XML]), on_error="collect").to_pylist()
    assert found[0]["error"].startswith("row 0: the document is empty")


def test_bad_options_are_not_taken_for_bad_documents() -> None:
    with pytest.raises(ostinato.OstinatoError, match="doctype"):
        rows(pa.array([XML]), on_error="skip", doctype="expand")


# --- series and tables


def test_series() -> None:
    texts = [XML, None, XML]
    expected = [[0, "1"], [0, "2"], [2, "1"], [2, "2"]]
    for series in (pd.Series(texts), pd.Series(texts, dtype="string"), pl.Series(texts), pl.Series("x", texts)):
        assert rows(series) == expected
    with pytest.raises(DataError, match="holds no documents"):
        rows(pd.Series([1, 2]))
    with pytest.raises(DataError, match=r"fix: .*pa\.array\(documents\)"):
        rows(pd.Series([XML, 3]))


def test_tables_with_a_column_of_documents() -> None:
    table = pa.table({"n": [1, 2], "body": [XML, "<shop/>"], "title": ["a", "b"]})
    expected = [[0, "1"], [0, "2"]]
    for given in (table, table.to_batches()[0], table.to_reader(), table.to_pandas(), pl.from_arrow(table)):
        assert rows(given, column="body") == expected
    assert rows(table.select(["n", "body"])) == rows(table.rename_columns(["n", "document", "title"])) == expected
    with pytest.raises(DataError, match=r"several columns may hold the documents\nfix: name it with column="):
        rows(table)
    with pytest.raises(DataError, match=r"no such column\nfix: did you mean `body`\?"):
        rows(table, column="boody")
    with pytest.raises(DataError, match="no column can hold documents"):
        rows(table.select(["n"]))
    with pytest.raises(DataError, match="has no columns"):
        rows(XML.encode(), column="body")


def test_files_of_tables(tmp_path: Path) -> None:
    pq.write_table(pa.table({"body": [XML, "<shop"]}), tmp_path / "t.parquet")
    assert rows(tmp_path / "t.parquet", column="body", on_error="skip") == [[0, "1"], [0, "2"]]
    (tmp_path / "t.jsonl").write_text('{"body": "<a id=\'1\'/>"}\n{"body": \n', encoding="utf-8")
    *_, (row, each, error) = rows(tmp_path / "t.jsonl", column="body", on_error="collect")
    assert row is None and each is None and "t.jsonl: line 2: " in error


# --- files


def test_folders_patterns_and_lists(folder: Path) -> None:
    paths = [str(folder / name) for name in ("a.xml", "b.xml.gz", "below/c.jsonl.gz")]
    expected = [[path, each] for path, ids in zip(paths, ("12", "12", "34"), strict=True) for each in ids]
    assert rows(folder) == rows(str(folder)) == rows(paths) == expected
    assert rows(folder / "*.xml*") == expected[:4] and rows([folder / "below"]) == expected[4:]
    assert rows(paths[:1]) == expected[:2]  # a list of one is a list
    query = ostinato.xseq(IDS)
    assert query.detect(folder).column_names == ["document", "id"]
    assert query.count(folder) == 6 and query.recognises(folder)
    assert [table.num_rows for table in query.batches(folder)] == [2, 2, 2]


def test_bad_files_of_a_folder(folder: Path) -> None:
    (folder / "below" / "b.xml").write_text("<shop", encoding="utf-8")
    (folder / "below" / "d.jsonl").write_text('{"id": 5}\n{"id": \n{"id": 6}\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"b\.xml: line 1"):
        rows(folder)
    assert [each for _, each in rows(folder, on_error="skip")] == list("12123456")
    found = ostinato.xseq(IDS).detect(folder, on_error="collect")
    bad = [(Path(row["document"]).name, row["id"]) for row in found.to_pylist() if row["error"]]
    assert bad == [("b.xml", None), ("d.jsonl", None)]
    assert "d.jsonl: line 2, column 8" in found["error"].to_pylist()[-1]
    assert ostinato.xseq(IDS).count(folder, on_error="collect") == 8


def test_lists_and_folders_of_nothing(tmp_path: Path) -> None:
    for source, expected in (
        ([], "list of files is empty"),
        ([XML], r"pa\.array\(documents\)"),
        ([{"id": 1}], r"pa\.array\(documents\)"),
        ([b"<a/>"], r"pa\.array\(documents\)"),
        (tmp_path, "the folder has no documents"),
        (tmp_path / "*.xml", "no file matches"),
    ):
        with pytest.raises(DataError, match=expected):
            rows(source)
    (tmp_path / "a.xml").write_text("<a/>", encoding="utf-8")
    with pytest.raises(DataError, match=r"did you mean `a\.xml`"):
        rows(tmp_path / "a1.xml")
    with pytest.raises(QueryError, match="the column `document`"):
        ostinato.xseq("return $X@id as document from //$X").detect(tmp_path)


# --- compressed documents


@pytest.mark.parametrize(("pack", "extension"), [(gzip.compress, ".gz"), (bz2.compress, ".bz2")])
def test_compressed_documents(pack: Any, extension: str, tmp_path: Path) -> None:
    large = "<shop>" + "<sale id='7'/>" * 100_000 + "</shop>"
    documents: list[tuple[str, Format]] = [(XML, "xml"), (LINES, "jsonl"), (large, "xml")]
    for text, format in documents:
        path = tmp_path / f"f.{format}{extension}"
        path.write_bytes(pack(text.encode()))
        expected = ostinato.xseq(IDS).count(text)
        for source in (path, path.read_bytes(), io.BytesIO(path.read_bytes()), pa.array([path.read_bytes()])):
            assert ostinato.xseq(IDS).count(source) == expected
        with path.open("rb") as file:
            assert ostinato.xseq(IDS).count(file, format=format) == expected
    (tmp_path / "plain.xml.gz").write_text(XML, encoding="utf-8")  # what is in a file counts, not its name
    assert rows(tmp_path / "plain.xml.gz") == [["1"], ["2"]]


def test_zstd() -> None:
    with pa.CompressedOutputStream(sink := pa.BufferOutputStream(), "zstd") as out:
        out.write(XML.encode())
    assert rows(sink.getvalue().to_pybytes()) == [["1"], ["2"]]


def test_broken_archives(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    noise = "".join(f"<sale id='{n}'/>" for n in rng.integers(0, 1 << 60, 2000))
    whole = gzip.compress(f"<shop>{noise}</shop>".encode())
    for name, data in (
        ("cut", whole[: len(whole) // 2]),
        ("end", whole[:-4]),
        ("mixed", whole[:5000] + bytes(200) + whole[5200:]),
    ):
        path = tmp_path / f"{name}.xml.gz"
        path.write_bytes(data)
        with pytest.raises(DataError, match=rf"{name}\.xml\.gz: cannot be unpacked: .*\nfix: copy the file again"):
            rows(path)
    for data, what in ((b"PK\x03\x04abc", "a zip archive"), (b"\xfd7zXZ\x00ab", "an xz file")):
        with pytest.raises(DataError, match=f"is {what}\nfix: unpack it"):
            rows(data)


def test_a_compressed_pipe_is_read_as_it_comes() -> None:
    pieces = [b"<shop>" + b"<sale id='1'/>" * 50_000] + [b"<sale id='1'/>" * 50_000] * 20
    packed = gzip.compress(b"".join(pieces), compresslevel=1)

    class Pipe:
        at = 0

        def read(self, size: int) -> bytes:
            piece = packed[self.at : self.at + min(size, 1000)]
            self.at += len(piece)
            return piece

    pipe = Pipe()
    next(iter(ostinato.xseq(IDS).batches(pipe)))
    assert pipe.at < len(packed)


# --- what a text or an open file is


def test_open_files_are_looked_into() -> None:
    assert rows(io.BytesIO(b'{"sale": [{"id": 1}]}')) == [["1"]]
    assert rows(io.BytesIO(LINES.encode())) == [["3"], ["4"]]
    assert rows(io.BytesIO(XML.encode("utf-16"))) == [["1"], ["2"]]
    assert rows(io.BytesIO(b"\n" * 5000 + LINES.encode())) == [["3"], ["4"]]
    with pytest.raises(DataError, match="neither XML nor JSON"):
        rows(io.BytesIO(b"id,price\n1,2\n"))


def test_lines_of_a_pipe_come_before_its_end() -> None:
    class Pipe:
        def __init__(self) -> None:
            self.parts: Iterator[bytes] = iter([b'{"id": 1}\n', b'{"id": 2}\n'])

        def read(self, size: int = -1) -> bytes:
            return next(self.parts)  # StopIteration: asked for more than was needed

    assert next(iter(ostinato.xseq(IDS).batches(Pipe(), format="jsonl"))).to_pylist() == [{"id": "1"}]


def test_texts_and_paths(tmp_path: Path) -> None:
    assert rows("\ufeff" + LINES) == rows("\ufeff" + LINES, format="jsonl") == [["3"], ["4"]]
    assert ostinato.xseq("//item/text()").detect("1\n2", format="jsonl").to_pylist() == [{"node": "1"}, {"node": "2"}]
    for text in ("", " \n"):
        with pytest.raises(DataError, match="the text is empty"):
            rows(text)
    with pytest.raises(DataError, match="given as bytes"):
        rows("1\n2")
    with pytest.raises(DataError, match='leave out format="xml"'):
        rows(pa.array([{"id": 1}]), format="xml")
    with pytest.raises(DataError, match=r"17: there is no such file\nfix: .*given as bytes"):
        rows("17", format="json")


def test_names_for_json_are_not_for_xml() -> None:
    with pytest.raises(QueryError, match="this is XML"):
        rows(XML, root="shop")
