"""`ostinato xseq`, and XSeq for `check` and `explain`: what they print, what they write, and how they fail."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from ostinato.cli.main import make_app
from support import paths
from support.commands import failed, run

VECTORS = json.loads((paths.VECTORS / "xseq.json").read_text(encoding="utf-8"))
FALLING = next(case for case in VECTORS["cases"] if case["name"] == "falling_all")
ROWS = sorted(FALLING["rows_any_order"])
NAMES = r"return $X@Cname as name from //$X where tag($X) = 'daughter'"
STOCKS = [dict(re.findall(r'(\w+)="(\w+)"', line)) for line in VECTORS["documents"]["stocks"].split("/>")[:-1]]
INPUTS = {"family.xml", "stocks.xml", "stocks.jsonl", "falling.xseq"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with the documents of the vectors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    for name, document in VECTORS["documents"].items():
        Path(f"{name}.xml").write_text(document, encoding="utf-8")
    Path("stocks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in STOCKS), encoding="utf-8")
    Path("falling.xseq").write_text(f"(: prices that fall :)\n{FALLING['query']}\n", encoding="utf-8")
    return tmp_path


def rows(name: str) -> list[list[Any]]:
    return [list(json.loads(line).values()) for line in Path(name).read_text(encoding="utf-8").splitlines()]


def answer(*args: str) -> list[list[Any]]:
    result = run("xseq", *args, "-o", "out.jsonl")
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    return rows("out.jsonl")


def test_rows_are_printed_and_a_summary_apart(folder: Path) -> None:
    result = run("xseq", NAMES, "--input", "family.xml")
    assert result.exit_code == 0, result.output
    assert [line.strip() for line in result.stdout.splitlines() if line.strip()][2:] == ["Mary", "Cat", "Ida", "3 rows"]
    assert re.search(r"^1 document, 554 bytes, 3 rows, [\d.]+ s$", result.stderr.splitlines()[-1])


@pytest.mark.parametrize("query", [["falling.xseq"], ["@falling.xseq"], ["-q", FALLING["query"]], [FALLING["query"]]])
def test_a_query_is_a_file_or_text(folder: Path, query: list[str]) -> None:
    assert sorted(answer(*query, "-i", "stocks.xml")) == ROWS


def test_longest_leaves_out_what_goes_on(folder: Path) -> None:
    assert sorted(answer("falling.xseq", "-i", "stocks.xml", "--matches", "longest")) == [
        ["2", "1"],
        ["4", "3"],
        ["5", "3"],
    ]


@pytest.mark.parametrize("name", ["out.parquet", "out.csv", "out.jsonl", "out.arrow"])
def test_every_form_of_output(folder: Path, name: str) -> None:
    assert run("xseq", "falling.xseq", "-i", "stocks.xml", "-o", name).exit_code == 0
    read = {".parquet": pq.read_table, ".arrow": feather.read_table, ".csv": arrow_csv.read_csv}.get(Path(name).suffix)
    found = [list(map(str, row.values())) for row in read(name).to_pylist()] if read else rows(name)
    assert sorted(found) == ROWS
    assert {path.name for path in folder.iterdir()} == {*INPUTS, name}


def test_no_row_is_an_answer_with_columns(folder: Path) -> None:
    assert run("xseq", "//nobody/@x", "-i", "family.xml", "-o", "out.parquet").exit_code == 0
    assert pq.read_table("out.parquet").schema == pa.schema([("node", pa.string())])


def test_several_documents_are_named(folder: Path) -> None:
    expected = [["family.xml", "Mary"], ["family.xml", "Cat"], ["family.xml", "Ida"]]
    assert answer("//daughter/@Cname", "-i", "family.xml", "stocks.xml") == expected
    assert answer("//daughter/@Cname", "-i", "f*.xml") == expected
    Path("many").mkdir()
    Path("many/one.xml").write_bytes(Path("family.xml").read_bytes())
    Path("many/.hidden.xml").write_text("<", encoding="utf-8")
    Path("many/notes.txt").write_text("none", encoding="utf-8")
    assert answer("//daughter/@Cname", "-i", "many") == [["many/one.xml", name] for _, name in expected]


def test_standard_input(folder: Path) -> None:
    for format in ([], ["--format", "xml"]):
        arguments = ["xseq", NAMES, "-i", "-", "-o", "out.jsonl", *format]
        result = CliRunner().invoke(make_app(), arguments, input=Path("family.xml").read_bytes())
        assert result.exit_code == 0, result.output
        assert rows("out.jsonl") == [["Mary"], ["Cat"], ["Ida"]]


def test_json_lines_with_names_of_their_own(folder: Path) -> None:
    named = ["--root", "stocks", "--record", "transaction"]
    assert sorted(answer("falling.xseq", "-i", "stocks.jsonl", *named)) == ROWS
    assert answer("/json/item[@price > 5]/@price", "-i", "stocks.jsonl") == [["6"], ["7"]]
    Path("stocks.dat").write_bytes(Path("stocks.jsonl").read_bytes())
    assert sorted(answer("falling.xseq", "-i", "stocks.dat", "--format", "jsonl", *named)) == ROWS
    failed(run("xseq", "falling.xseq", "-i", "stocks.xml", *named), 2, "this is XML")


def test_documents_in_a_column_of_tables(folder: Path) -> None:
    documents = [VECTORS["documents"]["family"], None, VECTORS["documents"]["stocks"], "<a><daughter Cname='Eve'/></a>"]
    table = pa.table({"id": range(4), "body": documents})
    pq.write_table(table, "t.parquet")
    feather.write_feather(table, "t.arrow")
    expected = [[0, "Mary"], [0, "Cat"], [0, "Ida"], [3, "Eve"]]
    for name in ("t.parquet", "t.arrow"):
        assert answer(NAMES, "-i", name, "--column", "body") == expected
    arrow_csv.write_csv(table.filter(pa.array([False, False, False, True])), "t.csv")
    assert answer(NAMES, "-i", "t.csv", "--column", "body") == [[0, "Eve"]]
    structs = pa.table({"body": [{"daughter": [{"Cname": "Eve"}, {"Cname": "Fay"}]}, {"daughter": []}]})
    pq.write_table(structs, "s.parquet")
    assert answer("//daughter/@Cname", "-i", "s.parquet", "--column", "body") == [[0, "Eve"], [0, "Fay"]]
    failed(run("xseq", NAMES, "-i", "t.parquet", "--column", "bdoy"), 1, "no column `bdoy`", "did you mean `body`?")
    failed(run("xseq", NAMES, "-i", "t.parquet", "--column", "id"), 1, "holds no documents")


def test_a_bad_document_spoils_only_its_own_rows(folder: Path) -> None:
    Path("bad.xml").write_text("<a><daughter Cname='Zoe'/>", encoding="utf-8")
    Path("odd.bin").write_bytes(b"\x00\x01\x02")
    inputs = ["-i", "bad.xml", "family.xml", "odd.bin"]
    failed(run("xseq", NAMES, *inputs, "-o", "out.jsonl"), 1, "bad.xml: line 1, column 27", "`<a>` is not closed")
    assert not Path("out.jsonl").exists()
    for mode in ("skip", "collect"):
        result = run("xseq", NAMES, *inputs, "-o", "out.jsonl", "--on-error", mode)
        assert result.exit_code == 0 and "2 documents could not be read and were left out" in result.stderr
        assert [name for _, name in rows("out.jsonl")] == ["Mary", "Cat", "Ida"]
        assert ("  bad.xml: line 1, column 27" in result.stderr) == (mode == "collect")
    pq.write_table(pa.table({"body": ["<a/>", "<a>", "<daughter Cname='Eve'/>"]}), "t.parquet")
    column = ["-i", "t.parquet", "--column", "body"]
    failed(run("xseq", NAMES, *column), 1, "row 1: line 1, column 4")
    assert answer(NAMES, *column, "--on-error", "skip") == [[2, "Eve"]]


def test_bad_lines_are_left_out_or_listed(folder: Path) -> None:
    Path("l.jsonl").write_text('{"a": 1}\n{"a": \n{"a": 3}\n', encoding="utf-8")
    failed(run("xseq", "//item/@a", "-i", "l.jsonl"), 1, "l.jsonl", "line 2")
    assert answer("//item/@a", "-i", "l.jsonl", "--on-error", "skip") == [["1"], ["3"]]
    result = run("xseq", "//item/@a", "-i", "l.jsonl", "--on-error", "collect")
    assert result.exit_code == 0 and "1 line could not be read and was left out" in result.stderr
    assert "  l.jsonl: line 2, column 7: " in result.stderr and "document could not" not in result.stderr


def test_limit_ends_the_run(folder: Path) -> None:
    assert answer("//daughter/@Cname", "-i", "family.xml", "--limit", "2") == [["Mary"], ["Cat"]]
    assert answer("//son/@Cname", "-i", "family.xml", "family.xml", "--limit", "9")[-1] == ["family.xml", "Al"]
    Path("cut.xml").write_text("<a><b/>" + "<c/>" * 1_000_000, encoding="utf-8")
    assert answer("//b", "-i", "cut.xml", "--limit", "1") == [["<b/>"]]  # it never came to where the file is cut off


def test_sort_gives_document_order(folder: Path) -> None:
    Path("n.xml").write_text("<a><b n='1'><b n='2'/></b></a>", encoding="utf-8")
    nested = [["<b n='1'><b n='2'/></b>"], ["<b n='2'/>"]]
    assert answer("//b", "-i", "n.xml", "--sort") == nested
    assert sorted(answer("//b", "-i", "n.xml")) == sorted(nested)


def test_namespaces_encodings_and_doctypes(folder: Path) -> None:
    Path("ns.xml").write_text('<s:a xmlns:s="http://x.org/s"><s:b/></s:a>', encoding="utf-8")
    assert answer("return tag($X) as t from //$X where tag($X) = 'p:b'", "-i", "ns.xml",
                  "--namespace", "p=http://x.org/s") == [["p:b"]]  # fmt: skip
    Path("latin.xml").write_bytes("<a b='é'/>".encode("latin-1"))
    failed(run("xseq", "//a/@b", "-i", "latin.xml"), 1, "0xE9 is not UTF-8", "--encoding latin-1")
    assert answer("//a/@b", "-i", "latin.xml", "--encoding", "latin-1") == [["é"]]
    Path("dt.xml").write_text("<!DOCTYPE a SYSTEM 'a.dtd'><a b='1'/>", encoding="utf-8")
    failed(run("xseq", "//a/@b", "-i", "dt.xml"), 1, "DOCTYPE", "--doctype skip")
    assert answer("//a/@b", "-i", "dt.xml", "--doctype", "skip") == [["1"]]


def test_a_schema_is_used_and_checked(folder: Path) -> None:
    Path("stocks.dtd").write_text(
        "<!ELEMENT stocks (transaction*)><!ELEMENT transaction EMPTY>"
        "<!ATTLIST transaction company CDATA #IMPLIED price CDATA #IMPLIED date CDATA #IMPLIED>",
        encoding="utf-8",
    )
    for schema in ("stocks.dtd", "stocks.xml"):
        assert sorted(answer("falling.xseq", "-i", "stocks.xml", "--schema", schema)) == ROWS
        failed(
            run("xseq", "falling.xseq", "-i", "family.xml", "--schema", schema), 1, "family.xml: ", schema, "--schema"
        )
    result = run("check", "-q", "//stock/@x", "--language", "xseq", "--schema", "stocks.dtd")
    assert result.exit_code == 0 and "warning" in result.stderr
    failed(run("xseq", "//a", "-i", "stocks.xml", "--schema", "none.dtd"), 1, "no such file")


def test_check_and_explain(folder: Path) -> None:
    assert run("check", "falling.xseq").stdout == "ok: returns $Z@price, last($X)@price; one pass\n"
    assert "in memory" in run("check", "--language", "xseq", "-q", "//a[b/c]").stdout
    result = run("explain", "falling.xseq", "--svg", "a.svg", "--matches", "longest")
    assert result.exit_code == 0 and "one pass" in result.stdout and "walk: " in result.stdout
    assert Path("a.svg").read_text(encoding="utf-8").startswith("<svg")


ENTITIES = "<!DOCTYPE z [<!ENTITY a 'lol'><!ENTITY b '&a;&a;&a;'><!ENTITY c '&b;&b;&b;'>]><z>&c;</z>"
BAD_DOCUMENTS = {
    "not well-formed": (b"<a>\n <b></a>", [], ["line 2, column 5", "`</a>` does not close `<b>`"]),
    "truncated": (b"<a><b/><b x='1'", [], ["line 1, column 16", "was it cut off?"]),
    "binary": (b"\x7fELF\x02\x01\x00\x00", [], ["0x7F", "binary"]),
    "wrong encoding": (b"<?xml version='1.0' encoding='utf-16'?><a/>", [], ["utf-16", "--encoding utf-8"]),
    "unknown encoding": (b"<?xml version='1.0' encoding='klingon'?><a/>", [], ["'klingon' is not known"]),
    "empty": (b"", [], ["the document is empty"]),
    "billion laughs": (ENTITIES.encode(), [], ["line 1, column 1", "--doctype skip"]),
    "billion laughs, skipped": (ENTITIES.encode(), ["--doctype", "skip"], ["`&c;` is not known", "is ever expanded"]),
    "external entity": (
        b"<!DOCTYPE a [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><a>&e;</a>",
        ["--doctype", "skip"],
        ["line 1, column 58", "`&e;` is not known"],
    ),
    "a million deep": (b"<a>" * 1_000_000, [], ["column 30001", "depth=10,000", "--max depth=N"]),
    "a huge attribute": (
        b"<a>\n<b c='" + b"x" * 3_000_000 + b"'/></a>",
        ["--max", "token=1000000"],
        ["line 2, column 1", "token=1,000,000", "--max token=N"],
    ),
}


@pytest.mark.parametrize("case", list(BAD_DOCUMENTS))
def test_bad_documents(folder: Path, case: str) -> None:
    data, extra, expected = BAD_DOCUMENTS[case]
    Path("bad.xml").write_bytes(data)
    failed(run("xseq", "//b", "-i", "bad.xml", "-o", "out.parquet", *extra), 1, "bad.xml", *expected)
    assert {path.name for path in folder.iterdir()} == {*INPUTS, "bad.xml"}


def test_a_huge_attribute_from_a_pipe_is_not_read_to_its_end(folder: Path) -> None:
    class Endless:
        """More than a gigabyte, if anyone reads so far."""

        left, read_bytes = 1 << 30, 0

        def read(self, size: int) -> bytes:
            size = min(size, self.left)
            self.left -= size
            self.read_bytes += size
            return b"<a b='" + b"x" * (size - 6) if self.read_bytes == size else b"x" * size

    import ostinato

    source = Endless()
    with pytest.raises(ostinato.LimitError, match="token"):
        ostinato.xseq("//a").detect(source)
    assert source.read_bytes < 300 << 20


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("//a/uncle::b", ["there is no axis `uncle`", "^^^^^^^"]),
        ("return $X@a from // ($Z: $X $Z $Y)", ["comes back to itself", "$Z → $Z"]),
        ("return $X@a from // ($Z: $X ($W: $Y $Z) $W)", ["$Z → $W → $Z"]),
        ("return $Y@a from //$X", ["$Y"]),
        ("return last()@price from /stocks / (\\ )*", ["single quotes", ".xseq"]),
        ("nothing.xseq", ["no query file `nothing.xseq`"]),
        ("@nothing", ["no query file `nothing`"]),
    ],
)
def test_a_wrong_query_is_pointed_at(folder: Path, query: str, expected: list[str]) -> None:
    failed(run("xseq", query, "-i", "family.xml", "-o", "out.csv"), 2, *expected)
    assert {path.name for path in folder.iterdir()} == INPUTS


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["xseq", "//a"], "--input"),
        (["xseq", "-i", "family.xml"], "single quotes"),
        (["xseq", "//a", "-i", "family.xml", "-o", "family.xml"], "one of the input files"),
        (["xseq", "//a", "-i", "family.xml", "-o", "d.xlsx"], ".xlsx"),
        (["xseq", "//a", "-i", "family.xml", "--matches", "some"], "--matches"),
        (["xseq", "//a", "-i", "family.xml", "--max", "deepness=3"], "LIMIT=N"),
        (["xseq", "//a", "-i", "family.xml", "--max", "depth=many"], "LIMIT=N"),
        (["xseq", "//a", "-i", "family.xml", "--namespace", "p"], "PREFIX=URI"),
        (["xseq", "//a", "-i", "family.xml", "--limit", "0"], "--limit"),
        (["xseq", "//a", "-i", "family.xml", "--master", "local"], "--engine spark"),
        (["xseq", "//a", "-i", "-", "--engine", "spark"], "standard input"),
        (["xseq", "return $X@a as document from //$X", "-i", "family.xml", "stocks.xml"], "the column `document`"),
        (["detect", "falling.xseq", "-i", "stocks.jsonl"], "ostinato xseq"),
        (["check", "falling.xseq", "-i", "stocks.xml"], "--schema"),
        (["check", "-q", "T AS x", "--schema", "stocks.xml"], "XSeq"),
        (["explain", "falling.xseq", "--longest", "1 min"], "--longest"),
    ],
)
def test_wrong_usage(folder: Path, args: list[str], expected: str) -> None:
    failed(run(*args), 2, expected)
    assert {path.name for path in folder.iterdir()} == INPUTS


def test_warnings_are_told_apart_from_results(folder: Path) -> None:
    for command in (["xseq", "//son *", "-i", "family.xml"], ["check", "--language", "xseq", "-q", "//son *"]):
        result = run(*command)
        assert result.exit_code == 0 and "warning: `son *`" in result.stderr and "warning" not in result.stdout


def test_compressed_documents(folder: Path) -> None:
    data = gzip.compress(Path("family.xml").read_bytes())
    Path("many").mkdir()
    Path("many/f.xml.gz").write_bytes(data)
    expected = [["Mary"], ["Cat"], ["Ida"]]
    assert answer(NAMES, "-i", "many/f.xml.gz") == expected
    assert answer(NAMES, "-i", "many") == [["many/f.xml.gz", *row] for row in expected]
    result = CliRunner().invoke(make_app(), ["xseq", NAMES, "-i", "-", "-o", "out.jsonl"], input=data)
    assert result.exit_code == 0 and rows("out.jsonl") == expected
    Path("cut.xml.gz").write_bytes(data[:60])
    failed(run("xseq", NAMES, "-i", "cut.xml.gz"), 1, "cut.xml.gz: cannot be unpacked", "copy the file again")


def test_inputs_that_are_not_there(folder: Path) -> None:
    failed(run("xseq", "//a", "-i", "famly.xml"), 1, "no such file", "did you mean `family.xml`?")
    failed(run("xseq", "//a", "-i", "*.svg"), 1, "no file matches")
    Path("none").mkdir()
    failed(run("xseq", "//a", "-i", "none"), 1, "the folder has no documents")
    failed(run("xseq", "//a", "-i", "-", "-"), 1, "only once")


def test_a_few_rows_of_an_answer_that_is_larger_than_memory(folder: Path) -> None:
    Path("deep.xml").write_bytes(b"<a>" * 9000 + b"x" * 250_000 + b"</a>" * 9000)
    result = run("xseq", "//a/a", "--input", "deep.xml", "--limit", "3", "--output", "out.jsonl")
    assert result.exit_code == 0, result.output
    assert len(rows("out.jsonl")) == 3
    result = run("xseq", "//a", "--input", "deep.xml", "--sort", "--max", "answer_bytes=1000000")
    failed(result, 1, "deep.xml: the answer has too many bytes", "--max answer_bytes=N")
