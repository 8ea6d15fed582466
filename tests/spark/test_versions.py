"""Every language and every way on one version of Spark: what `make test-spark-versions` runs on each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.spark import register
from ostinato.spark.failures import describe_failure
from support.spark.patterns import FOREVER, START, Feed, cut
from support.spark.settings import changed

SCHEMA = pa.schema({"ts": pa.timestamp("us", tz="UTC"), "type": pa.string(), "v": pa.int64(), "k": pa.string()})
EVENTS = pa.Table.from_pylist(
    [
        {"ts": START + timedelta(seconds=second), "type": "ABAC"[second % 4], "v": second % 5, "k": f"k{second % 3}"}
        for second in range(48)
    ],
    SCHEMA,
)
END = pa.Table.from_pylist([{"ts": FOREVER, "type": "end", "v": 0, "k": "end"}], SCHEMA)
CEL = ost.cel("SELECT x.k AS k, y.v AS v WHERE A AS x ; B AS y FILTER x.v < y.v PARTITION BY k WITHIN 20 seconds")
SREM = ost.srem("[type = 'A'] -> r . [v > r.v] PARTITION BY k WITHIN 20 seconds")
PATTERNS = {
    "cel": CEL,
    "srem": SREM,
    # Time alone completes it: a timer must wake it.
    "absent": ost.cel("SELECT x.k AS k, x.v AS v WHERE A AS x ; NOT B AS n PARTITION BY k WITHIN 9 seconds"),
}
RULES = ost.rules("""
    DETECT pair { k { var K }, v { var W } }
    ON and { event a: A {{ k { var K }, v { var V } }}, event b: B {{ k { var K }, v { var W } }} }
    where { a before b, {a, b} within 20 sec, var V < var W } END
""")
SQL = ost.sql("""
    SELECT k, v FROM events MATCH_RECOGNIZE (
        PARTITION BY k ORDER BY ts MEASURES LAST(UP.v) AS v PATTERN (A UP+) WITHIN INTERVAL 1 MINUTE
        DEFINE A AS type = 'A', UP AS v > PREV(v))
""")
FORECASTER = ost.Forecaster(ost.cel("A AS x ; B AS y PARTITION BY k WITHIN 4 EVENTS"), order=1, horizon=9, holdout=0)
MODEL = FORECASTER.fit(EVENTS)

# By language: its answer to a DataFrame, or to a table.
LANGUAGES: Mapping[str, Callable[[Any], Any]] = {
    "patterns": lambda events: ost.detect_many(PATTERNS, events, events=True),
    "rules": RULES.detect,
    "sql": SQL.detect,
    "forecast": MODEL.forecast,
}
DOCUMENTS = ["<r><a/><a><b/></a></r>", '{"a": [{"b": 1}, {"c": 2}]}']
XSEQ = ost.xseq("//a")


def shown(answer: pa.Table, like: pa.Table) -> list[str]:
    """Rows as texts, in an order of their own. Positions come without Spark alone, all columns of events with it."""
    names = [name for name in like.column_names if name != "positions"]
    return sorted(map(repr, answer.select(names).to_pylist()))


def frame(spark: Any) -> Any:
    return spark.createDataFrame(EVENTS)


@pytest.mark.parametrize("language", LANGUAGES)
def test_batch(spark: Any, language: str) -> None:
    answer = LANGUAGES[language]
    expected = answer(EVENTS)
    assert shown(answer(frame(spark).repartition(2)).toArrow(), expected) == shown(expected, expected) != []


@pytest.mark.parametrize("language", LANGUAGES)
def test_stream(spark: Any, tmp_path: Path, language: str) -> None:
    """On from the checkpoint in a session with another number of shuffle partitions: it keeps its buckets."""
    feed, answer = Feed(spark, tmp_path, SCHEMA), LANGUAGES[language]
    parts = cut(EVENTS, [30])
    for count, added in (("2", parts[:1]), ("3", [parts[1], END])):
        feed.add(*added)
        with changed(spark, {"spark.sql.shuffle.partitions": count}):
            running = feed.write(answer(feed.frame()))
    assert language == "forecast" or any("ostinato" in each.observedMetrics for each in running.recentProgress)
    found = spark.read.parquet(str(feed.sink)).toArrow()
    if language == "forecast":  # every row comes back, also the one that ends the stream
        found = found.filter(pa.compute.not_equal(found["k"], "end"))
    expected = answer(EVENTS)
    assert shown(found, expected) == shown(expected, expected) != []


def test_other_buckets_are_refused(spark: Any, tmp_path: Path) -> None:
    feed = Feed(spark, tmp_path, SCHEMA).add(EVENTS)
    feed.write(CEL.detect(feed.frame()))
    with pytest.raises(Exception) as caught:
        feed.add(END).write(CEL.detect(feed.frame(), buckets=7))
    assert "the checkpoint was begun with buckets=4, now it is 7" in str(describe_failure(caught.value))


@pytest.mark.parametrize("partition_by", ["", " PARTITION BY (k)"])
def test_table_function(spark: Any, partition_by: str) -> None:
    register(spark)
    frame(spark).createOrReplaceTempView("versions")
    text = SREM.text.replace(" PARTITION BY k", "") if partition_by else SREM.text
    found = spark.sql(
        f"SELECT * FROM ostinato_detect(TABLE(versions){partition_by}, \"{text}\", language => 'srem')"
    ).toArrow()
    assert found.num_rows == SREM.detect(EVENTS).num_rows > 0


def test_documents(spark: Any) -> None:
    frame = spark.createDataFrame([(text,) for text in (*DOCUMENTS, "<broken>")], "text string")
    errors = [row.error for row in XSEQ.detect(frame).collect()]
    assert errors.count(None) == sum(XSEQ.detect(text.encode()).num_rows for text in DOCUMENTS) > 2
    assert len(errors) - errors.count(None) == 1


def test_learning(spark: Any) -> None:
    found = FORECASTER.fit(frame(spark))
    assert found.statistics.completions == MODEL.statistics.completions > 0


def test_what_python_cannot_take_is_said(spark: Any) -> None:
    intervals = spark.sql("SELECT current_timestamp() AS ts, 'A' AS type, 'x' AS k, INTERVAL '1' YEAR AS v")
    with pytest.raises(ost.DataError, match="`v` is of type interval year, which cannot be handed to Python"):
        CEL.detect(intervals)
