"""Queries that compare events over long windows or none, beside a plain sequence: how far each falls behind it.

Seconds are CPU time on one core. The cases take turns, and the best of several rounds counts.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

import ostinato as ost
from ostinato.patterns.limits import Limits


@dataclass
class Case:
    """`counted`: matches are counted, since there are far more of them than events; otherwise they are listed."""

    name: str
    text: str
    counted: bool = False
    seconds: float = float("inf")
    found: int = 0

    def measure(self, table: pa.Table, limits: Limits) -> None:
        query = ost.cel(self.text)
        begin = time.process_time()
        try:
            if self.counted:
                self.found = query.count(table, limits=limits)
            else:
                self.found = len(query.detect(table, limits=limits, threads=1))
        except ost.LimitError:
            return
        self.seconds = min(self.seconds, time.process_time() - begin)


_Q1 = "A AS x ; B AS y ; C AS z"
_SKIP = "WITHIN 8 EVENTS AFTER MATCH SKIP TO"
_RISE = "A AS x ; (B AS y FILTER y.f > x.f)+ ; C AS z"

CASES = [
    Case("a plain sequence", "A ; B ; C WITHIN 10 EVENTS"),
    Case("inequality, NXT, no window", "SELECT NXT * WHERE A AS x ; B AS y FILTER x.f < y.f"),
    Case("inequality, LAST, no window", "SELECT LAST * WHERE A AS x ; B AS y FILTER x.f < y.f"),
    Case("inequality, NXT, three events, no window", "SELECT NXT * WHERE A AS x ; B AS y ; C AS z FILTER x.f < z.f"),
    Case("compared +, NXT, 480", f"SELECT NXT * WHERE {_RISE} WITHIN 480 EVENTS"),
    Case("compared +, LAST, 480", f"SELECT LAST * WHERE {_RISE} WITHIN 480 EVENTS"),
    Case("compared +, MAX, 60", f"SELECT MAX * WHERE {_RISE} WITHIN 60 EVENTS"),
    Case("compared +, MAX, 120", f"SELECT MAX * WHERE {_RISE} WITHIN 120 EVENTS"),
    Case("compared +, MAX, 240", f"SELECT MAX * WHERE {_RISE} WITHIN 240 EVENTS"),
    Case("band, 10,000", "A AS x ; B AS y FILTER abs(x.f - y.f) < 0.001 WITHIN 10000 EVENTS"),
    Case("OR of two equalities, 10,000", "A AS x ; B AS y FILTER x.id = y.id OR x.g = y.g WITHIN 10000 EVENTS"),
    Case("OR of = and >, 10,000", "A AS x ; B AS y FILTER x.id = y.id OR x.f > y.f + 0.95 WITHIN 10000 EVENTS"),
    Case(
        "OR of = and a band, 10,000", "A AS x ; B AS y FILTER x.id = y.id OR abs(x.f - y.f) < 0.001 WITHIN 10000 EVENTS"
    ),
    Case("inequality, 10,000", "A AS x ; B AS y FILTER x.f > y.f + 0.95 WITHIN 10000 EVENTS"),
    Case("inequality, 10,000, counted", "A AS x ; B AS y FILTER x.f < y.f WITHIN 10000 EVENTS", counted=True),
    Case("inequality, no window, counted", "A AS x ; B AS y FILTER x.f < y.f", counted=True),
    Case("band, no window, counted", "A AS x ; B AS y FILTER abs(x.f - y.f) < 0.001", counted=True),
    Case("SELECT x.a, count(y), a +, 20", "SELECT x.id, count(y) WHERE A AS x ; (B AS y)+ ; C AS z WITHIN 20 EVENTS"),
    Case("PARTITION BY three columns", "A ; B ; C PARTITION BY h, k, s WITHIN 10 EVENTS"),
    Case("NXT, A{1,1000}", "SELECT NXT * WHERE A{1,1000} ; B"),
    Case("NXT, (A ; B){2,400}", "SELECT NXT * WHERE (A ; B){2,400} ; C"),
    Case("NXT, A{1,60}, 1,000", "SELECT NXT * WHERE A{1,60} ; B WITHIN 1000 EVENTS"),
    Case("LAST, A{1,100}", "SELECT LAST * WHERE A{1,100} ; B"),
    Case("LAST, A{1,60}, 1,000", "SELECT LAST * WHERE A{1,60} ; B WITHIN 1000 EVENTS"),
    Case("FIRST x, z, a +", "SELECT FIRST x, z WHERE (A AS x)+ ; (C AS z FILTER z.f > 0.999) ; B"),
    Case("MAX of Q4, 10,000", "SELECT MAX * WHERE (A AS x)+ ; B AS y WITHIN 10000 EVENTS", counted=True),
    Case("Q1, a user's, 8", f"{_Q1} PARTITION BY user WITHIN 8 EVENTS"),
    Case("LIMIT 1 for each user", f"{_Q1} PARTITION BY user WITHIN 8 EVENTS LIMIT 1"),
    Case("Q1, 8", f"{_Q1} WITHIN 8 EVENTS"),
    Case("AFTER MATCH SKIP TO NEXT ROW, 8", f"{_Q1} {_SKIP} NEXT ROW"),
    Case("AFTER MATCH SKIP TO LAST y, 8", f"{_Q1} {_SKIP} LAST y"),
    Case("NXT, AFTER MATCH SKIP TO NEXT ROW, 8", f"SELECT NXT * WHERE {_Q1} {_SKIP} NEXT ROW"),
    Case("AFTER MATCH SKIP TO LAST y, no window", f"{_Q1} AFTER MATCH SKIP TO LAST y"),
    Case("NXT, the same", f"SELECT NXT * WHERE {_Q1} AFTER MATCH SKIP TO LAST y"),
]


def stream(events: int) -> pa.Table:
    """Types uniform over A … E, numbers uniform, two ids of 1,000, keys of a few values, and a user for 20 events."""
    rng = np.random.default_rng(11)
    types = pa.array(rng.integers(0, 5, events).astype(np.int8))
    return pa.table(
        {
            "type": pa.DictionaryArray.from_arrays(types, pa.array(list("ABCDE"))),
            "f": pa.array(rng.random(events)),
            "id": pa.array(rng.integers(0, 1_000, events)),
            "g": pa.array(rng.integers(0, 1_000, events)),
            "h": pa.array(rng.integers(0, 10, events)),
            "k": pa.array(rng.integers(0, 10, events)),
            "s": pa.array(np.char.add("user ", rng.integers(0, 20, events).astype(str))),
            "user": pa.array(rng.integers(0, max(1, events // 20), events)),
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--seconds", type=float, default=30, help="after which a case is given up")
    options = parser.parse_args()
    table, limits = stream(options.events), Limits(seconds=options.seconds, memory=8 << 30)
    chosen = [case for case in CASES if options.only in case.name]
    for case in chosen:  # compiles kernels
        case.measure(table.slice(0, 1_000), limits)
        case.seconds = float("inf")
    for _ in range(options.repeats):
        for case in chosen:
            if case.found >= 0:
                case.found = -1
                case.measure(table, limits)
    for case in chosen:
        rate = f"{options.events / case.seconds / 1e3:>9,.0f}" if case.found >= 0 else "    none "
        print(f"{case.name:<42} {rate} thousand events/s {case.found:>16,} matches")


if __name__ == "__main__":
    main()
