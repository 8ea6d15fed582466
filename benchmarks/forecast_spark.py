"""Compare forecasting on Spark with the same without Spark, on the same rows; print seconds and their ratio.

The history of cards is in Parquet files. Both read these files, learn a model, and forecast all events; the forecasts
are counted, not kept. Rounds take turns; the fastest of each counts.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import ostinato as ost
from ostinato.samples.cards import CARD_FEATURES, CARD_PATTERN, transactions
from ostinato.spark import session

COLUMNS = ["ts", "type", "card", "amount"]  # the columns that both read


def write_events(folder: Path, events: int, cards: int, files: int) -> None:
    table = transactions(events, cards=cards)
    table = table.set_column(0, "ts", table["ts"].cast(pa.timestamp("us", tz="UTC")))
    folder.mkdir(parents=True)
    each = -(-events // files)
    for number in range(files):
        pq.write_table(table.slice(number * each, each), folder / f"{number:05d}.parquet")


def time_run(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    found = work()
    return time.perf_counter() - began, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--cards", type=int, default=1000)
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--record", type=Path, help="a JSON file to write the result to")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ostinato-bench-") as folder:
        print(json.dumps(result := measure(Path(folder) / "events", options), indent=1))
    if options.record is not None:
        options.record.write_text(
            json.dumps(vars(options) | {"record": None} | result, indent=1) + "\n", encoding="utf-8"
        )


def measure(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    write_events(folder, options.events, options.cards, options.files)
    forecaster = ost.Forecaster(CARD_PATTERN, features=CARD_FEATURES, threshold=0.9)
    frame = session(options.master).read.parquet(str(folder)).select(*COLUMNS)
    model = forecaster.fit(pq.read_table(folder, columns=COLUMNS))

    def forecast() -> int:
        return len(model.forecast(pq.read_table(folder, columns=COLUMNS)))

    def transform() -> None:
        model.forecast(frame).write.format("noop").mode("overwrite").save()

    cases: dict[str, Callable[[], Any]] = {
        "fit, embedded": lambda: forecaster.fit(pq.read_table(folder, columns=COLUMNS)),
        "fit, Spark": lambda: forecaster.fit(frame),
        "forecast, embedded": forecast,
        "transform, Spark": transform,
        "repartition + sort, Spark": lambda: frame.repartition("card").sortWithinPartitions("card", "ts")
        .write.format("noop").mode("overwrite").save(),
    }  # fmt: skip
    found: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(options.repeats):
        for name, work in cases.items():
            found[name].append(time_run(work)[0])
    best = {name: min(times) for name, times in found.items()}
    return {
        "seconds": best,
        "fit, Spark / embedded": best["fit, Spark"] / best["fit, embedded"],
        "transform, Spark / embedded": best["transform, Spark"] / best["forecast, embedded"],
        "model": repr(model),
    }


if __name__ == "__main__":
    main()
