"""`ostinato.Forecaster`: learns from a history when a pattern completes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from ostinato.core.backends import is_spark_frame, spark_backend
from ostinato.core.events import to_arrow
from ostinato.core.frames import SparkFrame, TableLike
from ostinato.errors import DataError
from ostinato.forecast.chain.predictor import Predictor, find_completions
from ostinato.forecast.learn.drift import DriftAlarm, batch_losses
from ostinato.forecast.learn.order import MAX_AUTO_ORDER, OrderChoice, choose_order
from ostinato.forecast.learn.statistics import HistoryStatistics, StatisticsCollector
from ostinato.forecast.model import ForecastModel
from ostinato.forecast.pattern import ForecastPattern
from ostinato.forecast.score.baselines import HIGHEST_ORDER
from ostinato.forecast.score.interval_checks import check_holdout_intervals
from ostinato.forecast.settings import Settings
from ostinato.forecast.symbols.encoder import Symbols
from ostinato.forecast.symbols.event_spacing import PaceMeter
from ostinato.forecast.symbols.reader import SymbolBatch, SymbolReader
from ostinato.patterns.query import PatternQuery


class Forecaster:
    """How to learn when a pattern completes; `fit` does it.

    Parameters
    ----------
    query
        The pattern: what `ostinato.cel` or `ostinato.srem` returns, or text.
    order
        How many earlier events a forecast may look at; "auto" chooses by held-out events.
    horizon
        How many events ahead are forecast.
    threshold
        The probability that intervals promise.
    features
        Conditions on one event, such as "speed > 3". They refine what the model tells apart, and never change what
        matches.
    language
        What a query that is text is written in: "cel" (the default) or "srem".
    options
        Those of `Settings` (calibrate, holdout, time, type, order_by, limits) and of `Learning` (p_min, min_count,
        gamma, alpha, r, prior, max_nodes).
    """

    def __init__(
        self,
        query: PatternQuery | str,
        *,
        order: Any = "auto",
        horizon: int = 200,
        threshold: float = 0.5,
        features: Sequence[str] = (),
        language: str | None = None,
        **options: Any,
    ) -> None:
        self.pattern = ForecastPattern.of(query, features, language)
        self.settings = Settings.of(order=order, horizon=horizon, threshold=threshold, **options)

    def fit(self, history: TableLike | SparkFrame) -> ForecastModel:
        """Learn from events.

        Parameters
        ----------
        history
            A table (pyarrow, pandas, polars, a list of dicts) or a batch DataFrame of Spark.
        """
        if is_spark_frame(history):
            fitted: ForecastModel = spark_backend().fit(self, history)
            return fitted
        from ostinato.forecast.kernels.prefetch import prefetch_learning

        prefetch_learning()
        rows = to_arrow(history)
        reader = SymbolReader(self.pattern, self.settings.binding, self._symbols(rows), learning=True)
        read = reader.read(rows)
        if not len(read.symbols):
            raise DataError("the history has no events", fix="give events to learn from")
        return _Fit(self.settings, reader.symbols, read).model()

    def __repr__(self) -> str:
        settings = self.settings
        options = f"order={settings.order!r}, horizon={settings.horizon}, threshold={settings.threshold:g}"
        return f"<Forecaster of {' '.join(self.pattern.text.split())!r}, {options}>"

    def _symbols(self, rows: pa.Table) -> Symbols:
        """None yet, but with the grid that ages are counted by."""
        symbols = Symbols(self.pattern)
        if not symbols.measured:
            return symbols
        meter = PaceMeter(self.pattern, self.settings.binding)
        meter.add(rows)
        return symbols.with_grid(meter.pace, self.settings.limits.pattern_states)


class _Fit:
    """One run of learning: a model of the earlier events is tested on the later ones, then it learns from all."""

    def __init__(self, settings: Settings, symbols: Symbols, read: SymbolBatch) -> None:
        self.settings, self.symbols, self.read = settings, symbols, read
        self.automaton = symbols.with_unseen().automaton(settings.limits.pattern_states)
        self.completes = find_completions(self.automaton, read)
        self.cut = len(read.symbols) - int(settings.holdout * len(read.symbols))
        self.earlier, self.later = read.part(0, self.cut), read.part(self.cut, len(read.symbols))

    def model(self) -> ForecastModel:
        collector = StatisticsCollector(self.symbols, counting_order(self.settings), self.read.key_count)
        head = collector.collect(self.earlier, self.completes[: self.cut])
        tail = collector.collect(self.later, self.completes[self.cut :])
        head, tail, order, choice = settle_order(head, tail, self.settings)
        interval_checks = alarm = None
        if tail.events and head.events:
            predictor = Predictor.of(self.automaton, head.counts, head.gaps, self.settings, order)
            alarm = DriftAlarm.of(*batch_losses(predictor.tree, self.later))
            if self.settings.calibrate:
                interval_checks = check_holdout_intervals(predictor, self.read, self.completes, self.cut)
        return ForecastModel(self.settings, head.merge(tail), order, interval_checks, alarm, choice)


def counting_order(settings: Settings) -> int:
    """The order to count a history at: long enough for the model, and for the baselines it is compared with."""
    return max(MAX_AUTO_ORDER if settings.order == "auto" else settings.order, HIGHEST_ORDER)


def settle_order(
    head: HistoryStatistics, tail: HistoryStatistics, settings: Settings
) -> tuple[HistoryStatistics, HistoryStatistics, int, OrderChoice | None]:
    """The statistics of the earlier and of the later events at the order that the model needs, that order, and how it
    was chosen if it is "auto"."""
    if settings.order != "auto":
        return head, tail, settings.order, None
    choice = choose_order(head.counts, tail.counts, settings.learning)
    kept = max(choice.order, HIGHEST_ORDER)
    return head.at_order(kept), tail.at_order(kept), choice.order, choice
