"""Rows per CPU-second of SQL queries with MATCH_RECOGNIZE, all matches written: `python benchmarks/sql.py`."""

from __future__ import annotations

import argparse
import time

import numpy as np
import pyarrow as pa

import ostinato as ost

_FALLS = "S AS true, D AS price < PREV(price), U AS price > PREV(price)"
_V = "MEASURES FIRST(ts) AS t0, LAST(D.price) AS bottom, LAST(ts) AS t1"
QUERIES = {
    "own columns": "ORDER BY ts MEASURES FIRST(ts) AS t0, LAST(ts) AS t1, COUNT(*) AS n PATTERN (A B+ C)"
    " DEFINE A AS q > 50, B AS q < 80, C AS q > 90",
    "PREV": f"ORDER BY ts {_V} PATTERN (S D+ U+) DEFINE {_FALLS}",
    "PREV, partitions of 10": f"PARTITION BY tens ORDER BY ts {_V} PATTERN (S D+ U+) DEFINE {_FALLS}",
    "PREV, 1,000 partitions": f"PARTITION BY sym ORDER BY ts {_V} PATTERN (S D+ U+) DEFINE {_FALLS}",
    "PREV, ALL ROWS": f"ORDER BY ts {_V} ALL ROWS PER MATCH PATTERN (S D+ U+) DEFINE {_FALLS}",
    "FIRST of another": f"ORDER BY ts {_V} PATTERN (S D+ U+) DEFINE {_FALLS} AND U.price - FIRST(D.price) < 10",
    "running SUM and AVG": "ORDER BY ts MEASURES FIRST(ts) AS t0, SUM(A.q) AS s PATTERN (A+ B)"
    " DEFINE A AS SUM(A.q) < 300, B AS q > AVG(A.q)",
    "WITHIN": "ORDER BY ts MEASURES COUNT(*) AS n PATTERN (A B* C) WITHIN 50 DEFINE A AS q > 50, C AS q = 7",
    "A+ B+, equal rows": "ORDER BY ts MEASURES COUNT(*) AS n PATTERN (A+ B+)",
    "A+ B+, none": "ORDER BY ts MEASURES COUNT(*) AS n PATTERN (A+ B+) DEFINE B AS price IS NULL",
}
FUNCTIONS = {  # of several rows, over the same table with a time and a text
    "count(DISTINCT …)": "ORDER BY ts MEASURES COUNT(*) AS n PATTERN (A B+) DEFINE B AS COUNT(DISTINCT B.q) < 20",
    "round, least, abs": "ORDER BY ts MEASURES COUNT(*) AS n PATTERN (A B+)"
    " DEFINE B AS round(abs(price - A.price), 1) < least(q, A.q)",
    "date_diff": "ORDER BY ts MEASURES COUNT(*) AS n PATTERN (A B+) DEFINE B AS date_diff('minute', A.seen, seen) < 5",
    "LIKE of another": "ORDER BY ts MEASURES COUNT(*) AS n PATTERN (A B+) DEFINE B AS s LIKE A.s || '%'",
    "levenshtein": "ORDER BY ts MEASURES COUNT(*) AS n PATTERN (A B+) DEFINE B AS levenshtein(s, A.s) < 3",
    "sin of all values": "ORDER BY ts MEASURES COUNT(*) AS n PATTERN (A B+) DEFINE B AS sin(price * A.q) > -0.5",
}


def ticks(rows: int) -> pa.Table:
    random = np.random.default_rng(1)
    return pa.table(
        {
            "ts": np.arange(rows),
            "price": np.round(100 + np.cumsum(random.normal(size=rows)), 2),
            "q": random.integers(0, 100, rows),
            "tens": np.arange(rows) // 10,
            "sym": random.integers(0, 1000, rows),
            "seen": np.datetime64("2026-01-01", "us") + np.cumsum(random.integers(0, 60_000_000, rows)),
            "s": pa.array([f"name {number}" for number in range(200)]).take(pa.array(random.integers(0, 200, rows))),
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    wide = ticks(options.rows)
    for name, clause in (QUERIES | FUNCTIONS).items():
        table = wide if name in FUNCTIONS else wide.drop_columns(["seen", "s"])
        query = ost.sql(f"SELECT * FROM ticks MATCH_RECOGNIZE ({clause})")
        best, found = float("inf"), 0
        for _ in range(options.rounds):
            start = time.process_time()
            found = query.detect(table).num_rows
            best = min(best, time.process_time() - start)
        print(f"{name:24} {options.rows / best / 1e6:6.2f} million rows/s, {found:>9,} rows found")


if __name__ == "__main__":
    main()
