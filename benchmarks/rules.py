"""The three rules of the CERA paper over its plant: throughput, state, latency, and a comparison with Spark.

push: batches of 10,000 events, on one core, with the tuples kept and the memory of the process at marks on the way.
small: batches of 100. single: one event at a time, in the middle of the stream. many: 100 and 1,000 rules that join two
labels of their own, or filter one label, and one more rule deployed beside them. keys: every second event has a key
that is new. patterns: a pattern over a derived label. tables: orders that look up one of 100,000 customers, some of
whom change. sliding: aggregates over the last 100 and 10,000 events, one event at a time and in batches of 10,000.
whole: all events of files at once, with the derived events written to files, by the embedded engine on all
cores and on one, and by Spark, in turns; the fastest of each counts.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import ostinato as ost
from ostinato.files import Writer
from ostinato.samples.plant import LONGEST, PROGRAM, plant

BATCH = 10_000
CASES = ("push", "small", "single", "many", "keys", "patterns", "tables", "sliding", "whole")
MARKS = (1, 2, 5, 10)  # tenths of the stream


def push(events: int) -> dict[str, Any]:
    """Only the engine is timed, not the generation of events."""
    engine = ost.rules(PROGRAM).engine(longest=LONGEST)
    marks = {events * mark // 10 for mark in MARKS}
    seconds = cpu = 0.0
    most_kept, found = 0, []
    done = 0
    while done < events:
        made = plant(min(100 * BATCH, events - done), first=done)
        for first in range(0, len(made), BATCH):
            batch = made.slice(first, BATCH)
            began, began_cpu = time.perf_counter(), time.process_time()
            engine.push(batch)
            seconds, cpu = seconds + time.perf_counter() - began, cpu + time.process_time() - began_cpu
            done += len(batch)
            kept = sum(engine.stats().kept.values())
            most_kept = max(most_kept, kept)
            if any(done - len(batch) < mark <= done for mark in marks):
                found.append(
                    {
                        "events": done,
                        "derived": engine.stats().derived,
                        "events per second": done / seconds,
                        "events per CPU-second": done / cpu,
                        "tuples kept": kept,
                        "most tuples kept": most_kept,
                        "snapshot bytes": len(engine.snapshot()),
                        "process bytes": _resident(),
                        "most process bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
                    }
                )
    return {"batch": BATCH, "at": found}


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize()


def small(events: int) -> dict[str, float]:
    """Events per CPU-second in batches of 100."""
    before, size = 20_000, 100
    engine = ost.rules(PROGRAM).engine(longest=LONGEST)
    made = plant(before + events)
    engine.push(made.slice(0, before))
    began = time.process_time()
    for first in range(before, before + events, size):
        engine.push(made.slice(first, size))
    return {"batch": size, "events per CPU-second": events / (time.process_time() - began)}


JOIN = """DETECT d$ { id { var I } }
ON and { event a: a$ {{ id {{ var I }} }}, event b: b$ {{ id {{ var I }} }} } where { a before b, {a, b} within 1 min }
END
"""
FILTER = """DETECT d$ { value { var V } }
ON event r: reading {{ code {{ var C }}, value {{ var V }} }} where { var C = $, var V > 10 } END
"""


def many(rules: int, events: int) -> dict[str, Any]:
    """Events per CPU-second in batches of 10,000, and seconds of CPU to open an engine and to deploy a rule."""
    random = np.random.default_rng(1)
    labels = np.array([f"{side}{number}" for side in "ab" for number in range(rules)])
    pairs = pa.table(
        {
            "ts": pa.array(np.arange(events) * (1_000 // rules), pa.timestamp("ms")),
            "type": labels[random.integers(0, len(labels), events)],
            "id": random.integers(0, 100, events),
        }
    )
    readings = pa.table(
        {
            "ts": pa.array(np.arange(events), pa.timestamp("ms")),
            "type": ["reading"] * events,
            "code": random.integers(0, 100 * rules, events),
            "value": random.random(events) * 100,
        }
    )
    found: dict[str, Any] = {"rules": rules}
    for name, rule, made in (("joins", JOIN, pairs), ("filters", FILTER, readings)):
        program = ost.rules("\n".join(rule.replace("$", str(number)) for number in range(rules)))
        began = time.process_time()
        engine = program.engine(schema=made.schema)
        engine.push(made.slice(0, BATCH))
        opened = time.process_time()
        for first in range(BATCH, events, BATCH):
            engine.push(made.slice(first, BATCH))
        ended = time.process_time()
        engine.deploy("one more", rule.replace("$", "x").replace("= x", "= 1"))
        found[name] = {
            "events per CPU-second": (events - BATCH) / (ended - opened),
            "seconds to open": opened - began,
            "seconds to deploy": time.process_time() - ended,
        }
    return found


def keys(events: int) -> dict[str, Any]:
    """The memory of the process over a stream in which every second event has a key that is new."""
    engine = ost.rules(JOIN.replace("$", "")).engine()
    found = []
    began = time.process_time()
    for first in range(0, events, BATCH):
        number = np.arange(first, first + BATCH)
        names = pa.array(np.char.add("key ", (number // 2).astype(str)))
        kinds = pa.array(np.where(number % 2, "b", "a"))
        engine.push(pa.table({"ts": pa.array(number * 10, pa.timestamp("ms")), "type": kinds, "id": names}))
        if (first + BATCH) % (events // 4) == 0:
            found.append({"events": first + BATCH, "process bytes": _resident()})
    return {"events per CPU-second": events / (time.process_time() - began), "at": found}


def single(events: int) -> dict[str, float]:
    """Milliseconds of CPU from the call to its answer, for dicts. The stream has filled its windows before."""
    before = 20_000
    engine = ost.rules(PROGRAM).engine(longest=LONGEST)
    made = plant(before + events)
    engine.push(made.slice(0, before))
    took = []
    for row in made.slice(before).to_pylist():
        one = [row]
        began = time.thread_time_ns()
        engine.push(one)
        took.append((time.thread_time_ns() - began) / 1e6)
    steady = np.array(took[min(1000, events // 10) :])
    return {
        "events": len(steady),
        "p50 ms": float(np.percentile(steady, 50)),
        "p99 ms": float(np.percentile(steady, 99)),
        "most ms": float(steady.max()),
    }


PATTERN = """
DETECT hot { sensor { var S }, value { var V } }
ON event t: temp {{ sensor {{ var S }}, value {{ var V }} }} where { var V > 24 } END
DETECT heating { sensor { var S } }
ON event p: cel "SELECT z.sensor AS sensor WHERE hot AS x : hot AS y : hot AS z FILTER z[value > x.value]
                 WITHIN 1 minute PARTITION BY sensor" {{ sensor {{ var S }} }} END
