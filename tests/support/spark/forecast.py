"""A small history for tests of forecasting on Spark, and what was counted, by what symbols mean."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

import ostinato as ost
from ostinato.forecast.learn.statistics import HistoryStatistics

PATTERNS = {
    "events": "A AS x ; B AS y PARTITION BY k WITHIN 4 EVENTS",
    "time": "A AS x ; B AS y PARTITION BY k WITHIN 5 seconds",
    "compared": "A AS x ; B AS y FILTER x.v < y.v PARTITION BY k WITHIN 4 EVENTS",
}
SIZE = 400


def history(seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "ts": pa.array(np.arange(SIZE) * 500_000, pa.timestamp("us", tz="UTC")),
            "type": pa.array(np.array(list("ABC"))[rng.integers(0, 3, SIZE)]),
            "k": rng.integers(0, 4, SIZE),
            "v": rng.integers(0, 3, SIZE),
        }
    )


def forecaster(text: str, **options: Any) -> ost.Forecaster:
    settings: dict[str, Any] = {"order": 2, "horizon": 6, "time": "ts", **options}
    return ost.Forecaster(text, **settings)


def by_task(rows: pa.Table) -> list[list[pa.RecordBatch]]:
    """The keys of two tasks, in any order."""
    odd = np.random.default_rng(2).permutation(len(rows))
    keys = rows["k"].to_numpy()[odd] % 2
    return [rows.take(pa.array(odd[keys == task])).to_batches(max_chunksize=50) for task in (0, 1)]


def counts_by_meaning(statistics: HistoryStatistics) -> dict[tuple[Any, ...], float]:
    """Counts by what the symbols of a gram mean, not by their numbers."""
    symbols = statistics.symbols
    outcomes = symbols.outcomes if symbols.pattern.correlated else None
    pairs = [(minterm, outcomes[effect] if outcomes else effect) for minterm, effect in symbols.pairs]
    grams = [tuple(None if place < 0 else pairs[place] for place in gram) for gram in statistics.counts.grams]
    return dict(zip(grams, statistics.counts.weights.tolist(), strict=True))
