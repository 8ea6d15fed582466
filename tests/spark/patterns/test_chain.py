"""What follows a stream of matches in the same streaming query: other steps with state see its event time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import ostinato as ost
from support.spark.patterns import Feed, cut, end_of_stream, shuffled, stream

EVENTS = stream(11, 120)
PAIRS = ost.cel("SELECT x.k AS k, x.n AS n WHERE A AS x ; B AS y PARTITION BY k WITHIN 4 seconds")
SILENT = ost.cel("SELECT x.k AS k, x.n AS n WHERE A AS x ; NOT B PARTITION BY k WITHIN 2 seconds")
AGAIN = ost.cel("SELECT a.n AS first, b.n AS second WHERE ANY AS a ; ANY AS b PARTITION BY k WITHIN 3 seconds")
TWICE = ost.rules("""
    DETECT twice { k { var K }, first { var I }, second { var J } }
    ON and { event a: pair {{ k { var K }, n { var I } }}, event b: pair {{ k { var K }, n { var J } }} }
    where { a before b, {a, b} within 20 s }
    END
""")


def run(spark: Any, folder: Path, answer_of: Any) -> pa.Table:
    """The rows that come of a stream of pairs, cut between events of one time, at once and after a restart."""
    pieces = [shuffled(piece, seed=2) for piece in cut(EVENTS, (7, 40, 80))]
    feed = Feed(spark, folder).add(*pieces[:2])
    feed.write(answer_of(feed.frame()))
    feed.add(*pieces[2:], end_of_stream())
    feed.write(answer_of(feed.frame()))
    return spark.read.parquet(str(feed.sink)).toArrow()


def rows(table: pa.Table, *names: str) -> list[str]:
    return sorted(repr([row[name] for name in names]) for row in table.to_pylist())


@pytest.mark.usefixtures("two_parts")
@pytest.mark.parametrize("pairs", [PAIRS, SILENT], ids=["pairs", "silent"])
def test_another_detect(spark: Any, tmp_path: Path, pairs: Any) -> None:
    options: dict[str, Any] = {"order_by": ["n"], "identity": True}

    def both(frame: Any) -> Any:
        found = pairs.detect(frame, lateness="0 seconds", **options)
        return AGAIN.detect(found, time="known", metrics="again", **options)

    expected = AGAIN.detect(pairs.detect(EVENTS, **options), time="known", **options)
    found = run(spark, tmp_path, both)
    columns = "first", "second", "match_id", "end"
    assert rows(found, *columns) == rows(expected, *columns) != []


@pytest.mark.usefixtures("two_parts")
def test_a_windowed_count_and_a_join(spark: Any, tmp_path: Path) -> None:
    from pyspark.sql import functions as f

    options: dict[str, Any] = {"order_by": ["n"], "identity": True}

    def counted(frame: Any) -> Any:
        found = PAIRS.detect(frame, lateness="1 second", **options)
        once = found.dropDuplicatesWithinWatermark(["match_id"])
        windows = once.groupBy(f.window("known", "5 seconds"), "k").agg(f.count("*").alias("pairs"))
        return windows.select(f.col("window.start").alias("start"), "k", "pairs")

    found = run(spark, tmp_path, counted)
    batch = PAIRS.detect(spark.createDataFrame(EVENTS), **options)
    windows = batch.groupBy(f.window("known", "5 seconds"), "k").agg(f.count("*").alias("pairs"))
    expected = windows.select(f.col("window.start").alias("start"), "k", "pairs").toArrow()
    assert rows(found, "start", "k", "pairs") == rows(expected, "start", "k", "pairs") != []


@pytest.mark.usefixtures("two_parts")
def test_rules(spark: Any, tmp_path: Path) -> None:
    from pyspark.sql import functions as f

    options: dict[str, Any] = {"order_by": ["n"], "identity": True}

    def twice(frame: Any) -> Any:
        found = PAIRS.detect(frame, lateness="0 seconds", **options).withColumn("type", f.lit("pair"))
        return TWICE.detect(found, begin="known", end="known", metrics="rules")

    pairs = PAIRS.detect(EVENTS, **options)
    pairs = pairs.append_column("type", pa.array(["pair"] * len(pairs)))
    expected = TWICE.detect(pairs, begin="known", end="known")
    assert rows(run(spark, tmp_path, twice), "k", "first", "second") == rows(expected, "k", "first", "second") != []
