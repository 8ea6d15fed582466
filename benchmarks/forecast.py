"""Forecasts of card thefts: cost of learning and scoring, quality by order, and a comparison with path expansion.

A model learns a million transactions at each order; later transactions are forecast and compared with what happened.
Seconds are CPU time of all threads; the fastest of several runs counts.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import cached_property, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from forecast_peers import expand_paths
from rich.console import Console
from rich.table import Table

import ostinato as ost
from ostinato.cli import bench
from ostinato.core.arrays import Float32, Int32
from ostinato.forecast.chain.predictor import find_completions
from ostinato.forecast.chain.waiting import waiting_times
from ostinato.forecast.learn.ground_truth import Truth
from ostinato.forecast.model import ForecastModel
from ostinato.forecast.score.evaluation import Contender, Evaluation, compare
from ostinato.forecast.score.scores import Distances, count_outcomes, probability_within
from ostinato.forecast.symbols.reader import SymbolBatch, SymbolReader
from ostinato.samples import CARD_FEATURES, CARD_PATTERN, transactions

ORDERS = range(1, 10)
COMPARED = 7  # the order at which baselines and path expansion are compared
# Most matches complete within this horizon, so nearly every event has an interval.
HORIZON, THRESHOLD = 400, 0.9
WITHIN = 5  # ROC-AUC is for a completion within so many events
AHEAD = (10, 20, 30, 40, 50, 60)
CUTOFFS = (1e-2, 1e-3, 1e-4)
HELD_OUT = 0.3  # number of further events, as a share of the events learned from


@dataclass(frozen=True)
class Stream:
    history: pa.Table
    holdout: pa.Table

    @classmethod
    def make(cls, events: int) -> Stream:
        table = transactions(events + int(HELD_OUT * events))
        return cls(table.slice(0, events), table.slice(events))


@dataclass(frozen=True)
class Judged:
    """A model, its forecasts for held-out events, and what happened."""

    model: ForecastModel
    holdout: pa.Table

    @cached_property
    def read(self) -> SymbolBatch:
        return SymbolReader(self.model.pattern, self.model.settings.binding, self.model.symbols).read(self.holdout)

    @cached_property
    def truth(self) -> Truth:
        return Truth.of(find_completions(self.model.automaton, self.read), self.read.keys)

    @cached_property
    def states(self) -> Int32:
        return self.model.predictor.states(self.read)

    def scores(self) -> Evaluation:
        product = self.model.predictor.product
        distances = Distances(self.model.automaton.distance(), product.pattern[self.states])
        contender = Contender("model", self.model.predictor.waiting, self.states, nominal=self.model.nominal)
        return compare([contender], self.truth, within=WITHIN, threshold=THRESHOLD, distances=distances)

    def calibration_errors(self, waiting: Float32, states: Int32) -> dict[str, float]:
        return {
            f"{ahead}": count_outcomes(probability_within(waiting, ahead), states, self.truth, ahead)
            .reliability()
            .error
            for ahead in AHEAD
        }


def time_runs(work: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Seconds of the fastest run, and the result of the last one. A first run compiles and fills caches, untimed."""
    done = work()
    taken = []
    for _ in range(repeats):
        began = time.process_time()
        done = work()
        taken.append(time.process_time() - began)
    return min(taken), done


def forecaster(order: int | str) -> ost.Forecaster:
    return ost.Forecaster(CARD_PATTERN, order=order, horizon=HORIZON, threshold=THRESHOLD, features=CARD_FEATURES)


def by_order(stream: Stream, order: int, repeats: int) -> dict[str, Any]:
    seconds, model = time_runs(lambda: forecaster(order).fit(stream.history), repeats)
    product = model.predictor.product
    waiting_seconds, waiting = time_runs(lambda: waiting_times(product, HORIZON), repeats)
    judged = Judged(model, stream.holdout)
    scores = judged.scores().table.to_pylist()[0]
    tables = (product.next, product.completes, product.probability, waiting)
    return {
        "training seconds": seconds,
        "waiting-time seconds": waiting_seconds,
        "contexts": len(model.predictor.tree.contexts),
        "states": product.states,
        "megabytes": sum(table.nbytes for table in tables) / 1e6,
        "AUC near": scores["auc_near"],
        "AUC far": scores["auc_far"],
        "calibration error": judged.calibration_errors(model.predictor.waiting, judged.states),
        "coverage": scores["coverage"],
        "spread": scores["spread"],
        "no forecast": scores["no_forecast"],
    }


