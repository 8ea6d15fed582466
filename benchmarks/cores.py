"""`detect` with output on one core and on several: wall time, the gain, and the CPU time that several cores add.

The two take turns, and the best of several rounds counts. On a busy machine the gain says little; the CPU time that
is added, and the share of the wall time in which one thread alone is at work, say more.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

import ostinato as ost
from ostinato.cli.bench import QUERIES
from ostinato.patterns.limits import Limits


@dataclass
class Case:
    name: str
    text: str
    wall: dict[int, float] = field(default_factory=dict)
    cpu: dict[int, float] = field(default_factory=dict)

    def measure(self, table: pa.Table, threads: int) -> None:
        query = ost.cel(self.text)
        wall, cpu = time.perf_counter(), time.process_time()
        query.detect(table, limits=Limits(memory=8 << 30), threads=threads)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        self.wall[threads] = min(wall, self.wall.get(threads, wall))
        self.cpu[threads] = min(cpu, self.cpu.get(threads, cpu))


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
    print(f"{'milliseconds':<44} one core  {options.threads} cores  gain  CPU time  alone")
    for case in chosen:
        one, all_ = case.wall[1], case.wall[options.threads]
        cpu = case.cpu[options.threads]
        alone = (options.threads * all_ - cpu) / (options.threads - 1) / all_  # the rest of the time, all are at work
        figures = f"{one * 1e3:8.1f} {all_ * 1e3:8.1f} {one / all_:5.2f} {cpu / case.cpu[1]:9.2f} {alone:6.0%}"
        print(f"{case.name:<44} {figures}")


if __name__ == "__main__":
    main()