"""  # a quarter of the reports are hot


def patterns(events: int, singles: int) -> dict[str, float]:
    """A pattern over a derived label."""
    return _rates(ost.rules(PATTERN).engine(), plant(events + singles), singles)


TABLE = """
TABLE customers KEY id
DETECT priced { order { var O }, tier { var T } }
ON and { event o: orders {{ order {{ var O }}, customer {{ var C }} }},
         at o: customers {{ id {{ var C }}, tier {{ var T }} }} } END
"""


def tables(events: int, singles: int) -> dict[str, dict[str, float]]:
    """Orders that look up one of 100,000 customers given beside them; a share of the events replaces some of these."""
    random, count, known = np.random.default_rng(1), events + singles, 100_000
    customers = pa.table({"id": np.arange(known), "tier": np.arange(known) % 5})
    who = random.integers(0, known, count)
    found: dict[str, dict[str, float]] = {}
    for share in (0.0, 0.1, 0.5):
        new = random.random(count) < share
        made = pa.table({
            "ts": np.arange(count),
            "type": np.where(new, "customers", "orders"),
            "order": pa.array(np.arange(count), mask=new),
            "customer": pa.array(who, mask=new),
            "id": pa.array(who, mask=~new),
            "tier": pa.array(who % 7, mask=~new),
        })  # fmt: skip
        began = time.process_time()
        engine = ost.rules(TABLE).engine(tables={"customers": customers})
        found[f"{share:.0%} new versions"] = _rates(engine, made, singles, since=began)
    return found


def _rates(engine: ost.RuleEngine, made: pa.Table, singles: int, since: float | None = None) -> dict[str, float]:
    """Events per CPU-second in batches of 10,000, and milliseconds of CPU of each of the last events as a dict. What
    comes before the second batch, `since` a time of the process, is the start."""
    since, events = since or time.process_time(), len(made) - singles
    engine.push(made.slice(0, BATCH))
    start = time.process_time() - since
    began = time.process_time()
    for first in range(BATCH, events, BATCH):
        engine.push(made.slice(first, BATCH))
    rate = (events - BATCH) / (time.process_time() - began)
    took = []
    for row in made.slice(events).to_pylist():
        began_one = time.thread_time_ns()
        engine.push([row])
        took.append((time.thread_time_ns() - began_one) / 1e6)
    steady = np.array(took[singles // 10 :])
    p50, p99 = (float(np.percentile(steady, each)) for each in (50, 99))
    mean = float(steady.mean())
    return {"start s": start, "events per CPU-second": rate, "p50 ms": p50, "p99 ms": p99, "mean ms": mean}


AGGREGATES = {
    "avg(all)": "a { avg(all var V) }",
    "count(each), sum(each)": "n { count(each 1) }, s { sum(each var V) }",
    "median(all)": "m { median(all var V) }",
    "stddev(all)": "d { stddev(all var V) }",
}


def sliding(events: int) -> dict[str, dict[str, float]]:
    """Microseconds of CPU per event, of which each closes a window; the first windows were full before."""
    rule = """DETECT d { $ } ON and { event e: a {{ }}, event t: timer:from-end-backward [ event e, # sec ],
        while t: collect a {{ v { var V } }} } END"""
    found: dict[str, dict[str, float]] = {}
    random = np.random.default_rng(1)
    for name, head in AGGREGATES.items():
        for window in (100, 10_000):
            count = window + 2_000 + 2 * events
            values = np.round(random.normal(50, 20, count), 1)
            made = pa.table({"ts": np.arange(count), "type": ["a"] * count, "v": values})
            engine = ost.rules(rule.replace("$", head).replace("#", str(window))).engine(schema=made.schema)
            engine.push(made.slice(0, window + 1_000))
            singles = made.slice(window + 1_000, 1_000).to_pylist()
            began = time.process_time()
            for row in singles:
                engine.push([row])
            batched = time.process_time()
            for first in range(window + 2_000, count, events):
                engine.push(made.slice(first, events))
            ended = time.process_time()
            per_event = {"one": (batched - began) * 1e3, "batch": (ended - batched) * 1e6 / (2 * events)}
            found.setdefault(name, {}).update({f"{how}, window of {window:,}": us for how, us in per_event.items()})
    return found


def whole(events: int, repeats: int, folder: Path) -> dict[str, Any]:
    from ostinato.spark import session

    source = folder / "events"
    source.mkdir()
    files = 20
    for number in range(files):
        each = events // files
        pq.write_table(plant(each, first=number * each), source / f"{number:05d}.parquet")
    program = ost.rules(PROGRAM)
    spark = session("local[2]")

    def embedded() -> None:
        with Writer(folder / "embedded.parquet") as writer:
            writer.write(program.detect(pq.read_table(source)))

    def on_one_core() -> None:
        cores = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(cores)})  # threads that DuckDB starts now have it too
        try:
            embedded()
        finally:
            os.sched_setaffinity(0, cores)

    def on_spark() -> None:
        frame = spark.read.parquet(str(source))
        program.detect(frame).write.mode("overwrite").parquet(str(folder / "spark"))

    cases: dict[str, Callable[[], None]] = {
        "embedded": embedded,
        "embedded, one core": on_one_core,
        "spark local[2]": on_spark,
    }
    took: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(repeats):
        for name, work in cases.items():
            began = time.perf_counter()
            work()
            took[name].append(time.perf_counter() - began)
    best = {name: min(times) for name, times in took.items()}
    derived = pq.read_metadata(folder / "embedded.parquet").num_rows
    assert spark.read.parquet(str(folder / "spark")).count() == derived, "the two must derive the same"
    shutil.rmtree(source)
    return {"events": files * (events // files), "derived": derived, "seconds": best} | {
        f"spark / {name}": best["spark local[2]"] / best[name] for name in ("embedded", "embedded, one core")
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=10_000_000, help="number of events of push and whole")
    parser.add_argument("--single", type=int, default=11_000, help="events pushed one at a time")
    parser.add_argument("--repeats", type=int, default=3, help="runs of whole; the fastest counts")
    parser.add_argument("--only", choices=CASES)
    parser.add_argument("--record", type=Path, help="a JSON file to write the result to")
    options = parser.parse_args()
    result: dict[str, Any] = {}
    if options.only in (None, "push"):
        result["push"] = push(options.events)
    if options.only in (None, "small"):
        result["small"] = small(min(options.events, 200_000))
    if options.only in (None, "many"):
        result["many"] = [many(rules, min(options.events, 200_000)) for rules in (100, 1_000)]
    if options.only in (None, "keys"):
        result["keys"] = keys(options.events)
    if options.only in (None, "single"):
        result["single"] = single(options.single)
    if options.only in (None, "patterns"):
        result["patterns"] = patterns(min(options.events, 200_000), options.single)
    if options.only in (None, "tables"):
        result["tables"] = tables(min(options.events, 200_000), options.single)
    if options.only in (None, "sliding"):
        result["sliding"] = sliding(min(options.events, BATCH))
    if options.only in (None, "whole"):
        with tempfile.TemporaryDirectory(prefix="ostinato-bench-") as folder:
            result["whole"] = whole(options.events, options.repeats, Path(folder))
    print(json.dumps(result, indent=1))
    if options.record is not None:
        settings = {"events": options.events, "single": options.single, "repeats": options.repeats}
        options.record.write_text(json.dumps(settings | result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
