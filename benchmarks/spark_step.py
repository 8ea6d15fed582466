"""CPU time of the stateful step of a Spark stream for one bucket of keys, by the number of queries, without Spark.

What Spark adds is left out: the state stays in memory. The queries and events are those of spark_many.py. The
best of some steps counts; each begins with the state that the one before has left.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from spark_many import START, TYPES, make_queries

from ostinato.patterns.joint_answers import joint_schema
from ostinato.patterns.limits import Limits
from ostinato.spark.buckets import Buckets
from ostinato.spark.packing import ROWS, pack
from ostinato.spark.patterns.engines import StreamSettings
from ostinato.spark.patterns.processor import QUERIES, Detector
from ostinato.spark.patterns.shipped_query import ShippedQuery
from ostinato.spark.stateful_step import Wake

SPLIT, KEYS, ORDER = '["key"]', 1250, ("type", "key", "v")


class Bucket(Detector):
    """The step, with its state in memory and without timers: rows wake it each time."""

    value: bytes | None = None

    def kept(self) -> bytes | None:
        return self.value

    def keep(self, data: bytes) -> None:
        self.value = data

    def set_timer(self, due: int | None, before: int | None, wake: Wake, margin: int = 1) -> int | None:
        return None


def events(number: int, rows: int) -> pa.Table:
    """250 events per second, which is an eighth of what spark_many.py writes."""
    rng = np.random.default_rng(number)
    times = np.sort(rng.integers(number * rows * 4000, (number + 1) * rows * 4000, rows)) + START
    names = np.array([f"T{kind}" for kind in range(TYPES)])
    return pa.table(
        {
            "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
            "type": names[rng.integers(0, TYPES, rows)],
            "key": rng.integers(0, KEYS, rows),
            "v": rng.random(rows),
        }
    )


def settings(count: int, schema: pa.Schema) -> StreamSettings:
    shipped: list[ShippedQuery] = []
    for name, query in make_queries(count).items():
        binding = {"time": "ts", "type": None, "order_by": ORDER}
        one = ShippedQuery(name, query.text, binding, True, Limits(), tuple(schema.names), pa.schema([]))
        answer = one.engine().push(schema.empty_table()).drop_columns(["positions"]).schema
        shipped.append(replace(one, answer=answer))
    output = joint_schema({query.name: query.answer for query in shipped})
    return StreamSettings({SPLIT: tuple(shipped)}, schema, ORDER, output, Buckets(8), delay=1000, isolated=True)


def measure(count: int, rows: int, steps: int) -> dict[str, float]:
    bucket, best, matches, watermark = Bucket(settings(count, events(0, 1).schema), {}), float("inf"), 0, 0
    for number in range(steps):
        given = events(number, rows)
        frames = iter([pd.DataFrame({QUERIES: [SPLIT], ROWS: [pack(given)]})])
        clock = SimpleNamespace(getCurrentWatermarkInMs=partial(int, watermark))
        began = time.process_time()
        found = list(bucket.handleInputRows(("", 0), frames, clock))
        best = min(best, time.process_time() - began)
        matches += sum(int(frame["matches"].sum()) for frame in found)
        watermark = pc.max(given["ts"]).cast(pa.int64()).as_py() // 1000 - 1000
    return {"milliseconds": 1000 * best, "matches": matches, "bytes": len(bucket.value or b"")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--rows", type=int, nargs="+", default=[2500, 12])
    parser.add_argument("--queries", type=int, nargs="+", default=[1, 10, 50])
    options = parser.parse_args()
    result = {
        f"{rows} rows, {count} queries": measure(count, rows, options.steps)
        for rows in options.rows
        for count in options.queries
    }
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
