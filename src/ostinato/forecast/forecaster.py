"""`ostinato.Forecaster`: learns from a history when a pattern completes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from ostinato.core.backends import is_spark_frame, spark_backend
from ostinato.core.events import to_arrow
from ostinato.core.frames import SparkFrame, TableLike
from ostinato.errors import DataError
from ostinato.forecast.chain.machine import Machine, completed
from ostinato.forecast.learn.drift import DriftAlarm, batch_losses
from ostinato.forecast.learn.order import LARGEST, OrderChoice, choose_order
from ostinato.forecast.learn.statistics import Learner
from ostinato.forecast.model import ForecastModel
from ostinato.forecast.pattern import Pattern
from ostinato.forecast.score.baselines import HIGHEST_ORDER
from ostinato.forecast.score.interval_checks import Judgement, judgement_of
from ostinato.forecast.settings import Settings
from ostinato.forecast.symbols.encoder import Symbols
from ostinato.forecast.symbols.pace import Pacer
from ostinato.forecast.symbols.reader import Read, Reader
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
        self.pattern = Pattern.of(query, features, language)
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
        rows = to_arrow(history)
        reader = Reader(self.pattern, self.settings.binding, self._symbols(rows), learning=True)
        read = reader.read(rows)
        if not len(read.symbols):
            raise DataError("the history has no events", fix="give events to learn from")
        return _Fit(self.settings, reader.symbols, read).model()

    def __repr__(self) -> str:
        settings = self.settings
        told = f"order={settings.order!r}, horizon={settings.horizon}, threshold={settings.threshold:g}"
        return f"<Forecaster of {' '.join(self.pattern.text.split())!r}, {told}>"

    def _symbols(self, rows: pa.Table) -> Symbols:
        """None yet, but with the grid that ages are counted by."""
        symbols = Symbols(self.pattern)
        if not symbols.measured:
            return symbols
        pacer = Pacer(self.pattern, self.settings.binding)
        pacer.add(rows)
        return symbols.with_grid(pacer.pace, self.settings.limits.pattern_states)


class _Fit:
    """One run of learning: the earlier events teach, the later ones judge, then all teach."""

    def __init__(self, settings: Settings, symbols: Symbols, read: Read) -> None:
        self.settings, self.symbols, self.read = settings, symbols, read
        self.automaton = symbols.completed().automaton(settings.limits.pattern_states)
        self.completes = completed(self.automaton, read)
        self.cut = len(read.symbols) - int(settings.holdout * len(read.symbols))
        self.earlier, self.later = read.part(0, self.cut), read.part(self.cut, len(read.symbols))

    def model(self) -> ForecastModel:
        order = LARGEST if self.settings.order == "auto" else self.settings.order
        learner = Learner(self.symbols, max(order, HIGHEST_ORDER), self.read.key_count)
        head = learner.learn(self.earlier, self.completes[: self.cut])
        tail = learner.learn(self.later, self.completes[self.cut :])
        choice: OrderChoice | None = None
        if self.settings.order == "auto":
            choice = choose_order(head.counts, tail.counts, self.settings.learning)
            order = choice.order
            kept = max(order, HIGHEST_ORDER)  # what baselines need
            head, tail = head.lowered(kept), tail.lowered(kept)
        judgement = alarm = None
        if tail.events and head.events:
            machine = Machine.of(self.automaton, head.counts, head.gaps, self.settings, order)
            alarm = DriftAlarm.of(*batch_losses(machine.tree, self.later))
            judgement = self._judgement(machine) if self.settings.calibrate else None
        return ForecastModel(self.settings, head.merge(tail), order, judgement, alarm, choice)

    def _judgement(self, machine: Machine) -> Judgement:
        """Of a model that has seen only the earlier events, by the later ones."""
        return judgement_of(machine, self.read, self.completes, self.cut)
