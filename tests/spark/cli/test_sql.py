"""Queries in SQL on Spark from the command line: files of tables in, a folder out, batch and stream."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ostinato as ost
from support.commands import failed, run, write_inputs

NOON = datetime(2026, 7, 6, 12, tzinfo=UTC)
QUERY = """SELECT sym, since, n FROM ticks MATCH_RECOGNIZE (
    PARTITION BY sym ORDER BY ts MEASURES FIRST(ts) AS since, count(*) AS n
    PATTERN (STRT UP{2,}) WITHIN INTERVAL 1 HOUR DEFINE UP AS price > PREV(price)) WHERE n > 2"""
TICKS = pa.table({
    "sym": ["ab"[number * 5 % 7 % 2] for number in range(60)] + ["z"],
    "ts": pa.array([NOON + timedelta(seconds=number) for number in range(60)] + [NOON + timedelta(days=1)],
                   pa.timestamp("us", "UTC")),
    "price": [number * 17 % 60 for number in range(61)],
})  # fmt: skip


def rows(table: pa.Table) -> list[str]:
    return sorted(map(str, table.to_pylist()))


def test_batch_and_stream(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_inputs("v.sql", QUERY, TICKS)
    expected = rows(ost.sql(QUERY).detect(TICKS))
    on_spark = ("detect", "v.sql", "--engine", "spark", "--master", "local[2]")
    result = run(*on_spark, "--input", "ticks=events", "--output", "found")
    assert result.exit_code == 0, result.output
    assert rows(pq.read_table("found")) == expected and expected
    assert run(*on_spark, "--input", "events", "--count", "--limit-seconds", "60").stdout == f"{len(expected)}\n"
    result = run(*on_spark, "--input", "events", "--stream", "--once", "--lateness", "1 hour", "--output", "streamed")
    assert result.exit_code == 0 and "0 late" in result.stderr, result.output
    assert rows(pq.read_table("streamed")) == expected
    failed(run(*on_spark, "--input", "events", "--once"), 2, "--once is for --stream")
    failed(run(*on_spark, "--input", "events", "--sort"), 2, "--sort is not for queries in SQL")
    failed(run("detect", "v.sql", "--input", "events/1.parquet", "--stream"), 2, "--stream is for --engine spark")
    Path("o.sql").write_text(f"{QUERY} ORDER BY n", encoding="utf-8")
    failed(run("detect", "o.sql", *on_spark[2:], "--input", "events", "--stream"), 2, "orders rows")
