"""A thousand queries over one stream: events per second in batches, the time of one event, compiling and adding.

Beside each figure stands what an engine for each query would take, from a sample of the queries over the same data. CPU
time of one core, best of several batches.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa

import ostinato as ost

TYPES, BATCH, SAMPLE = 50, 10_000, 20
PAIR = "ANY AS x ; ANY AS y FILTER x[{condition}] AND y[{condition}] WITHIN {window}"
GOALS = {
    "three types each": {"million events/s": 1.0, "one event, p50 µs": 25.0},
    "equal to a constant": {"million events/s": 2.0},
    "compile, s": 3.0,
    "add one, ms": 10.0,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure many queries over one stream.")
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--batches", type=int, default=30)
    parser.add_argument("--record", type=Path, help="a JSON file to write")
    options = parser.parse_args()
    found = dict(measure(options.queries, options.batches))
    print("goals:", GOALS)
    if options.record:
        options.record.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def measure(queries: int, batches: int) -> Iterator[tuple[str, dict[str, float]]]:
    random = np.random.default_rng(1)
    events = (batches + 2) * BATCH
    kinds = np.array([f"T{number}" for number in range(TYPES)])
    own = random.random(events) < 0.01  # 1 % of events pass the conditions of some query
    table = pa.table(
        {
            "ts": np.arange(events),
            "type": pa.array(kinds[random.integers(0, TYPES, events)]),
            "account": np.where(own, random.integers(0, queries, events), random.integers(10**6, 10**9, events)),
            "v": np.where(own, 1000 + random.random(events) * queries, random.random(events) * 1000),
        }
    )

    def three_types(number: int) -> str:
        first, second, third = random.choice(TYPES, 3, replace=False)
        return f"T{first} AS x ; T{second} AS y ; T{third} AS z WITHIN 10 EVENTS"

    def best(number: int) -> str:
        return f"SELECT NXT * WHERE {three_types(number)}"

    def absent(number: int) -> str:
        first, second, third = random.choice(TYPES, 3, replace=False)
        return f"T{first} AS x ; T{second} AS y ; NOT T{third} WITHIN 10 seconds"

    def compared(number: int) -> str:
        first, second = random.choice(TYPES, 2, replace=False)
        return f"T{first} AS x ; T{second} AS y FILTER x.v < y.v WITHIN 10 seconds"

    cases: dict[str, Callable[[int], str]] = {
        "three types each": three_types,
        "equal to a constant": lambda n: (
            f"ANY AS x ; ANY AS y FILTER x.account = {n} AND y.account = {n} WITHIN 1 hour"
        ),
        "above a constant": lambda n: (
            f"ANY AS x ; ANY AS y FILTER x.v > {1000 + n} AND y.v > {1000 + n} WITHIN 9 EVENTS"
        ),
    }
    apart = {"NXT under a window": best, "NOT at the end": absent, "events compared": compared}
    for name, text in (cases | apart).items():
        figures = run(text, queries, table, min(batches, 5) if name in apart else batches)
        print(f"{name:22}", "  ".join(f"{what}: {value:,.2f}" for what, value in figures.items()), flush=True)
        yield name, figures


def run(text: Callable[[int], str], queries: int, table: pa.Table, batches: int) -> dict[str, float]:
    begin = time.process_time()
    compiled = {f"q{number}": ost.cel(text(number)) for number in range(queries)}
    live = ost.engine(compiled, schema=table.schema)
    figures = {"compile, s": time.process_time() - begin}
    parts = [table.slice(BATCH * number, BATCH) for number in range(batches)]
    best, matches = _best_batch(lambda part: len(live.push(part)), parts)
    figures |= {"million events/s": BATCH / best / 1e6, "matches per batch": matches}
    taken, clock = list[int](), count(table.num_rows)
    waited = list[int]()
    for row in table.slice(0, 1_000).to_pylist():
        row["ts"] = next(clock)
        start = time.process_time_ns()
        live.push(row)
        taken.append(time.process_time_ns() - start)
        start = time.process_time_ns()
        live.due()
        live.advance(row["ts"])
        waited.append(time.process_time_ns() - start)
    figures |= {f"one event, p{quantile} µs": float(np.percentile(taken, quantile)) / 1e3 for quantile in (50, 99)}
    figures["due and advance, p50 µs"] = float(np.percentile(waited, 50)) / 1e3
    start = time.process_time_ns()
    live.add("one more", ost.cel(text(1)))
    live.push({**row, "ts": next(clock)})
    figures["add one, ms"] = (time.process_time_ns() - start) / 1e6
    engines = [query.engine() for query in list(compiled.values())[:SAMPLE]]
    alone, _ = _best_batch(lambda part: sum(len(engine.push(part)) for engine in engines), parts[:10])
    figures["× as fast as engines of their own"] = alone / SAMPLE * queries / best
    return figures


def _best_batch(push: Callable[[pa.Table], int], parts: list[pa.Table]) -> tuple[float, float]:
    """The least time of a batch, once some were read; and how many matches there are on average."""
    best, found = float("inf"), 0
    for number, part in enumerate(parts):
        begin = time.process_time()
        found += push(part)
        if number > 2:
            best = min(best, time.process_time() - begin)
    return best, found / len(parts)


if __name__ == "__main__":
    main()
