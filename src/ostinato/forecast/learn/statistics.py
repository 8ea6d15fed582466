"""The statistics a model learns from events: additive, so that those of further events, or of other tasks, add up."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ostinato.core.arrays import Bools, Float64, Int32
from ostinato.forecast.learn.counts import Counts, count_grams
from ostinato.forecast.learn.gaps import Gaps, count_gaps
from ostinato.forecast.symbols.encoder import Symbols
from ostinato.forecast.symbols.reader import SymbolBatch


@dataclass(frozen=True, eq=False)
class HistoryStatistics:
    """Symbols, how they follow each other, how long they take, and how many events and completions there were."""

    symbols: Symbols  # only those that were observed
    counts: Counts
    gaps: Gaps
    events: float
    completions: float

    @property
    def rate(self) -> float:
        """Completions per event."""
        return self.completions / self.events if self.events else 0.0

    def merge(self, other: HistoryStatistics) -> HistoryStatistics:
        """Both together; the symbols of `other` begin with those of this."""
        return HistoryStatistics(
            other.symbols,
            self.counts.merge(other.counts),
            self.gaps.merge(other.gaps),
            self.events + other.events,
            self.completions + other.completions,
        )

    def decay(self, factor: float) -> HistoryStatistics:
        """With less weight, so that what is added later counts for more."""
        return replace(
            self,
            counts=self.counts.decay(factor),
            gaps=self.gaps.decay(factor),
            events=self.events * factor,
            completions=self.completions * factor,
        )

    def at_order(self, order: int) -> HistoryStatistics:
        return replace(self, counts=self.counts.at_order(order))


class StatisticsCollector:
    """Collects the statistics of one stream, part by part."""

    def __init__(self, symbols: Symbols, order: int, key_count: int = 0) -> None:
        self.symbols, self.order = symbols, order
        self.history: Int32 = np.full((key_count, order), -1, np.int32)
        self.last: Float64 = np.full(key_count, np.nan)  # when the last event of each key was,
        self.before: Int32 = np.full(key_count, -1, np.int32)  # and its symbol

    def collect(self, read: SymbolBatch, completes: Bools) -> HistoryStatistics:
        """The statistics of events that come after those seen before."""
        self._add_keys(read.key_count - len(self.history))
        alphabet, events = len(self.symbols), len(read.symbols)
        seconds = np.full(events, np.nan) if read.seconds is None else read.seconds
        return HistoryStatistics(
            self.symbols,
            count_grams(read.symbols, read.keys, self.order, alphabet, self.history),
            count_gaps(read.symbols, read.keys, seconds, alphabet, self.last, self.before),
            float(events),
            float(np.count_nonzero(completes)),
        )

    def _add_keys(self, keys: int) -> None:
        """So many keys that were not seen before."""
        if keys > 0:
            self.history = np.concatenate([self.history, np.full((keys, self.order), -1, np.int32)])
            self.last = np.concatenate([self.last, np.full(keys, np.nan)])
            self.before = np.concatenate([self.before, np.full(keys, -1, np.int32)])
