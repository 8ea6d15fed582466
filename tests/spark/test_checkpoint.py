"""Queries that change between two runs of a streaming job over one checkpoint."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import StreamingQueryException

import ostinato as ost
from support.spark.jobs.workload import LATENESS, ORDER, QUERIES, SPARK_SCHEMA, counted, events, read_back


class Stream:
    """A folder that is read to its end, again and again, with any queries."""

    def __init__(self, spark: Any, folder: Path) -> None:
        self.spark, self.folder = spark, folder
        (folder / "events").mkdir()

    def add(self, name: str, rows: pa.Table) -> None:
        pq.write_table(rows, self.folder / "events" / f"{name}.parquet")

    def run(self, queries: dict[str, str], **options: Any) -> None:
        rows = self.spark.readStream.schema(SPARK_SCHEMA).parquet(str(self.folder / "events"))
        compiled = {name: ost.cel(text) for name, text in queries.items()}
        options = {"order_by": ORDER, "lateness": LATENESS, "buckets": 2} | options
        found = ost.detect_many(compiled, rows, **options)
        writer = found.writeStream.option("checkpointLocation", str(self.folder / "checkpoint"))
        job = writer.trigger(availableNow=True).format("parquet").start(str(self.folder / "matches"))
        try:
            job.awaitTermination()
        finally:
            job.stop()

    def matches(self, query: str) -> Counter[str]:
        return read_back(self.spark.read.parquet(str(self.folder / "matches")).filter(f"query = '{query}'"))


def embedded(query: str, rows: pa.Table) -> Counter[str]:
    """With the columns that the other query brings along."""
    both = {name: ost.cel(QUERIES[name]) for name in ("keyed", "pair")}
    answer = ost.detect_many(both, rows, events=True, order_by=ORDER).drop_columns(["positions"])
    return counted(row for row in answer.to_pylist() if row["query"] == query)


def test_an_added_query_starts_fresh_and_a_changed_one_is_refused(spark: Any, tmp_path: Path) -> None:
    table = events(200)
    before, after = table.slice(0, 100), table.slice(100)
    stream = Stream(spark, tmp_path)
    stream.add("before", before)
    stream.run({"keyed": QUERIES["keyed"]})
    stream.add("after", after)
    stream.run({"keyed": QUERIES["keyed"], "pair": QUERIES["pair"]})
    assert stream.matches("keyed") == embedded("keyed", table)
    assert stream.matches("pair") == embedded("pair", after) != Counter()
    stream.add("more", before.set_column(0, "ts", pa.repeat(table["ts"][-1], len(before))))
    with pytest.raises(StreamingQueryException, match="the checkpoint holds the state of another query 'keyed'"):
        stream.run({"keyed": QUERIES["keyed"].replace("20 seconds", "30 seconds"), "pair": QUERIES["pair"]})


def test_what_is_refused_changes_nothing(spark: Any, tmp_path: Path) -> None:
    """Another key, another number of buckets: an error before anything is committed, and the stream can go on."""
    table = events(200)
    stream = Stream(spark, tmp_path)
    stream.add("before", table.slice(0, 100))
    stream.run({"keyed": QUERIES["keyed"]})
    stream.add("after", table.slice(100))
    for text, options, reason in (
        (QUERIES["keyed"].replace("PARTITION BY key", ""), {}, "the checkpoint holds the state of another query"),
        (QUERIES["keyed"], {"buckets": 3}, "begun with buckets=2, now it is 3"),
        (QUERIES["keyed"], {"events": False}, "had other columns when the checkpoint was begun"),
    ):
        with pytest.raises(StreamingQueryException, match=reason):
            stream.run({"keyed": text}, **options)
    stream.run({"keyed": QUERIES["keyed"]})
    answer = ost.cel(QUERIES["keyed"]).detect(table, events=True, order_by=ORDER).drop_columns(["positions"])
    assert stream.matches("keyed") == counted({"query": "keyed"} | row for row in answer.to_pylist())
