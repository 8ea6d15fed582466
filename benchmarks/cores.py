"""`detect` with output on one core and on several: the gain in wall time, and the gain of the critical path.

The critical path is the CPU time of what one thread does alone, and of the longest piece wherever several threads are
at work. It is what the wall time would be if each thread had a core to itself, so that it can be measured on a busy
machine, too. One core and several take turns, and the best of several rounds counts.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

import ostinato as ost
from ostinato.cli.bench import QUERIES
from ostinato.core import threads as core_threads
from ostinato.patterns.limits import Limits

run_pieces = core_threads.run_pieces


class Path:
    """Seconds of the pieces of one call: those in the thread that asks for them, and the longest each time."""

    own = longest = 0.0

    def run(self, work: Callable[[int], Any], pieces: int) -> list[Any]:
        used = [0.0] * pieces

        def timed(number: int) -> Any:
            begin = time.thread_time()
            try:
                return work(number)
            finally:
                used[number] = time.thread_time() - begin

        found = run_pieces(timed, pieces)
        self.own += used[0]
        self.longest += max(used)
        return found


@dataclass
class Case:
    name: str
    text: str
    wall: dict[int, float] = field(default_factory=dict)
    path: dict[int, tuple[float, float]] = field(default_factory=dict)  # and what of it one thread does alone

    def measure(self, table: pa.Table, threads: int) -> None:
        query, path = ost.cel(self.text), Path()
        for module in list(sys.modules.values()):
            if module.__name__.startswith("ostinato.") and hasattr(module, "run_pieces"):
                vars(module)["run_pieces"] = path.run
        wall, cpu = time.perf_counter(), time.thread_time()
        query.detect(table, limits=Limits(memory=8 << 30), threads=threads)
        cpu, wall = time.thread_time() - cpu, time.perf_counter() - wall
        self.wall[threads] = min(wall, self.wall.get(threads, wall))
        alone = cpu - path.own
        self.path[threads] = min((alone + path.longest, alone), self.path.get(threads, (float("inf"), 0.0)))


Q1 = QUERIES["Q1"]
CASES = [
    *(Case(f"{name} WITHIN 8 EVENTS", f"{text} WITHIN 8 EVENTS") for name, text in QUERIES.items()),
    Case("Q1, a column of each event", "SELECT x.v, y.v, z.v WHERE " + Q1 + " WITHIN 8 EVENTS"),
    Case("Q1 WITHIN 8 seconds", f"{Q1} WITHIN 8 seconds"),
    Case("NXT Q1 WITHIN 30 EVENTS", f"SELECT NXT * WHERE {Q1} WITHIN 30 EVENTS"),
    Case("equality WITHIN 1,000 seconds", "A AS x ; B AS y FILTER x.many = y.many WITHIN 1000 seconds"),
    Case("PARTITION BY 100 keys WITHIN 8 EVENTS", f"{Q1} PARTITION BY few WITHIN 8 EVENTS"),
    Case("PARTITION BY 100,000 keys WITHIN 8 EVENTS", f"{Q1} PARTITION BY many WITHIN 8 EVENTS"),
    Case("PARTITION BY 100 texts WITHIN 8 EVENTS", f"{Q1} PARTITION BY text WITHIN 8 EVENTS"),
    Case("PARTITION BY 100 keys WITHIN 800 seconds", f"{Q1} PARTITION BY few WITHIN 800 seconds"),
    Case("NXT, PARTITION BY 100 keys", f"SELECT NXT * WHERE {Q1} PARTITION BY few"),
    Case("NXT, PARTITION BY 100,000 keys", f"SELECT NXT * WHERE {Q1} PARTITION BY many"),
]


def stream(events: int) -> pa.Table:
    """An event a second, types uniform over A … E, keys of 100 and of 100,000 values."""
    rng = np.random.default_rng(11)
    types = pa.array(rng.integers(0, 5, events).astype(np.int8))
    few = rng.integers(0, 100, events)
    return pa.table(
        {
            "ts": pa.array(np.arange(events) * 1_000_000, pa.timestamp("us")),
            "type": pa.DictionaryArray.from_arrays(types, pa.array(list("ABCDE"))),
            "v": pa.array(rng.random(events)),
            "few": pa.array(few),
            "text": pa.array(few.astype(str)),
            "many": pa.array(rng.integers(0, 100_000, events)),
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=2_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    options = parser.parse_args()
    table = stream(options.events)
    chosen = [case for case in CASES if options.only in case.name]
    for case in chosen:  # compiles kernels
        ost.cel(case.text).detect(table.slice(0, 400_000), threads=options.threads)
    for _ in range(options.repeats):
        for case in chosen:
            for threads in (1, options.threads):
                case.measure(table, threads)
    print(f"{'critical path, milliseconds':<44} one core  {options.threads} cores (alone)  gain  in wall time")
    for case in chosen:
        (one, _), (several, alone) = case.path[1], case.path[options.threads]
        figures = f"{one * 1e3:8.1f} {several * 1e3:8.1f} {alone * 1e3:7.1f} {one / several:6.2f}"
        print(f"{case.name:<44} {figures} {case.wall[1] / case.wall[options.threads]:9.2f}")


if __name__ == "__main__":
    main()
