"""What the tests of Spark share: one random stream, queries of every kind over it, and ways to run them."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import ostinato as ost
from ostinato.patterns.query import PatternQuery

START = datetime(2026, 1, 1, tzinfo=UTC)
FOREVER = datetime(2100, 1, 1, tzinfo=UTC)

# n: a number of its own for each row, rising with time; m: one that rises among the rows of one k.
SCHEMA = pa.schema(
    {
        "ts": pa.timestamp("us", tz="UTC"),
        "n": pa.int64(),
        "type": pa.string(),
        "v": pa.int64(),
        "s": pa.string(),
        "k": pa.int64(),
        "m": pa.int64(),
        "f": pa.float64(),
        "d": pa.decimal128(9, 2),
        "at": pa.date32(),
        "tags": pa.list_(pa.string()),
        "t": pa.timestamp("us", tz="UTC"),
        "o": pa.struct({"v": pa.int64(), "p": pa.struct({"s": pa.string()})}),
    }
)


def stream(seed: int, size: int) -> pa.Table:
    """Rows in order of time, many of them at equal times, with NULL, NaN and -0.0 among their values."""
    pick = random.Random(seed)
    rows, seconds = [], 0.0
    for n in range(size):
        seconds += pick.choice((0, 0, 0.000001, 0.25, 1, 1, 2))
        k = pick.choice((1, 1, 2, 3, None))
        rows.append(
            {
                "ts": START + timedelta(seconds=seconds),
                "n": n,
                "type": pick.choice("AAABBBCCD"),
                "v": pick.choice((1, 2, 3, 4, 0, -1, None)),
                "s": pick.choice(("a", "b", "ab", "", "ü", None)),
                "k": k,
                "m": n - 1000 * (k or 0),
                "f": pick.choice((0.5, 1.5, float("nan"), -0.0, 0.0, None)),
                "d": pick.choice((Decimal("1.50"), Decimal("2.25"), Decimal("0.00"), None)),
                "at": (START + timedelta(days=pick.choice((0, 1)))).date(),
                "tags": pick.choice((["x"], [], ["x", None], None)),
                "t": None if n % 7 == 6 else START + timedelta(seconds=seconds),
                "o": None if k is None else {"v": n % 4 - 1, "p": {"s": "ab"[n % 2]} if n % 3 else None},
            }
        )
    return pa.Table.from_pylist(rows, SCHEMA)


EMPTY = SCHEMA.empty_table()


def end_of_stream(schema: pa.Schema = SCHEMA) -> pa.Table:
    """A row of no type that any query names, after which the stream is over."""
    return pa.Table.from_pylist([{"ts": FOREVER, "n": 10**9, "m": 10**9}], schema)


def shuffled(table: pa.Table, seed: int) -> pa.Table:
    return table.take(pa.array(np.random.default_rng(seed).permutation(len(table))))


# Queries whose answer depends on no more than a window of the past.
_BOUNDED = {
    "all": "A AS x ; B AS y WITHIN 4 seconds",
    "all-events": "A AS x ; B AS y WITHIN 6 EVENTS",
    "nxt": "SELECT NXT * WHERE A AS x ; B AS y + ; C AS z WITHIN 5 seconds",
    "nxt-events": "SELECT NXT * WHERE A AS x ; B AS y + ; C AS z WITHIN 8 EVENTS",
    "last": "SELECT LAST * WHERE A AS x ; B AS y + ; C AS z WITHIN 5 seconds",
    "max": "SELECT MAX * WHERE A AS x + ; B AS y WITHIN 5 seconds",
    "max-events": "SELECT MAX * WHERE A AS x + ; B AS y WITHIN 7 EVENTS",
    "strict": "SELECT STRICT * WHERE A AS x ; B AS y WITHIN 3 seconds",
    "at-once": "A AS x : ANY AS y : C AS z WITHIN 10 seconds",
    "in-a-row": "A AS x ; B AS y :+ ; C AS z WITHIN 8 EVENTS",
    "no-time": "A AS x ; B AS y WITHIN 0 seconds",
    "any": "D AS x ; ANY AS y WITHIN 1 seconds",
    "not-any": "A AS x ; (NOT ANY AS n FILTER n.v > 1) ; C AS y WITHIN 4 seconds",
    "shows-nothing": "SELECT x.v AS nothing_x WHERE D AS x OR (B AS y ; C AS z) PARTITION BY k WITHIN 3 seconds",
    "or": "(A AS x OR D AS x) ; C AS y FILTER x.v > 1 AND y.v < 4 WITHIN 4 seconds",
    "absent": "A AS x ; (NOT B AS n FILTER n.v > 1) ; C AS y WITHIN 6 seconds",
    "text": "A AS x ; B AS y FILTER x.s = 'a' AND y.s LIKE '_' WITHIN 6 seconds",
    "null": "A AS x ; B AS y FILTER x.v IS NULL AND y.s IS NOT NULL WITHIN 10 seconds",
    "nan": "A AS x ; B AS y FILTER x.f >= 0 AND y.f < 1 WITHIN 10 seconds",
    "labels": "SELECT x.v AS labels_x, y.n AS labels_y WHERE A AS x ; B AS y WITHIN 5 seconds",
    "hidden": "SELECT x.n AS hidden_x WHERE A AS x ; B AS y ; C AS z WITHIN 6 seconds",
    "hidden-events": "SELECT z.v AS hidden_z WHERE A AS x ; B AS y ; C AS z WITHIN 7 EVENTS",
    "aggregates": (
        "SELECT count(y) AS a_count, sum(y.v) AS a_sum, avg(y.v) AS a_avg, min(y.f) AS a_min, max(y.s) AS a_max, "
        "first(y.n) AS a_first, last(y.at) AS a_last, sum(y.d) AS a_dsum, y.v AS a_all "
        "WHERE A AS x ; B AS y + ; C AS z WITHIN 6 seconds"
    ),
    "rows": "SELECT x AS row_x, y AS row_y WHERE A AS x ; B AS y + ; C AS z WITHIN 5 seconds",
    "max-rows": "SELECT MAX x AS row_x2, count(y) AS row_y2 WHERE A AS x ; B AS y + ; C AS z WITHIN 5 seconds",
    "key": "A AS x ; B AS y PARTITION BY k WITHIN 8 seconds",
    "key-events": "A AS x ; B AS y PARTITION BY k WITHIN 4 EVENTS",
    "key-at-once": "A AS x : B AS y PARTITION BY k WITHIN 20 seconds",
    "key-strict": "SELECT STRICT * WHERE A AS x ; B AS y ; C AS z PARTITION BY k WITHIN 20 EVENTS",
    "keys": "SELECT NXT * WHERE A AS x ; B AS y PARTITION BY k, s WITHIN 30 seconds",
    "float-key": "A AS x ; B AS y PARTITION BY f WITHIN 8 seconds",
    "decimal-key": "A AS x ; B AS y PARTITION BY d WITHIN 8 seconds",
    "text-key": "SELECT LAST * WHERE A AS x + ; B AS y PARTITION BY s WITHIN 8 seconds",
    "date-key": "A AS x ; B AS y ; D AS z PARTITION BY at WITHIN 6 seconds",
    "key-labels": "SELECT y.k AS key_k, sum(x.v) AS key_sum WHERE A AS x + ; B AS y PARTITION BY k WITHIN 8 seconds",
    "tied": "A AS x ; B AS y FILTER x.k = y.k WITHIN 8 seconds",
    "tied-events": "A AS x ; B AS y FILTER x.k = y.k WITHIN 6 EVENTS",
    "tied-float": "A AS x ; B AS y FILTER x.f = y.f WITHIN 8 seconds",
    "tied-at-once": "A AS x : B AS y FILTER x.k = y.k WITHIN 20 seconds",
    "tied-strict": "SELECT STRICT * WHERE A AS x ; B AS y FILTER x.k = y.k WITHIN 20 seconds",
    "tied-less": "A AS x ; B AS y ; C AS z FILTER x.k = y.k AND y.k = z.k AND x.v < z.v WITHIN 20 seconds",
    "less": "A AS x ; B AS y FILTER x.v < y.v AND x.s != y.s WITHIN 5 seconds",
    "less-events": "A AS x ; B AS y FILTER x.v + y.v > 4 OR x.f < y.f WITHIN 6 EVENTS",
    "less-key": "A AS x ; (B AS y FILTER y.v > x.v)+ ; C AS z FILTER z.d >= x.d PARTITION BY k WITHIN 12 seconds",
    "less-text": "SELECT x.s AS less_x, y.s AS less_y WHERE A AS x ; B AS y FILTER x.s < y.s WITHIN 4 seconds",
    "less-nxt": "SELECT NXT * WHERE A AS x ; B AS y + ; C AS z FILTER x.v <= z.v WITHIN 5 seconds",
    "less-absent": "A AS x ; (NOT B AS n FILTER n.v > x.v) ; C AS y FILTER x.at = y.at WITHIN 6 seconds",
}

# Queries for which the whole past may count, or time must pass before they answer.
_UNBOUNDED = {
    "far": "D AS x ; C AS y FILTER x.v > 0 AND y.v > 0",
    "far-nxt": "SELECT NXT * WHERE D AS x ; A AS y + ; C AS z FILTER z.v > 1",
    "far-last": "SELECT LAST * WHERE A AS x ; D AS y + ; C AS z",
    "far-strict": "SELECT STRICT * WHERE A AS x ; B AS y",
    "far-hidden": "SELECT x.v AS far_x WHERE D AS x ; C AS y",
    "on": "A AS x ; B AS y WITHIN 5 ON n",
    "on-key": "A AS x ; B AS y PARTITION BY k WITHIN 12 ON m",
    "consume": "A AS x ; B AS y CONSUME BY ANY",
    "consume-window": "A AS x ; B AS y WITHIN 5 seconds CONSUME BY ANY",
    "consume-key": "A AS x ; B AS y PARTITION BY k CONSUME BY PARTITION",
    "consume-any-key": "A AS x ; B AS y PARTITION BY k WITHIN 20 seconds CONSUME BY ANY",
    "skip": "A AS x ; B AS y WITHIN 5 seconds AFTER MATCH SKIP TO LAST y",
    "skip-key": "A AS x ; B AS y ; C AS z PARTITION BY k AFTER MATCH SKIP TO NEXT ROW",
    "limit": "A AS x ; B AS y WITHIN 5 seconds LIMIT 3",
    "limit-key": "SELECT FIRST * WHERE A AS x + ; B AS y PARTITION BY k",
    "key-far": "A AS x ; D AS y PARTITION BY k",
    "tied-far": "D AS x ; C AS y FILTER x.s = y.s",
    "tied-consume": "A AS x ; B AS y FILTER x.k = y.k CONSUME BY ANY",
    "trailing": "A AS x ; NOT B AS n WITHIN 2 seconds",
    "trailing-key": "A AS x ; C AS y ; (NOT B AS n FILTER n.v > 0) PARTITION BY k WITHIN 10 seconds",
    "trailing-max": "SELECT MAX * WHERE A AS x + ; NOT B AS n WITHIN 2 seconds",
    "less-consume": "A AS x ; B AS y FILTER x.v < y.v CONSUME BY ANY",
    "trailing-less": "A AS x ; (NOT B AS n FILTER n.v = x.v AND n.n > x.n) WITHIN 8 seconds",
    "trailing-labels": (
        "SELECT x.n AS waiting_x, count(y) AS waiting_y WHERE A AS x ; C AS y + ; NOT B AS n WITHIN 4 seconds"
    ),
}


# Segments without a gap, in the whole stream or among the rows of a key.
_SREM = {
    "srem": "[type = 'A'] -> r . true* . [type = 'B' and v = r.v] WITHIN 5 EVENTS",
    "srem-loop": "[type = 'A'] . [type = 'B']+ WITHIN 5 seconds",
    "srem-any": "[type = 'D'] -> r . true* . [v = r.v] WITHIN 3 seconds",
    "srem-time": "[v > 0] -> r . ([v >= r.v] -> r)+ WITHIN 3 seconds",
    "srem-key": "true -> r . ([v > r.v] -> r)+ . [v < r.v] PARTITION BY k WITHIN 20 seconds",
}

BOUNDED: dict[str, PatternQuery] = {name: ost.cel(text) for name, text in _BOUNDED.items()}
BOUNDED |= {name: ost.srem(text) for name, text in _SREM.items()}
UNBOUNDED: dict[str, PatternQuery] = {name: ost.cel(text) for name, text in _UNBOUNDED.items()}
QUERIES = BOUNDED | UNBOUNDED


def frame(spark: Any, table: pa.Table, *, pieces: int = 1, seed: int | None = None) -> Any:
    """The rows as a Spark DataFrame of so many partitions, in another order with a seed."""
    given = spark.createDataFrame(shuffled(table, seed) if seed is not None else table)
    return given.repartition(pieces) if pieces > 1 else given


def embedded(queries: Mapping[str, PatternQuery], table: pa.Table, **options: Any) -> dict[str, list[str]]:
    """The answers without Spark."""
    options = {"events": True, "order_by": ["n"], **options}
    return by_query(ost.detect_many(queries, table, **options), queries)


def by_query(answer: pa.Table, queries: Iterable[str]) -> dict[str, list[str]]:
    """The matches of each query, as texts in an order of their own; without positions, which Spark has none of.

    NULL is left out, since the answer of several queries has it for the columns of others.
    """
    found: dict[str, list[str]] = {name: [] for name in queries}
    for row in answer.to_pylist():
        values = {name: value for name, value in row.items() if value is not None and name != "positions"}
        found[values.pop("query")].append(repr(sorted(values.items())))
    return {name: sorted(rows) for name, rows in found.items()}


def same(found: Mapping[str, list[str]], expected: Mapping[str, list[str]]) -> None:
    """Say which queries differ, and in what."""
    wrong = []
    for name in expected:
        if found[name] != expected[name]:
            missing = [row for row in expected[name] if row not in found[name]]
            surplus = [row for row in found[name] if row not in expected[name]]
            counts = f"{len(found[name])} matches, not {len(expected[name])}"
            wrong.append(f"{name}: {counts}; missing {missing[:2]}; too many {surplus[:2]}")
    assert not wrong, "\n".join(wrong)


def cut(table: pa.Table, places: Sequence[int]) -> list[pa.Table]:
    return [table.slice(start, end - start) for start, end in pairwise([0, *places, len(table)])]


class Feed:
    """A folder that Spark watches; each table that is added becomes one micro-batch."""

    def __init__(self, spark: Any, folder: Path, schema: pa.Schema = SCHEMA) -> None:
        self.spark, self.folder, self.schema = spark, folder, schema
        self.source, self.sink, self.checkpoint = folder / "in", folder / "out", folder / "checkpoint"
        self.source.mkdir(parents=True)
        self.files = 0

    def add(self, *tables: pa.Table) -> Feed:
        for table in tables:
            path = self.source / f"{self.files}.parquet"
            pq.write_table(table, self.folder / "new.parquet")
            (self.folder / "new.parquet").rename(path)
            os.utime(path, (1_500_000_000 + self.files,) * 2)  # Spark takes the older files first
            self.files += 1
        return self

    def frame(self) -> Any:
        schema = self.spark.createDataFrame(self.schema.empty_table()).schema
        return self.spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(self.source))

    def run(self, queries: Mapping[str, PatternQuery], **options: Any) -> Any:
        """Look for the queries in all files that are there, from where the last run stopped."""
        return self.write(ost.detect_many(queries, self.frame(), **{"order_by": ["n"]} | options))

    def write(self, answer: Any) -> Any:
        """Write down an answer to `frame` as far as it goes now; gives Spark's query, which has ended."""
        running = (
            answer.writeStream.format("parquet")
            .option("path", str(self.sink))
            .option("checkpointLocation", str(self.checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        running.awaitTermination()
        return running

    def found(self, queries: Iterable[str]) -> dict[str, list[str]]:
        """All matches written so far."""
        return by_query(self.spark.read.option("mergeSchema", "true").parquet(str(self.sink)).toArrow(), queries)


def metrics(running: Any, query: str) -> list[dict[str, int]]:
    """The counts of a query, one dict for each micro-batch that told some."""
    told = [progress.observedMetrics["ostinato"].asDict() for progress in running.recentProgress
            if "ostinato" in progress.observedMetrics]  # fmt: skip
    prefix = f"{query}."
    return [{name.removeprefix(prefix): count or 0 for name, count in row.items() if name.startswith(prefix)}
            for row in told]  # fmt: skip
