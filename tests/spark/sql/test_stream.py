"""MATCH_RECOGNIZE over streams: the rows of the whole table, on from a checkpoint; what is refused."""

from __future__ import annotations

import random
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import ostinato as ost
from ostinato.errors import DataError, QueryError
from ostinato.spark.failures import describe_failure
from support.spark.patterns import FOREVER, START, Feed, cut, shuffled

SCHEMA = pa.schema([("sym", pa.string()), ("ts", pa.timestamp("us", "UTC")), ("price", pa.int64())])
_random = random.Random(8)
ROWS = pa.Table.from_pylist(
    [{"sym": _random.choice("abcd"), "ts": START + timedelta(seconds=second), "price": _random.randrange(12)}
     for second in range(240)], SCHEMA)  # fmt: skip
# A row of a partition of its own: time has passed all others.
END = pa.Table.from_pylist([{"sym": "z", "ts": FOREVER, "price": 1}], SCHEMA)
QUERY = ost.sql("""
    SELECT sym, since, length * 10 AS tenfold FROM (SELECT sym, ts, price + 1 AS price FROM ticks WHERE price > 0)
    MATCH_RECOGNIZE (
        PARTITION BY sym ORDER BY ts
        MEASURES FIRST(ts) AS since, count(*) AS length, MATCH_NUMBER() AS n
        PATTERN (STRT DOWN+ UP*) WITHIN INTERVAL 1 MINUTE
        DEFINE DOWN AS price < PREV(price), UP AS price > FIRST(DOWN.price))
    WHERE n > 1""")


def shown(table: pa.Table) -> list[str]:
    return sorted(map(str, table.to_pylist()))


@pytest.mark.usefixtures("two_parts")
def test_the_rows_of_the_whole_table(spark: Any, tmp_path: Path) -> None:
    """Shuffled inside each batch; on from a checkpoint after the first of them."""
    feed = Feed(spark, tmp_path, SCHEMA)
    batches = [shuffled(part, seed) for seed, part in enumerate(cut(ROWS, [50, 51, 160]))]
    expected = QUERY.detect(ROWS)
    first = pc.sum(pc.greater(batches[0]["price"], 0)).as_py()
    feed.add(*batches[:1])
    feed.write(QUERY.detect(feed.frame(), lateness="1 second"))
    feed.add(*batches[1:], END)
    spaced = ost.sql(QUERY.text.replace("WHERE price", "\n  -- only those\n  WHERE  price") + ";")
    more = feed.frame().selectExpr("sym AS place", "*")  # which the query does not read
    running = feed.write(spaced.detect(more, lateness="1 second"))
    found = spark.read.parquet(str(feed.sink)).toArrow()
    assert shown(found) == shown(expected) and len(expected) > 5
    told = [each.observedMetrics["ostinato"].asDict() for each in running.recentProgress if each.observedMetrics]
    assert sum(each["rows_read"] or 0 for each in told) == pc.sum(pc.greater(ROWS["price"], 0)).as_py() - first + 1
    feed.add(ROWS)
    narrower = feed.frame().selectExpr("sym", "ts", "CAST(price AS int) AS price")
    assert "`price` was int64" in failure(feed, QUERY.detect(narrower, lateness="1 second"))
    other = ost.sql(QUERY.text.replace("n > 1", "n > 2"))
    assert "another query" in failure(feed, other.detect(feed.frame(), lateness="1 second"))


def failure(feed: Feed, answer: Any) -> str:
    from pyspark.errors import PySparkException

    with pytest.raises(PySparkException) as caught:
        feed.write(answer)
    return str(describe_failure(caught.value))


def test_computed_keys_and_late_rows(spark: Any, tmp_path: Path) -> None:
    """Late rows pass the query around the clause, which leaves others out, and have nothing else in their rows."""
    query = ost.sql("""
        SELECT t.*, 7 AS seven FROM (
            SELECT day, prices FROM ticks MATCH_RECOGNIZE (
                PARTITION BY sym = 'a', price % 2 ORDER BY ts + INTERVAL 1 DAY
                MEASURES FIRST(CAST(ts AS VARCHAR)) AS day, array_agg(price) AS prices, count(*) AS n
                PATTERN (A B) WITHIN INTERVAL 1 MINUTE DEFINE B AS price > A.price) AS m(a, even, day, prices, n)
            WHERE n > 1 AND prices[0] > 2) AS t""")
    late = [{"sym": "late", "ts": START - timedelta(hours=1), "price": number} for number in range(3)]
    batches = cut(ROWS, [100])
    batches[1] = pa.concat_tables([batches[1], pa.Table.from_pylist(late, SCHEMA)])
    feed = Feed(spark, tmp_path, SCHEMA).add(*batches, END)
    running = feed.write(query.detect(feed.frame(), lateness="1 second", on_late="collect"))
    rows = spark.read.parquet(str(feed.sink)).toArrow().to_pylist()
    assert all((row["late"] is None) == (row["seven"] == 7) for row in rows)
    assert sorted(row["late"]["price"] for row in rows if row["late"]) == [0, 1, 2]
    assert [row["late"]["sym"] for row in rows if row["late"]] == ["late"] * 3
    frame = spark.createDataFrame(ROWS)
    expected = query.detect(frame).toArrow()
    found = pa.Table.from_pylist([row for row in rows if not row["late"]]).drop_columns("late")
    assert shown(found) == shown(expected) and len(expected) > 5
    told = [each.observedMetrics["ostinato"].asDict() for each in running.recentProgress if each.observedMetrics]
    assert sum(each["late"] or 0 for each in told) == 3


def test_what_cannot_stream_is_refused(spark: Any, tmp_path: Path) -> None:
    frame = Feed(spark, tmp_path, SCHEMA).frame()
    clause = "MATCH_RECOGNIZE (PARTITION BY {} ORDER BY {} MEASURES count(*) AS n PATTERN (A))"
    for keys, time, around, reason in (
        ("sym", "ts", " ORDER BY n", "orders rows"),
        ("sym", "ts", " GROUP BY n", "groups rows"),
        ("sym", "price", "", "needs a timestamp"),
        ("sym", "price + 1", "", "needs a timestamp"),
    ):
        query = ost.sql(f"SELECT n FROM ticks {clause.format(keys, time)}{around}")
        with pytest.raises((QueryError, DataError), match=reason):
            query.detect(frame)
    given = frame.withWatermark("ts", "1 minute")
    with pytest.raises(QueryError, match="the watermark of the stream is on `ts`"):
        ost.sql(f"SELECT n FROM ticks {clause.format('sym', 'ts + INTERVAL 1 DAY')}").detect(given)
    for selected, reason in (("n AS late", "a column `late` already"), ("struct(*) AS n", "takes all columns")):
        query = ost.sql(f"SELECT {selected} FROM ticks {clause.format('sym', 'ts')}")
        with pytest.raises(ost.OstinatoError, match=reason):
            query.detect(frame, on_late="collect")