def scoring(model: ForecastModel, events: pa.Table, repeats: int) -> dict[str, dict[str, Any]]:
    """From an Arrow table to a table of forecasts; and from symbols to states, one look-up per event."""
    judged = Judged(model, events)
    whole, _ = time_runs(lambda: model.forecast(events), repeats)
    states, _ = time_runs(lambda: model.predictor.states(judged.read), repeats)
    cases = {"forecast, table to table": whole, "forecast, symbols to states": states}
    return {name: {"seconds": seconds, "units": len(events), "unit": "events"} for name, seconds in cases.items()}


def expansion(model: ForecastModel, holdout: pa.Table, repeats: int) -> list[dict[str, Any]]:
    """Waiting times of all states that occur, up to the farthest of AHEAD, by recursion and by expanding paths."""
    judged = Judged(model, holdout)
    product, farthest = model.predictor.product, max(AHEAD)
    used, places = np.unique(judged.states, return_inverse=True)
    states = places.astype(np.int32)
    seconds, waiting = time_runs(lambda: waiting_times(product, farthest), repeats)
    rows = [_compare_outcomes("recursion, all states", seconds, waiting[used], judged, states)]
    for cutoff in CUTOFFS:
        seconds, (waiting, visited) = time_runs(partial(expand_paths, product, used, farthest, cutoff), 1)
        row = _compare_outcomes(f"paths above {cutoff:g}, {len(used):,} states", seconds, waiting, judged, states)
        rows.append(row | {"visited": visited})
    return rows


def _compare_outcomes(name: str, seconds: float, waiting: Float32, judged: Judged, states: Int32) -> dict[str, Any]:
    return {
        "way": name,
        "seconds": seconds,
        "mean probability": float(probability_within(waiting, max(AHEAD))[states].mean()),
        "calibration error": judged.calibration_errors(waiting, states),
    }


def limit() -> dict[str, Any]:
    """The bare limit of `ostinato bench`, so that compare.py can tell machines apart."""
    case = next(case for case in bench.cases(10_000_000) if case.name == bench.LIMIT)
    seconds, units = time_runs(case.run, 3)
    return {"seconds": seconds, "units": units, "unit": "events"}


def show_table(console: Console, rows: list[dict[str, Any]], first: str) -> None:
    """Rows as a table; the numbers of a dict become columns of their own."""
    flat = [
        {
            f"{name} {part}" if isinstance(value, dict) else name: number
            for name, value in row.items()
            for part, number in (value.items() if isinstance(value, dict) else (("", value),))
        }
        for row in rows
    ]
    names = [first, *(name for name in dict.fromkeys(name for row in flat for name in row) if name != first)]
    table = Table(*names)
    for row in flat:
        table.add_row(*(_cell(row.get(name)) for name in names))
    console.print(table)


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.1f}" if abs(value) >= 100 else f"{value:.3f}"
    return value if isinstance(value, str) else f"{value:,}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=1_000_000, help="number of events to learn from")
    parser.add_argument("--orders", type=int, nargs="*", default=list(ORDERS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--record", type=Path, help="a JSON file to write the result to")
    options = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 220)
    stream = Stream.make(options.events)

    orders = [{"order": order} | by_order(stream, order, options.repeats) for order in options.orders]
    show_table(console, orders, "order")
    model = forecaster(COMPARED).fit(stream.history)
    console.print(str(model.evaluate(stream.holdout, within=WITHIN)))
    scored = scoring(model, stream.holdout, options.repeats)
    for name, case in scored.items():
        console.print(f"{name}: {case['units'] / case['seconds'] / 1e6:,.1f} million events/s")
    ways = expansion(model, stream.holdout, options.repeats)
    show_table(console, ways, "way")
    if options.record is not None:
        trained = {
            f"train, order {row['order']}": {
                "seconds": row["training seconds"],
                "units": options.events,
                "unit": "events",
            }
            for row in orders
        }
        record = {
            "date": date.today().isoformat(),
            "python": platform.python_version(),
            **{library: version(library) for library in ("numba", "numpy", "pyarrow")},
            "ostinato": ost.__version__,
            "events": options.events,
            "repeats": options.repeats,
            "cases": {f"limit: {bench.LIMIT}": limit()} | trained | scored,
            "orders": orders,
            "expansion": ways,
        }
        options.record.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
