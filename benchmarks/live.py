"""Events as they come: what a push costs, one event at a time and in small batches, in microseconds of CPU time.

The process may use all cores, but nothing here takes more than one. Best of several rounds, each with an engine of its
own that has read some events before.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import ostinato as ost
from ostinato.patterns.query import PatternQuery
from ostinato.samples.cards import CARD_FEATURES, CARD_PATTERN, transactions

# No event is of the last type, so that there are partial matches, but no answers.
QUERIES = {
    "Q1": "A AS x ; B AS y ; Z AS z WITHIN 10 EVENTS",
    "equal id": "A AS x ; B AS y ; Z AS z FILTER x.id = y.id AND y.id = z.id AND y.v < 90 WITHIN 1000 EVENTS",
}
GOALS = {"one event": (10.0, 50.0), "batches of 100": 25.0, "batches of 1,000": 125.0, "scorer, one event": 20.0}
_WARM = 5_000  # events before the first that is measured
Push = Callable[[Any], Any]


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure pushes of single events and small batches.")
    parser.add_argument("--quick", action="store_true", help="one round of a tenth of the events")
    parser.add_argument("--record", type=Path, help="a JSON file to write")
    options = parser.parse_args()
    rounds, events = (1, 20_000) if options.quick else (5, 200_000)
    found: dict[str, Any] = {}
    for name, figures in chain(measure_queries(rounds, events), measure_scorer(rounds, events // 10)):
        found[name] = {what: round(value, 2) for what, value in figures.items()}
        print(f"{name:40}", "  ".join(f"{what}: {value:,.1f}" for what, value in figures.items()), flush=True)
    print("goals (µs):", GOALS)
    if options.record:
        options.record.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def stream(count: int) -> pa.Table:
    random = np.random.default_rng(1)
    return pa.table(
        {
            "ts": np.arange(count),
            "type": random.choice(list("ABCDE"), count),
            "id": random.integers(0, 100, count),
            "v": random.random(count) * 100,
        }
    )


def measure_queries(rounds: int, events: int) -> Iterator[tuple[str, dict[str, float]]]:
    table = stream(_WARM + events)
    warm, rest = table.slice(0, _WARM), table.slice(_WARM)
    rows = rest.slice(0, events // 10).to_pylist()
    for name, text in QUERIES.items():
        query = ost.cel(text)

        def warmed(query: PatternQuery = query) -> Push:
            engine = query.engine()
            engine.push(warm)
            return engine.push

        yield f"{name}, one event", quantiles(warmed, rows, rounds)
        for size in (10, 100, 1_000):
            parts = [rest.slice(begin, size) for begin in range(0, events, size)][: 20_000 // size * 10]
            yield f"{name}, batches of {size:,}", per_push(warmed, parts, size, rounds)
        lists = [rows[begin : begin + 100] for begin in range(0, len(rows), 100)]
        yield f"{name}, lists of 100 dicts", per_push(warmed, lists, 100, rounds)


def measure_scorer(rounds: int, events: int) -> Iterator[tuple[str, dict[str, float]]]:
    cards = transactions(20_000 + events, cards=20)
    model = ost.Forecaster(CARD_PATTERN, order=3, horizon=60, features=CARD_FEATURES).fit(cards.slice(0, 20_000))

    def warmed() -> Push:
        scorer = model.scorer()
        scorer.push(cards.slice(0, 20_000))
        return scorer.push

    yield "scorer, one event", quantiles(warmed, cards.slice(20_000).to_pylist(), rounds)


def quantiles(warmed: Callable[[], Push], rows: Sequence[Any], rounds: int) -> dict[str, float]:
    """Half of the pushes, and 99 of 100, take no longer; the best round by its median."""
    best = (float("inf"), float("inf"))
    for _ in range(rounds):
        push, clock = warmed(), time.process_time_ns
        taken = np.empty(len(rows))
        for place, row in enumerate(rows):
            begin = clock()
            push(row)
            taken[place] = clock() - begin
        best = min(best, (float(np.quantile(taken, 0.5)) / 1e3, float(np.quantile(taken, 0.99)) / 1e3))
    return {"p50 µs": best[0], "p99 µs": best[1]}


def per_push(warmed: Callable[[], Push], parts: Sequence[Any], size: int, rounds: int) -> dict[str, float]:
    best = float("inf")
    for _ in range(rounds):
        push = warmed()
        begin = time.process_time()
        for part in parts:
            push(part)
        best = min(best, time.process_time() - begin)
    each = best / len(parts)
    return {"µs": each * 1e6, "million events/s": size / each / 1e6}


if __name__ == "__main__":
    main()
