"""Statistics of a stream: parts add up to the whole, and older ones can weigh less."""

from __future__ import annotations

import numpy as np
import pytest

from ostinato.forecast.learn.statistics import HistoryStatistics, StatisticsCollector
from ostinato.forecast.pattern import ForecastPattern
from ostinato.forecast.symbols.encoder import Symbols
from ostinato.forecast.symbols.reader import SymbolBatch

SYMBOLS = Symbols(ForecastPattern.of("A ; B")).with_more([(0, 0), (1, 0), (2, 0)])


def batch(size: int = 60, seed: int = 1) -> SymbolBatch:
    rng = np.random.default_rng(seed)
    numbers, keys = rng.integers(0, 3, size).astype(np.int32), rng.integers(0, 2, size).astype(np.int32)
    return SymbolBatch(numbers, keys, 2, None, np.cumsum(rng.random(size)))


def collect(*parts: SymbolBatch) -> HistoryStatistics:
    collector = StatisticsCollector(SYMBOLS, 2)
    found = [collector.collect(part, part.symbols == 2) for part in parts]
    return found[0] if len(found) == 1 else found[0].merge(found[1])


def test_parts_add_up_to_the_whole() -> None:
    whole = batch()
    one, two = collect(whole), collect(whole.part(0, 23), whole.part(23, 60))
    assert (one.counts.grams == two.counts.grams).all() and (one.counts.weights == two.counts.weights).all()
    assert one.gaps.total == two.gaps.total == 58, "the first event of each key has no gap"
    assert one.gaps.mean == pytest.approx(two.gaps.mean)
    assert (one.events, one.completions) == (two.events, two.completions) == (60, (whole.symbols == 2).sum())


def test_what_came_earlier_can_weigh_less() -> None:
    found = collect(batch())
    half = found.decay(0.5)
    assert (half.events, half.completions) == (30, found.completions / 2) and half.rate == found.rate
    assert half.counts.total == 30 and half.gaps.total == 29 and half.gaps.mean == pytest.approx(found.gaps.mean)


def test_a_lower_order_keeps_all_events() -> None:
    found = collect(batch()).at_order(1)
    assert found.counts.order == 1 and found.counts.total == 60
