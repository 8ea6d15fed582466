"""The paper's plant: fires, burnt sensors and averages, over the paper's three events and over an hour of a plant."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import ostinato as ost

# Section 4.2 of the paper: a reading takes some seconds, so events have a begin and an end.
THREE = [
    {"begin": 60, "end": 63, "type": "temp", "area": "a", "sensor": "s", "value": 40},
    {"begin": 65, "end": 68, "type": "smoke", "area": "a"},
    {"begin": 70, "end": 80, "type": "temp", "area": "a", "sensor": "s", "value": 41},
]
AREAS, SENSORS = 50, 4  # sensors in each area
FIRES = {7: 900, 23: 1_800, 41: 3_000}  # area -> the second at which it begins to burn


def an_hour(seed: int = 11) -> pa.Table:
    """Every sensor reports every 10 seconds. Where it burns there is smoke and heat, and one sensor falls silent."""
    random = np.random.default_rng(seed)
    parts = []
    for area in range(AREAS):
        burning = FIRES.get(area, 10**9)
        for number in range(SENSORS):
            begin = np.arange(random.uniform(0, 10), 3_600, 10)
            value = random.normal(22, 1.5, len(begin)) + np.clip((begin - burning) / 5, 0, 60) * (begin < burning + 420)
            heard = np.ones(len(begin), bool) if number else begin < burning + 120  # the first one burns down
            parts.append(readings("temp", begin[heard], area, f"{area:02}.{number}", value[heard]))
        smoke = np.concatenate([random.uniform(0, 3_600, 2), burning + np.arange(20, 140, 30.0)])
        parts.append(readings("smoke", smoke[smoke < 3_600], area, None, None))
    return pa.concat_tables(parts).sort_by("end")


def readings(kind: str, begin: np.ndarray, area: int, sensor: str | None, value: np.ndarray | None) -> pa.Table:
    count = len(begin)
    start = np.datetime64("2026-07-06T10:00:00", "ms") + (begin * 1_000).astype("timedelta64[ms]")
    return pa.table(
        {
            "begin": pa.array(start, pa.timestamp("ms")),
            "end": pa.array(start + np.timedelta64(800, "ms"), pa.timestamp("ms")),
            "type": pa.array([kind] * count, pa.string()),
            "area": pa.array([f"area {area:02}"] * count, pa.string()),
            "sensor": pa.array([sensor] * count, pa.string()),
            "value": pa.array([None] * count if value is None else np.round(value, 1), pa.float64()),
        }
    )


def main() -> None:
    rules = Path(__file__).parent / "plant.rules"
    program = ost.rules(rules.read_text(encoding="utf-8"))
    print("the paper's three events:")
    for event in program.detect(THREE).to_pylist():
        shown = ", ".join(f"{name} {value}" for name, value in event.items() if value is not None and name != "type")
        print(f"  {event['type']}: {shown}")

    # An hour of the plant, in batches of a minute: a derived event comes as soon as time has passed its end.
    events = an_hour()
    engine = program.engine(longest="1 second")
    found: Counter[str] = Counter()
    told: set[tuple[str, str]] = set()
    minutes = pc.floor_temporal(events["end"], unit="minute")
    for minute in minutes.unique().to_pylist():
        for event in engine.push(events.filter(pc.equal(minutes, minute))).to_pylist():
            found[event["type"]] += 1
            what = event["type"], event["area"] or event["sensor"]
            if event["type"] != "avg_temp" and what not in told:
                told.add(what)
                print(f"{minute:%H:%M}  {what[0]}, {what[1]}, first at {event['end']:%H:%M:%S}")
    found.update(engine.flush()["type"].to_pylist())
    kept = sum(engine.stats().kept.values())
    print(f"{len(events):,} events, derived {dict(sorted(found.items()))}, {kept:,} tuples kept at the end")

    data = Path(__file__).parent / "data"
    data.mkdir(exist_ok=True)
    pq.write_table(events, data / "plant.parquet")
    print(f"the same from the command line:\n  ostinato rules {rules} --input {data / 'plant.parquet'}")


if __name__ == "__main__":
    main()
