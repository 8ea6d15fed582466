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
    running = feed.write(QUERY.detect(feed.frame(), lateness="1 second"))
    found = spark.read.parquet(str(feed.sink)).toArrow()
    assert shown(found) == shown(expected) and len(expected) > 5
    told = [each.observedMetrics["ostinato"].asDict() for each in running.recentProgress if each.observedMetrics]
    assert sum(each["rows_read"] or 0 for each in told) == pc.sum(pc.greater(ROWS["price"], 0)).as_py() - first + 1
    other = ost.sql(QUERY.text.replace("n > 1", "n > 2"))
    feed.add(ROWS)
    with pytest.raises(Exception) as caught:
        feed.write(other.detect(feed.frame(), lateness="1 second"))
    assert "another query" in str(describe_failure(caught.value))


def test_what_cannot_stream_is_refused(spark: Any, tmp_path: Path) -> None:
    frame = Feed(spark, tmp_path, SCHEMA).frame()
    clause = "MATCH_RECOGNIZE (PARTITION BY {} ORDER BY {} MEASURES count(*) AS n PATTERN (A))"
    for keys, time, around, reason in (
        ("sym", "ts", " ORDER BY n", "orders rows"),
        ("sym", "ts", " GROUP BY n", "groups rows"),
        ("lower(sym)", "ts", "", "must be a column"),
        ("sym", "price", "", "needs a timestamp"),
    ):
        query = ost.sql(f"SELECT n FROM ticks {clause.format(keys, time)}{around}")
        with pytest.raises((QueryError, DataError), match=reason):
            query.detect(frame)
    query = ost.sql("SELECT * FROM ticks MATCH_RECOGNIZE (ORDER BY ts MEASURES 1 AS n PATTERN (A))")
    with pytest.raises(ost.OstinatoError, match="late rows"):
        query.detect(frame, on_late="collect")  # type: ignore[call-overload]
