"""XSeq over documents in rows and in files: the answers that each document has without Spark, and its error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.errors import DataError, OstinatoError
from ostinato.spark.failures import describe_failure
from ostinato.spark.xseq.detect import detect_xseq, read_documents, run_folder
from support.spark.xseq import (
    FAMILY,
    SEVERAL,
    STOCKS,
    VECTORS,
    bound,
    broken_folder,
    embedded,
    on_spark,
    random_documents,
)
from support.xseq_paper import QUERIES

GOOD, BAD = "<r><b a='1'/><b a='2'/></r>", "<r><b a='1'/><b a='2'></r>"


def table(spark: Any, *documents: str | bytes | None, kind: str = "string") -> Any:
    return spark.createDataFrame(list(enumerate(documents)), f"id long, text {kind}")


# Answers --------------------------------------------------------------------------------------------------------------


def test_the_papers_queries(spark: Any) -> None:
    """And those of the vectors, over both of their documents."""
    texts = {case["query"]: f"vector {case['name']}" for case in VECTORS["cases"]}
    texts |= {text: name for name, text in QUERIES.items()}
    frame = table(spark, FAMILY, STOCKS).coalesce(1)
    found_some = 0
    for text, name in texts.items():
        query = ost.xseq(text)
        expected = embedded(query, enumerate([FAMILY, STOCKS]))
        assert on_spark(query.detect(frame)) == expected, name
        found_some += bool(expected)
    assert found_some > len(texts) / 2


def test_random_documents_with_bad_ones_among_them(spark: Any) -> None:
    given = list(enumerate(random_documents(1, 1000)))
    for name, text in SEVERAL.items():
        query = ost.xseq(text)
        frame = spark.createDataFrame(given, "id long, content binary").repartition(3)
        expected = embedded(query, given)
        assert on_spark(query.detect(frame)) == expected, name
        assert sum(row[-1] is not None for row in expected) > len(given) / 20
        given = given[:200]  # all of them once are enough


def test_a_bad_document_gives_one_row(spark: Any) -> None:
    """Also where matches were found before the fault, and after it in other rows."""
    query = bound("$B@a as a")
    answer = query.detect(table(spark, GOOD, BAD, None, "", GOOD).coalesce(1))
    assert answer.columns == ["id", "a", "error"]
    rows = [tuple(row) for row in answer.collect()]
    assert sorted(row[:2] for row in rows if row[2] is None) == [(0, "1"), (0, "2"), (4, "1"), (4, "2")]
    assert sorted(row[:2] for row in rows if row[2] is not None) == [(1, None), (3, None)]
    told = next(row[2] for row in rows if row[0] == 1)
    assert told.startswith("line 1, column 23: `</r>` does not close `<b>`\nfix: ")


def test_what_becomes_of_bad_documents(spark: Any) -> None:
    from pyspark.errors import PySparkException

    query, frame = bound("$B@a as a"), table(spark, GOOD, BAD)
    skipped = query.detect(frame, on_error="skip", keep=())
    assert skipped.columns == ["a"]
    assert on_spark(skipped) == Counter([("1",), ("2",)])
    failing = query.detect(frame, on_error="raise")  # nothing runs yet
    with pytest.raises(PySparkException) as caught:
        failing.collect()
    assert str(describe_failure(caught.value)).startswith("line 1, column 23: `</r>` does not close `<b>`")


def test_options_reach_the_tasks(spark: Any) -> None:
    query = bound("$B@a as a")
    documents = ["<!DOCTYPE r><r><b a='ü'/></r>".encode("latin-1"), b"<r><s><b a='2'>t</b></s></r>"]
    frame = table(spark, *documents, kind="binary")
    found = query.detect(frame, doctype="skip", encoding="latin-1", limits=ost.XSeqLimits(depth=2), keep="id")
    (fine, deep) = sorted(found.collect())
    assert tuple(fine) == (0, "ü", None)
    assert deep[:2] == (1, None) and "depth" in deep.error
    named = ost.xseq("/top/x:b@a").detect(
        table(spark, "<top xmlns:y='urn:b'><y:b a='3'/></top>"), namespaces={"x": "urn:b"}, format="xml"
    )
    assert [row.node for row in named.collect()] == ["3"]
    json = ost.xseq("/top/each@a").detect(table(spark, '[{"a": 1}, {"a": 2}]'), root="top", record="each")
    assert sorted(row.node for row in json.collect()) == ["1", "2"]
    longest = ost.xseq(r"return first($X)@a, last($X)@a from //r (/$X \ $X)*", matches="longest")
    assert on_spark(longest.detect(table(spark, GOOD))) == embedded(longest, [(0, GOOD)])


def test_a_schema_travels_along(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "r.dtd").write_text("<!ELEMENT r (b*)> <!ELEMENT b EMPTY> <!ATTLIST b a CDATA #IMPLIED>")
    query = ost.xseq("//b@a", schema=tmp_path / "r.dtd")
    given = [(0, GOOD), (1, "<r><c/></r>")]
    expected = embedded(query, given)
    assert on_spark(query.detect(table(spark, *(document for _, document in given)))) == expected


def test_large_answers_leave_in_pieces(spark: Any) -> None:
    """Each with its kept columns, which may be large as well."""
    many = "<r>" + "".join(f"<b a='{number}'/>" for number in range(2_500)) + "</r>"
    frame = table(spark, many, GOOD).selectExpr("id", "text", "repeat('x', 100000) AS wide")

    def sizes(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.record_batch([[batch.num_rows], [batch.nbytes]], ["rows", "bytes"])

    found = bound("$B@a as a").detect(frame, column="text").mapInArrow(sizes, "rows long, bytes long").collect()
    assert sum(row.rows for row in found) == 2_502
    assert max(row.bytes for row in found) < 80 << 20  # Spark's own batches are of 64 MiB


# Columns --------------------------------------------------------------------------------------------------------------


def test_nested_columns(spark: Any) -> None:
    """As Arrow has them they say what they say without Spark; variants are written by Spark."""
    query = ost.xseq("return tag($X), $X@a, $X/text() as text from //$X")
    frame = spark.sql("""
        SELECT named_struct('b', array(named_struct('a', 1.50BD), named_struct('a', 2.25BD)), 'a', DATE'2026-01-02')
                   AS st,
               array(named_struct('a', 'x'), NULL, named_struct('a', 'y')) AS ar,
               map('b', named_struct('a', timestamp'2026-01-01 00:00:00')) AS ma,
               parse_json('{"b": [{"a": 1}, {"a": "z"}, null], "c": ["t"]}') AS va,
               named_struct('b', parse_json('{"a": 5}')) AS sv, CAST(NULL AS array<int>) AS no
    """)
    rows = {
        "st": {"b": [{"a": Decimal("1.50")}, {"a": Decimal("2.25")}], "a": date(2026, 1, 2)},
        "ar": [{"a": "x"}, None, {"a": "y"}],
        "ma": {"b": {"a": datetime(2026, 1, 1, tzinfo=UTC)}},
    }
    for column, value in rows.items():
        found = on_spark(query.detect(frame, column=column, keep=()))
        expected = query.detect(pa.array([value]), on_error="collect").drop_columns("row").to_pylist()
        assert expected and found == Counter(tuple(row.values()) for row in expected), column
    written = {"va": '{"b": [{"a": 1}, {"a": "z"}, null], "c": ["t"]}', "sv": '{"b": {"a": 5}}'}
    for column, text in written.items():
        found = on_spark(query.detect(frame, column=column, keep=()))
        assert found == Counter(row[1:] for row in embedded(query, [(0, text)]).elements()), column
    assert query.detect(frame, column="no", keep=()).count() == 0


def test_a_value_that_json_has_not(spark: Any) -> None:
    rows = [(0, {"a": 1.5}), (1, {"a": float("nan")}), (2, {"a": 2.5})]
    frame = spark.createDataFrame(rows, "id long, it struct<a: double>").coalesce(1)
    found = sorted(ost.xseq("//*@a").detect(frame).collect())
    assert [(row.id, row.node) for row in found] == [(0, "1.5"), (1, None), (2, "2.5")]
    assert [row.error is None for row in found] == [True, False, True]


def test_kept_columns(spark: Any) -> None:
    query = bound("$B@a as a")
    frame = table(spark, GOOD).selectExpr(
        "id", "text AS document", "'b' AS `a.b`", "parse_json('[1]') AS v", "timestamp'2026-01-01 00:00:00' AS ts",
        "1.50BD AS d", "map('k', array(1)) AS m", "'x' AS other",
    )  # fmt: skip
    answer = query.detect(frame)
    kept = [name for name in frame.columns if name != "document"]
    assert answer.columns == [*kept, "a", "error"]
    assert [answer.schema[name] for name in kept] == [frame.schema[name] for name in kept]
    expected = frame.drop("document").selectExpr("* EXCEPT (v)", "to_json(v)").collect()[0]
    assert answer.selectExpr("* EXCEPT (v, a, error)", "to_json(v)").collect() == [expected] * 2
    assert query.detect(frame, keep=["other", "document"]).columns == ["other", "document", "a", "error"]
    assert query.detect(frame, keep="*").columns == answer.columns
    types = bound("$B@a as a, $B@a + 1 as next, count($B) as n").detect(frame, keep=()).schema.simpleString()
    assert types == "struct<a:string,next:double,n:bigint,error:string>"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"column": "txt"}, "column is `txt`, but there is no such column\nfix: did you mean `text`"),
        ({"column": "id"}, "`id` is of type bigint, but documents are text"),
        ({"column": "bytes"}, "`bytes`: .*cannot be written as JSON without loss"),
        ({"column": "text", "keep": ["idd"]}, "keep has `idd`, but there is no such column"),
        ({"column": "text", "keep": 3}, "keep cannot be 3"),
        ({}, "several columns may hold the documents\nfix: name it with column=…; the columns are `id` bigint, `text`"),
        ({"column": "text", "keep": "A"}, "two columns `a`"),
        ({"column": "text", "keep": "error"}, 'two columns `error`.*\nfix: .*on_error="skip"'),
        ({"column": "text", "format": "yaml"}, "format cannot be 'yaml'"),
        ({"column": "pair", "format": "xml"}, "are read as JSON"),
        ({"column": "text", "doctype": "expand"}, "doctype cannot be 'expand'"),
        ({"column": "text", "encoding": "utf-99"}, "the encoding 'utf-99' is not known"),
        ({"column": "text", "namespaces": ["x"]}, "namespaces cannot be"),
        ({"column": "text", "namespaces": {"x": "y"}, "format": "json"}, "JSON has no namespaces"),
        ({"column": "text", "root": ""}, "root cannot be ''"),
        ({"column": "text", "limits": 3}, "limits cannot be 3"),
        ({"column": "text", "on_error": "ignore"}, "on_error cannot be 'ignore'"),
        ({"column": "id", "files": True}, "`id` is of type bigint, but paths are text"),
        ({"column": "text", "files": "yes"}, "files cannot be 'yes'"),
    ],
)
def test_known_before_any_job(spark: Any, options: dict[str, Any], message: str) -> None:
    kind = "id long, text string, A int, error string, bytes array<binary>, pair struct<x: int>"
    with pytest.raises(OstinatoError, match=message):
        bound("$B@a as a").detect(spark.createDataFrame([], kind), **({"keep": ()} | options))


def test_frames_without_documents(spark: Any) -> None:
    query = bound("$B@a as a")
    with pytest.raises(DataError, match=r"no column can hold documents\nfix: .*the columns are `id` bigint"):
        query.detect(spark.range(1))
    with pytest.raises(DataError, match="two columns are named"):
        query.detect(table(spark, GOOD).selectExpr("*", "text AS TEXT"))
    with pytest.raises(OstinatoError, match="a DataFrame of Spark"):
        detect_xseq(query, pa.table({"text": [GOOD]}))


# Streams and files ----------------------------------------------------------------------------------------------------


def test_streams(spark: Any, tmp_path: Path) -> None:
    """File by file, over two runs from one checkpoint: each document once."""
    query, given = bound("$B@a as a"), [GOOD, BAD, GOOD.replace("1", "7"), "zzz"]
    schema = "id long, text string"
    for half in (0, 1):
        part = table(spark, *given).where(f"id div 2 = {half}")
        part.coalesce(1).write.mode("append").parquet(str(tmp_path / "in"))
        stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
        answer = query.detect(stream)
        assert answer.isStreaming
        writer = answer.writeStream.option("checkpointLocation", str(tmp_path / "state")).format("parquet")
        writer.trigger(availableNow=True).start(str(tmp_path / "out")).awaitTermination()
    found = on_spark(spark.read.parquet(str(tmp_path / "out")))
    assert found == embedded(query, enumerate(text.encode() for text in given))
    assert "Spark, streaming" in query.explain(stream)


def test_a_folder_with_a_broken_file(spark: Any, tmp_path: Path) -> None:
    query, texts = bound("$B@a as a"), broken_folder(tmp_path, 12)
    expected = {
        (str(tmp_path / name), row.get("a"))
        for name in texts if name.endswith((".xml", ".jsonl")) and "broken" not in name and not _hidden(name)
        for row in query.detect(tmp_path / name).to_pylist()
    }  # fmt: skip
    answer = run_folder(query, spark, tmp_path)
    assert answer.columns == ["path", "a", "error"]
    rows = answer.collect()
    assert {(row.path, row.a) for row in rows if row.error is None} == expected
    (bad,) = [row for row in rows if row.error is not None]
    broken = str(tmp_path / "more/broken.xml")
    assert bad.path == broken
    assert bad.error.startswith(f"{broken}: line 1, column 23: `</r>` does not close `<b>`")
    listed = read_documents(spark, f"file://{tmp_path}", glob="00*.xml")
    assert listed.columns == ["path", "length", "modified"] and listed.count() == 10
    again = query.detect(listed, files=True)
    assert again.columns == ["path", "length", "modified", "a", "error"]
    assert {(row.path, row.a) for row in again.collect()} == {pair for pair in expected if "/00" in pair[0]}


def _hidden(name: str) -> bool:
    return any(part.startswith(("_", ".")) for part in name.split("/"))


def test_paths_that_spark_names(spark: Any, tmp_path: Path) -> None:
    """The files of a stream are opened in the tasks; those of other file systems are not."""
    broken_folder(tmp_path, 0)
    frame = spark.read.format("binaryFile").option("pathGlobFilter", "*.jsonl").load(f"{tmp_path}/more")
    query = bound("$B@a as a")
    assert sorted(row.a for row in query.detect(frame.select("path"), files=True).collect()) == ["7", "8"]
    assert sorted(row.a for row in query.detect(frame).collect()) == ["7", "8"]  # their `content`
    paths = spark.createDataFrame([("s3a://bucket/x.xml",), (f"{tmp_path}/none.xml",), (None,)], "path string")
    told = sorted(row.error for row in query.detect(paths, files=True).collect())
    assert told[0].endswith("/none.xml: cannot be read: No such file or directory")
    assert told[1].startswith("s3a://bucket/x.xml: `s3a:` is not a file system that tasks can open")


def test_folders_that_cannot_be_read(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no file in it is named \*.xml or .*\nfix: .*glob="):
        read_documents(spark, tmp_path)
    with pytest.raises(DataError, match="none: cannot be read: No such file or directory"):
        read_documents(spark, tmp_path / "none")
    for options, message in (({"path": 3}, "path cannot be 3"), ({"path": "x", "glob": ""}, "glob cannot be ''")):
        with pytest.raises(OstinatoError, match=message):
            read_documents(spark, **options)


def test_explain(spark: Any) -> None:
    query, frame = bound("$B@a as a"), table(spark, GOOD)
    told = query.explain(frame)
    assert "Spark, batch" in told and "`text`: XML or JSON, as each begins" in told
    assert "gives          id bigint, a string, error string" in told
    assert "files named in `text`, opened in the tasks" in query.explain(frame, column="text", files=True)
    assert "`it`, handed over as Arrow" in query.explain(frame.selectExpr("array(id) AS it"), on_error="skip")
    assert "`it`, written as JSON by Spark" in query.explain(frame.selectExpr("parse_json('1') AS it"))
