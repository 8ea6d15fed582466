"""Batch frames: what is read, in what order, and how it is cut."""

from __future__ import annotations

import tempfile
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import Phase, given, seed, settings

import ostinato as ost
from ostinato.patterns.query import CelQuery
from ostinato.patterns.syntax.format import to_text
from ostinato.patterns.syntax.nodes import Query
from ostinato.spark.patterns.detect import prepare
from ostinato.spark.patterns.task import PatternTask, Unit
from support.generators.cel import queries
from support.spark.patterns import EMPTY, by_query, embedded, frame, same, shuffled, stream

MOMENT = pa.timestamp("us", tz="UTC")


def letters(text: str, *, step: float = 1, **columns: list[Any]) -> pa.Table:
    """One letter and one second each."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    times = [start + timedelta(seconds=step * place) for place in range(len(text))]
    return pa.table({"ts": pa.array(times, MOMENT), "type": list(text), **columns})


def rows(answer: Any) -> list[str]:
    """Matches as texts, in an order of their own."""
    found = answer.toArrow() if hasattr(answer, "toArrow") else answer
    return sorted(repr({name: row[name] for name in row if name != "positions"}) for row in found.to_pylist())


# Where rows go --------------------------------------------------------------------------------------------------------


def test_events_of_a_partition_are_counted_there(spark: Any) -> None:
    """The three events of k = 1 are far apart in the stream, and next to each other in their partition."""
    table = letters("A" + "C" * 58 + "B", k=[1] + [2] * 58 + [1])
    query = ost.cel("A AS x ; B AS y PARTITION BY k WITHIN 2 EVENTS")
    for parallel in (None, 3):
        assert query.detect(frame(spark, table), parallel=parallel).count() == 1


@pytest.mark.parametrize("clause", ["PARTITION BY k", "WITHIN 6 seconds"])
def test_not_for_some_time_between_two_parts(spark: Any, clause: str) -> None:
    """The times are no column of the frame."""
    table = letters("ACBXACXXCAXBXC" * 4, k=[1, 1, 2, 2] * 14)
    query = ost.cel(f"SELECT x.k, y.ts WHERE A AS x : NOT B ; NOT B FOR 2 seconds ; C AS y {clause}")
    answer = query.detect(frame(spark, table, pieces=3), parallel=3)
    assert rows(answer) == rows(query.detect(table)) != []


@pytest.mark.parametrize("parallel", [None, 3])
@pytest.mark.parametrize("clause", ["PARTITION BY k WITHIN 3 seconds", "WITHIN 3 seconds", "PARTITION BY k"])
def test_an_answer_that_shows_no_event_is_given_once(spark: Any, clause: str, parallel: int | None) -> None:
    table = letters("BCBCBCBCBCBC", k=[1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3], v=list(range(12)))
    query = ost.cel(f"SELECT x.v AS c WHERE A AS x OR (B AS y ; C AS z) {clause}")
    answer = query.detect(frame(spark, table, pieces=3), parallel=parallel)
    assert rows(answer) == rows(query.detect(table)) == ["{'c': None}"]


def test_one_huge_key_and_many_small_ones(spark: Any) -> None:
    keys = [0] * 300 + list(range(1, 101))
    table = shuffled(letters("AB" * 200, k=keys), seed=1)
    query = ost.cel("SELECT NXT * WHERE A AS x ; B AS y PARTITION BY k WITHIN 5 seconds")
    assert rows(query.detect(frame(spark, table, pieces=4))) == rows(query.detect(table, events=True))


# The order of equal times ---------------------------------------------------------------------------------------------

TIED = letters("BACDBACBBACA" * 3, step=0, a=[9, 8, 7, 6, 5, 4] * 6, v=[1, 2, 3] * 12, w=[4, 3, 2, 1] * 9)
OF_ONE_TIME = "SELECT x.v AS xv, y.v AS yv WHERE A AS x : B AS y"


def test_partitioning_does_not_matter_to_ties(spark: Any) -> None:
    query = ost.cel("A AS x : B AS y")
    answers = [rows(query.detect(frame(spark, TIED, pieces=pieces, seed=pieces))) for pieces in (1, 2, 5)]
    assert answers[0] == answers[1] == answers[2] != []


def test_what_else_is_read_does_not_matter_to_ties(spark: Any) -> None:
    """Neither later queries, which read other columns, nor whether the rows are asked for."""
    query, other = ost.cel(OF_ONE_TIME), ost.cel("SELECT x.a AS xa, x.w AS xw WHERE A AS x")
    given = frame(spark, TIED, pieces=2, seed=1)
    alone = by_query(ost.detect_many({"q": query}, given).toArrow(), ["q"])
    same(by_query(ost.detect_many({"q": query, "other": other}, given).toArrow(), ["q", "other"]), alone)
    first = by_query(ost.detect_many({"other": other, "q": query}, given).toArrow(), ["q", "other"])
    again = frame(spark, TIED, pieces=5, seed=2)  # several queries share one order, whatever the pieces
    same(by_query(ost.detect_many({"other": other, "q": query}, again).toArrow(), ["q", "other"]), first)
    plain = ost.cel("A AS x : B AS y FILTER x.v > 0")
    assert plain.detect(given, events=False).count() == plain.detect(given, events=True).count()


def test_order_by_comes_first(spark: Any) -> None:
    query = ost.cel("A AS x : B AS y")
    found = query.detect(frame(spark, TIED, pieces=2, seed=1), order_by=["w", "a"])
    everything = ["w", "a", "type", "v"]
    assert rows(found) == rows(query.detect(TIED, order_by=everything, events=True))


# Skipped rows ---------------------------------------------------------------------------------------------------------

PREDICATES = [
    "x.f > 0", "x.f >= 0", "x.f < 1", "x.f <= 0", "x.f = 0", "x.f != 0", "0.5 <= x.f", "x.f IN (0, 0.5)", "x.f > 1e300",
    "x.v > 1", "1 < x.v", "x.v >= 2.5", "x.v = 2.0", "x.v IN (1, NULL)", "NOT x.v > 1", "x.v IS NULL", "x.v + 1 > 2",
    "x.v > 1 AND x.s = 'a'", "x.v > 1 OR x.s = 'a'", "x.v > 1 OR x.s LIKE 'a%'", "x.v > 1 AND x.s LIKE 'a%'",
    "x.s >= 'b'", "x.s < 'ü'", "x.s = ''", "x.s IN ('a', 'ü')", "NOT (x.s = 'a' OR x.v < 2)", "x.d > 1.5", "x.d = 2.25",
    "x.d IN (0, 1.5)", "x.at > TIMESTAMP '2026-01-01 12:00:00'", "x.ts >= TIMESTAMP '2026-01-01 00:00:20'",
    "x.b = TRUE", "x.b", "x.b AND x.v > 0", "x.b OR x.v > 3", "x.k = x.k", "x.v > x.k", "x.v BETWEEN 1 AND 2",
    "coalesce(x.v, 5) > 4",
]  # fmt: skip


@pytest.fixture(scope="module")
def values() -> pa.Table:
    """Every value beside every other."""
    table = stream(8, 80)
    return table.append_column("b", pa.array([(True, False, None)[place % 3] for place in range(len(table))]))


def kept(spark: Any, texts: list[str], table: pa.Table) -> dict[str, pa.Table]:
    """Which rows the filter of each query leaves; those without a filter are left out."""
    from pyspark.sql import functions as f

    given = spark.createDataFrame(table)
    read = prepare({str(place): ost.cel(text) for place, text in enumerate(texts)}, given)
    tests = {one.name: read.relevant_rows([one]) for one in read.queries}
    columns = [f.coalesce(test, f.lit(False)).alias(name) for name, test in tests.items() if test is not None]
    masks = given.select("n", *columns).toArrow().sort_by("n")
    return {texts[int(name)]: table.filter(masks[name]) for name in masks.column_names if name != "n"}


def test_skipped_rows_do_not_matter(spark: Any, values: pa.Table) -> None:
    texts = [f"A AS x ; B AS y FILTER {predicate} WITHIN 9 seconds" for predicate in PREDICATES]
    filtered = kept(spark, texts, values)
    for text, left in filtered.items():
        query = ost.cel(text)
        assert rows(query.detect(left, events=True)) == rows(query.detect(values, events=True)), text
    assert len(filtered) == len(texts)  # the types alone already are a filter
    assert all(len(left) < len(values) for left in filtered.values())


def test_skipped_rows_do_not_matter_to_random_queries(spark: Any) -> None:
    drawn: list[Query] = []

    @seed(3)
    @settings(max_examples=45, database=None, phases=[Phase.generate])
    @given(queries(wider_filters=True, items=False))
    def draw(query: Query) -> None:
        drawn.append(query)

    draw()
    table = stream(9, 14)
    texts = list(dict.fromkeys(to_text(query) for query in drawn))
    texts = [text for text in texts if ost.cel(text).count(table) < 500]
    filtered = kept(spark, texts, table)
    for text, left in filtered.items():
        query = ost.cel(text)
        assert rows(query.detect(left, events=True)) == rows(query.detect(table, events=True)), text
    assert sum(len(left) < len(table) for left in filtered.values()) > 5


@pytest.mark.parametrize(
    "text",
    [
        "SELECT STRICT * WHERE A AS x ; B AS y", "A AS x : B AS y", "A AS x ; B AS y WITHIN 5 EVENTS", "ANY AS x",
        "A AS x ; ANY AS y", "A AS x ; NOT ANY AS n ; B AS y", "(A AS x):+ ; B AS y",
    ],
)  # fmt: skip
def test_no_row_is_skipped_where_it_may_matter(spark: Any, text: str) -> None:
    assert not kept(spark, [text], stream(1, 3))


def test_files_are_skipped_and_only_columns_that_are_read(spark: Any, tmp_path: Path) -> None:
    pq.write_table(letters("ABC", v=[1, 2, 3], w=[1, 2, 3], k=[1, 2, 3]), tmp_path / "events.parquet")
    given = spark.read.parquet(str(tmp_path))
    query = ost.cel("A AS x ; B AS y FILTER x.v > 5 AND y.v <= 2 PARTITION BY k WITHIN 5 seconds")
    answer = query.detect(given, events=False)
    plan = answer._jdf.queryExecution().executedPlan().toString()
    (pushed,) = [line for line in plan.splitlines() if "PushedFilters" in line]
    for test in ("EqualTo(type,A)", "EqualTo(type,B)", "GreaterThan(v,5)", "LessThanOrEqual(v,2)"):
        assert test in pushed
    assert "ReadSchema: struct<ts:timestamp,type:string,v:bigint,k:bigint>" in pushed
    assert answer.count() == 0


# Types ----------------------------------------------------------------------------------------------------------------


def test_columns_of_any_type_come_back_as_they_were(spark: Any) -> None:
    given = spark.sql(
        """SELECT *, CAST(n AS byte) b8, CAST(n AS short) b16, CAST(n AS int) b32, CAST(n AS float) f32,
        CAST(n AS double) f64, CAST(n AS decimal(38, 10)) d38, n = 1 flag, CAST('x' AS binary) bytes,
        DATE '2026-01-01' day, TIMESTAMP_NTZ '2026-01-01 00:00:00' local, INTERVAL '1' DAY span,
        array(n, NULL) list, map('a', n) pairs, named_struct('p', n, 'q', array('z')) part,
        CAST('c' AS char(3)) c3, NULL nothing
        FROM VALUES (TIMESTAMP '2026-01-01 00:00:00Z', 'A', 1L), (TIMESTAMP '2026-01-01 00:00:01Z', 'B', 2L)
        AS t(ts, type, n)"""
    )
    query = "SELECT x, y, sum(y.d38) AS total, max(y.span) AS longest WHERE A AS x ; B AS y + WITHIN 5 seconds"
    found = ost.cel(query).detect(given).collect()
    expected = {row["type"]: row for row in given.collect()}
    assert [row["x"] for row in found] == [expected["A"]]
    assert [row["y"] for row in found] == [[expected["B"]]]
    assert found[0]["total"] == Decimal(2)
    assert found[0]["longest"] == timedelta(days=1)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.timestamp("us"), [datetime(2026, 1, 1, 0, 0, second) for second in range(12)]),
        (pa.date32(), [date(2026, 1, 1 + day) for day in range(12)]),
        (pa.int64(), list(range(12))),
        (pa.int16(), list(range(-6, 6))),
        (pa.float64(), [place / 4 for place in range(12)]),
        (pa.decimal128(9, 2), [Decimal(place) / 4 for place in range(12)]),
        (MOMENT, [datetime(1965, 3, 1, second, tzinfo=UTC) for second in range(12)]),
    ],
    ids=["no zone", "date", "long", "short", "double", "decimal", "before 1970"],
)
def test_times_of_any_type(spark: Any, kind: pa.DataType, values: list[Any]) -> None:
    table = letters("ABCABCABCABC").set_column(0, "ts", pa.array(values, kind))
    clauses = ("2 seconds", "2 days", "2 hours", "4 EVENTS")
    group = {clause: ost.cel(f"A AS x ; B AS y WITHIN {clause}") for clause in clauses}
    given = frame(spark, table, pieces=2, seed=1)
    if kind == pa.timestamp("us"):  # Spark takes it for one of the session's time zone
        given = given.withColumn("ts", given.ts.cast("timestamp_ntz"))
    found = ost.detect_many(group, given, parallel=3).toArrow()
    same(by_query(found, group), embedded(group, table, order_by=[]))


def test_another_time_zone(spark: Any) -> None:
    table = letters("ABAB", at=pa.array([datetime(2026, 3, 29, 1, tzinfo=UTC)] * 4, MOMENT))
    query = ost.cel(
        "SELECT x, y.at AS at, first(y.ts) AS ts WHERE A AS x ; B AS y FILTER y.at = TIMESTAMP '2026-03-29 01:00:00' "
        "WITHIN 2 seconds"
    )
    plain = ost.cel("A AS x ; B AS y WITHIN 2 seconds")
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        for parallel in (None, 2):
            for one in (query, plain):
                found = one.detect(frame(spark, table), parallel=parallel).toArrow()
                expected = one.detect(table, events=True)
                for name in found.column_names:
                    if pa.types.is_timestamp(expected[name].type):
                        assert sorted(found[name].to_pylist()) == sorted(expected[name].to_pylist())
                assert len(found) == len(expected) > 0
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT x.s.p.name, y.s.v WHERE A AS x ; B AS y FILTER x.s.v < y.s.v WITHIN 5 seconds",
        "SELECT x.t, y.ts - x.ts AS d WHERE A AS x ; B AS y FILTER x.t RLIKE '^[ac]' AND y.ts - x.ts < 3 seconds",
        "SELECT CASE WHEN x.s IS NULL THEN 'none' ELSE CAST(x.s.v AS text) END AS c WHERE A AS x",
        "SELECT count(DISTINCT x.t), last(x).s.p.name WHERE (A AS x)+ ; B WITHIN 4 seconds",
    ],
)  # fmt: skip
def test_expressions(spark: Any, text: str) -> None:
    nested = [{"v": n, "p": {"name": "ab"[n % 2]} if n % 3 else None} if n % 4 else None for n in range(12)]
    kind = pa.struct({"v": pa.int64(), "p": pa.struct({"name": pa.string()})})
    table = letters("AB" * 6, s=pa.array(nested, kind), t=list("abcabcabcabc"))
    query = ost.cel(text)
    assert rows(query.detect(frame(spark, table, pieces=3))) == rows(query.detect(table)) != []


def test_no_rows(spark: Any) -> None:
    none = frame(spark, EMPTY)
    for clause in ("", "PARTITION BY k", "WITHIN 3 seconds", "WITHIN 3 EVENTS"):
        for parallel in (None, 3):
            answer = ost.cel(f"A AS x ; B AS y {clause}").detect(none, parallel=parallel)
            assert answer.count() == 0
            assert answer.columns[-3:] == ["start", "end", "events"]


# In files -------------------------------------------------------------------------------------------------------------


def test_rows_that_do_not_fit_are_sorted_in_files(spark: Any) -> None:
    folder = Path(tempfile.gettempdir())
    before = set(folder.glob("ostinato-sort-*"))
    table = stream(4, 500)
    group: dict[str, CelQuery] = {
        "nxt": ost.cel("SELECT NXT * WHERE A AS x ; B AS y + ; C AS z WITHIN 5 seconds"),
        "key": ost.cel("A AS x ; B AS y PARTITION BY k WITHIN 3 seconds"),
    }
    for name, query in group.items():
        read = prepare({name: query}, frame(spark, table, pieces=3, seed=1), order_by=["n"])
        task = PatternTask({0: Unit(read.queries)}, read.output, budget=1000)
        found = read.frame.repartition(1).mapInArrow(task, read.output_type).toArrow()
        same(by_query(found, [name]), embedded({name: query}, table))
    assert set(folder.glob("ostinato-sort-*")) == before
