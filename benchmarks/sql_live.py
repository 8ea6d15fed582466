"""Rows pushed into the live engine of MATCH_RECOGNIZE, alone and in batches, and what a key costs.

    python benchmarks/sql_live.py

CPU time of one thread. With `--keys`, each row has a key of its own that never comes again.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

import ostinato as ost

WARM = 20_000
_SINCE = "MEASURES FIRST(ts) AS since, LAST(ts) AS till"
QUERIES = {
    "PREV": f"{_SINCE} PATTERN (S D+ U+) DEFINE D AS price < PREV(price), U AS price > PREV(price)",
    "PREV, computed": f"{_SINCE} PATTERN (A B+) DEFINE B AS price - PREV(price) > 0.1 * q - 4",
    "own columns": f"{_SINCE} PATTERN (A B+ C) DEFINE A AS q > 50, B AS q < 80, C AS q > 90",
    "running sum": f"{_SINCE}, SUM(A.q) AS s PATTERN (A+ B) DEFINE A AS SUM(A.q) < 300, B AS q > AVG(A.q)",
}


def ticks(rows: int) -> pa.Table:
    random = np.random.default_rng(1)
    return pa.table({
        "ts": np.arange(rows),
        "sym": pa.array([f"s{number}" for number in range(100)]).take(pa.array(random.integers(0, 100, rows))),
        "price": np.round(100 + np.cumsum(random.normal(size=rows)), 2),
        "q": random.integers(0, 100, rows),
    })  # fmt: skip


def query(clause: str) -> ost.SqlQuery:
    return ost.sql(f"SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY sym ORDER BY ts {clause})")


def pushes(clause: str, table: pa.Table, size: int, count: int) -> np.ndarray:
    """Microseconds of each push."""
    engine = query(clause).engine(schema=table.schema)
    engine.push(table.slice(0, WARM))
    batches = [table.slice(WARM + at * size, size) for at in range(count)]
    spent = []
    for batch in table.slice(WARM, count).to_pylist() if size == 1 else batches:
        start = time.thread_time()
        engine.push(batch)
        spent.append((time.thread_time() - start) * 1e6)
    return np.array(spent[count // 10 :])


def resident() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096


def new_keys(count: int, size: int = 100_000) -> None:
    schema = pa.schema([("ts", pa.int64()), ("sym", pa.int64()), ("price", pa.float64())])
    engine = query(QUERIES["PREV"]).engine(schema=schema)
    engine.push({"ts": 0, "sym": -1, "price": 1.0})
    before, start, random = resident(), time.process_time(), np.random.default_rng(1)
    for first in range(0, count, size):
        numbers = np.arange(first, first + size)
        engine.push(pa.table([numbers, numbers * 7919, random.random(size)], schema=schema))
    spent = time.process_time() - start
    print(f"{count:,} keys: {(resident() - before) / count:.0f} bytes each, {count / spent / 1e6:.2f} million rows/s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keys", type=int)
    options = parser.parse_args()
    if options.keys:
        new_keys(options.keys)
        return
    table = ticks(400_000)
    for name, clause in QUERIES.items():
        for size, count in ((1, 2000), (100, 500), (10_000, 30)):
            spent = pushes(clause, table, size, count)
            middle, high = np.percentile(spent, (50, 99))
            rate = size * len(spent) / spent.sum()
            print(f"{name:16} {size:6} rows: {middle:7.0f} µs, p99 {high:7.0f} µs, {rate:6.3f} million rows/s")


if __name__ == "__main__":
    main()
