"""What is wrong is said before a job starts where that can be known, else once, by the job that fails."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.errors import DataError, LimitError, OstinatoError, QueryError
from support.spark.patterns import EMPTY, START, Feed, end_of_stream, stream

QUERY = "A AS x ; B AS y FILTER x.v > 0 WITHIN 5 seconds"


@pytest.fixture(params=["batch", "streaming"])
def given(request: Any, spark: Any, tmp_path: Path) -> Any:
    """The same columns, read whole or as a stream."""
    return spark.createDataFrame(EMPTY) if request.param == "batch" else Feed(spark, tmp_path).frame()


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("A AS x FILTER x.vv > 0", {}, "unknown attribute `vv` of A"),
        ("A AS x PARTITION BY kk", {}, "kk"),
        ("A AS x ; B AS y WITHIN 5 ON nn", {}, "nn"),
        ("SELECT x.nope WHERE A AS x", {}, "nope"),
        ("A AS x FILTER x.s > 1", {}, "a string and a number cannot be compared"),
        ("A AS x FILTER x.v = 'a'", {}, "a number and a string cannot be compared"),
        ("A AS x FILTER x.tags = 'a'", {}, "tags"),
        ("A AS x ; B AS y WITHIN 5 ON s", {}, "s"),
        (QUERY, {"time": "tss"}, "there is no time column `tss`"),
        (QUERY, {"time": "s"}, "`s`"),
        (QUERY, {"type": "typ"}, "type is `typ`, but there is no such column"),
        (QUERY, {"type": "tags"}, "`tags` cannot be the event type"),
        (QUERY, {"order_by": ["nope"]}, "order_by is `nope`, but there is no such column"),
        (QUERY, {"order_by": ["tags"]}, "cannot order by `tags`"),
        ("SELECT x.k AS query WHERE A AS x", {}, "`query`"),
        (QUERY, {"time": 5}, "time"),
        (QUERY, {"parallel": 0}, "parallel"),
        (QUERY, {"buckets": 0}, "buckets"),
        (QUERY, {"buckets": True}, "buckets"),
        (QUERY, {"lateness": "soon"}, "lateness|soon"),
    ],
)
def test_known_before_any_job(given: Any, text: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(OstinatoError, match=message):
        ost.detect_many({"one": ost.cel(text)}, given, **options)


@pytest.mark.parametrize(
    ("text", "options", "fix"),
    [
        ("SELECT x.vee WHERE A AS x FILTER x.vee > 0", {}, "`v`"),
        ("SELECT x.v WHERE A AS x", {"type": "typ"}, "`type`"),
        ("SELECT x.v WHERE A AS x PARTITION BY tag", {}, "`tags`"),
        (QUERY, {"time": "at_"}, "`at`"),
    ],
)
def test_all_columns_are_known_to_the_hint(spark: Any, text: str, options: dict[str, Any], fix: str) -> None:
    """Also those that the query does not read."""
    with pytest.raises(OstinatoError) as caught:
        ost.cel(text).detect(spark.createDataFrame(EMPTY), **options)
    assert fix in str(caught.value).split("fix:")[1]


def test_options_of_the_other_kind(spark: Any, tmp_path: Path) -> None:
    query = ost.cel(QUERY)
    with pytest.raises(OstinatoError, match="lateness applies only to streaming DataFrames"):
        query.detect(spark.createDataFrame(EMPTY), lateness="5 seconds")
    with pytest.raises(OstinatoError, match="parallel is for DataFrames read whole"):
        query.detect(Feed(spark, tmp_path).frame(), parallel=2)
    with pytest.raises(OstinatoError, match="since is for DataFrames read whole"):
        query.detect(Feed(spark, tmp_path / "other").frame(), since=START)
    with pytest.raises(OstinatoError, match="far: the query has no window"):
        ost.detect_many({"far": ost.cel("A ; B")}, spark.createDataFrame(EMPTY), since=START)


def test_a_stream_needs_moments(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="a stream needs a timestamp to advance by, and `n` is int64"):
        ost.cel("A AS x").detect(Feed(spark, tmp_path).frame(), time="n")


@pytest.mark.filterwarnings("ignore:If `index_col` is not specified")
def test_pandas_on_spark_says_how_to_hand_it_over(spark: Any) -> None:
    frame = sql(spark, "1 AS v").pandas_api()
    with pytest.raises(DataError, match=r"pandas DataFrame on Spark\nfix: give frame\.to_spark\(\)"):
        ost.cel("A AS x").detect(frame)
    assert ost.cel("A AS x").detect(frame.to_spark()).count() == 1


def test_query_errors_are_those_of_the_query() -> None:
    with pytest.raises(QueryError, match="not bound"):
        ost.cel("A AS x FILTER y.v > 0")


# Columns --------------------------------------------------------------------------------------------------------------


def sql(spark: Any, columns: str) -> Any:
    return spark.sql(f"SELECT TIMESTAMP '2026-01-01 00:00:00Z' AS ts, 'A' AS type, {columns}")


@pytest.mark.parametrize("columns", ["1 AS v, 2 AS v", "1 AS v, 2 AS V"])
def test_two_columns_of_one_name(spark: Any, columns: str) -> None:
    with pytest.raises(DataError, match=r"two columns are named `[vV]`"):
        ost.cel("A AS x").detect(sql(spark, columns))


def test_names_that_differ_in_case_where_spark_tells_them_apart(spark: Any) -> None:
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        frame = sql(spark, "1 AS v, 2 AS V")
        found = ost.cel("SELECT x.v AS a, x.V AS b WHERE A AS x FILTER x.V > 1").detect(frame).collect()
    finally:
        spark.conf.set("spark.sql.caseSensitive", "false")
    assert [(row["a"], row["b"]) for row in found] == [(1, 2)]


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        ("INTERVAL '1' YEAR", "interval year"),
        ("make_interval(1, 2, 3)", "interval"),
    ],
)
def test_types_that_python_cannot_be_handed(spark: Any, column: str, kind: str) -> None:
    frame = sql(spark, f"{column} AS odd, 1 AS v")
    assert ost.cel("SELECT x.v WHERE A AS x").detect(frame).count() == 1  # it is not read
    with pytest.raises(DataError, match=f"`odd` is of type {kind}"):
        ost.cel("A AS x").detect(frame)
    with pytest.raises(OstinatoError, match="odd"):
        ost.cel("SELECT x.v WHERE A AS x FILTER x.odd > 1").detect(frame)


def test_a_variant_comes_back_as_it_was(spark: Any) -> None:
    frame = sql(spark, "parse_json('[1, 2]') AS odd")
    (row,) = ost.cel("A AS x").detect(frame).collect()
    assert row["events"][0]["odd"].toPython() == [1, 2]
    with pytest.raises(OstinatoError, match="odd"):
        ost.cel("A AS x FILTER x.odd > 1").detect(frame)


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
@pytest.mark.parametrize("clause", ["WITHIN 10 seconds", "PARTITION BY type", "PARTITION BY n"])
def test_columns_of_nothing_but_null(spark: Any, clause: str, zone: str) -> None:
    """In a session of another zone than ours, times come with that zone, also those inside of other values."""
    nothing = ("NULL AS n", "array(NULL) AS m", "named_struct('at', ts, 'b', NULL) AS o")
    table = spark.range(3).selectExpr("timestamp_seconds(id) AS ts", "'A' AS type", "id")
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        frame = table.selectExpr("*", *nothing)
        matches = ost.cel(f"A AS x ; A AS y {clause}").detect(frame).selectExpr("inline(events)").collect()
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
    assert sorted(row["id"] for row in matches) == [0, 0, 1, 1, 2, 2]
    assert all((row["n"], row["m"], row["o"]["b"]) == (None, [None], None) for row in matches)
    assert all(row["o"]["at"] == row["ts"] for row in matches)


@pytest.mark.parametrize("name", ["a.b", "a b", "a`b", "ä'\"\\,(#"])
def test_names_of_any_characters(spark: Any, name: str) -> None:
    """As an attribute, as key, time, type and tie-breaker."""
    quote_name = "`" + name.replace("`", "``") + "`"
    attribute = quote_name if "`" not in name else None
    plain = sql(spark, "1 AS v")
    value = plain.withColumnRenamed("v", name)
    clause = f"FILTER x.{attribute} > 0 PARTITION BY {attribute} WITHIN 3 seconds" if attribute else "WITHIN 3 seconds"
    assert ost.cel(f"A AS x {clause}").detect(value, order_by=[name], parallel=2).count() == 1
    assert ost.cel("A AS x WITHIN 3 seconds").detect(plain.withColumnRenamed("ts", name), time=name).count() == 1
    assert ost.cel("A AS x WITHIN 3 seconds").detect(plain.withColumnRenamed("type", name), type=name).count() == 1


def test_odd_names_in_a_stream(spark: Any, tmp_path: Path) -> None:
    """Of columns, of the key, of the time and of the query itself."""
    names = {"ts": "t.s", "type": "ty pe", "k": "k`k"}
    table = pa.concat_tables([stream(1, 20), end_of_stream()])
    renamed = table.rename_columns([names.get(name, name) for name in table.column_names])
    feed = Feed(spark, tmp_path, renamed.schema).add(renamed)
    text = "A AS x ; B AS y WITHIN 5 seconds"
    group = {"a.b c`d'": ost.cel(text)}
    feed.run(group, time="t.s", type="ty pe")
    expected = ost.cel(text).detect(table, order_by=["n"])
    assert {name: len(rows) for name, rows in feed.found(group).items()} == {"a.b c`d'": len(expected)}


def test_no_type_column(spark: Any) -> None:
    frame = sql(spark, "1 AS v").drop("type")
    assert ost.cel("A AS x FILTER x.v > 0").detect(frame).count() == 1
    with pytest.raises(DataError, match="the query uses the event types A, B, but there is no column `type`"):
        ost.cel("A AS x ; B AS y").detect(frame)


def test_a_type_column_of_numbers(spark: Any) -> None:
    frame = sql(spark, "7 AS code")
    assert ost.cel("`7` AS x").detect(frame, type="code").count() == 1


# A job that fails -----------------------------------------------------------------------------------------------------


def failure(run: Callable[[], Any]) -> str:
    from pyspark.errors import PySparkException

    with pytest.raises(PySparkException) as caught:
        run()
    return str(caught.value)


MOMENTS = [datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC) for second in range(4)]


def poisoned(**columns: list[Any]) -> pa.Table:
    table = pa.table({"ts": pa.array(MOMENTS, pa.timestamp("us", tz="UTC")), "type": list("ABAB")})
    for name, values in columns.items():
        if name in table.column_names:
            place = table.column_names.index(name)
            table = table.set_column(place, name, pa.array(values, table.schema.field(name).type))
        else:
            table = table.append_column(name, pa.array(values))
    return table


@pytest.mark.parametrize("clause", ["", "PARTITION BY k", "WITHIN 3 seconds", "WITHIN 3 EVENTS"])
def test_a_row_without_a_time(spark: Any, clause: str) -> None:
    table = poisoned(ts=[*MOMENTS[:3], None], k=[1, 2, 3, 4])
    message = failure(lambda: ost.cel(f"A AS x ; B AS y {clause}").detect(spark.createDataFrame(table)).collect())
    assert message.count("`ts` is NULL") == 1


def test_an_attribute_that_decreases(spark: Any) -> None:
    table = poisoned(n=[1, 2, 1, 3])
    message = failure(lambda: ost.cel("A AS x ; B AS y WITHIN 3 ON n").detect(spark.createDataFrame(table)).collect())
    assert message.count("`n` decreases here, so WITHIN … ON n has no meaning") == 1


def test_a_limit(spark: Any) -> None:
    table = poisoned(v=[1, 2, 3, 4])
    query, limits = ost.cel("A AS x ; B AS y"), ost.Limits(states=1)
    with pytest.raises(LimitError):
        query.detect(table, limits=limits)
    message = failure(lambda: query.detect(spark.createDataFrame(table), limits=limits).collect())
    assert message.count("(limit states=1)") == 1


def test_a_row_without_a_time_in_a_stream(spark: Any, tmp_path: Path) -> None:
    table = poisoned(ts=[*MOMENTS[:3], None])
    feed = Feed(spark, tmp_path, table.schema).add(table)
    message = failure(lambda: feed.run({"q": ost.cel("A AS x ; B AS y")}, order_by=[]))
    assert message.count("`ts` is NULL") == 1
