"""`ostinato.Forecaster`: learns from a history when a pattern completes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ostinato.errors import DataError
from ostinato.forecast.baselines import HIGHEST_ORDER
from ostinato.forecast.calibrate import Calibration, calibrate
from ostinato.forecast.drift import DriftAlarm
from ostinato.forecast.gaps import count_gaps
from ostinato.forecast.learnt import Learner
from ostinato.forecast.loss import log_loss
from ostinato.forecast.machine import Machine, completed
from ostinato.forecast.model import ForecastModel
from ostinato.forecast.order import LARGEST, OrderChoice, choose_order
from ostinato.forecast.pattern import Pattern
from ostinato.forecast.reader import Read, Reader
from ostinato.forecast.settings import Settings
from ostinato.forecast.symbols import Symbols
from ostinato.forecast.truth import Truth
from ostinato.query import PatternQuery, is_spark_frame

BATCHES = 30  # of held-out events, whose losses tell how much a batch may cost


class Forecaster:
    """How to learn; `fit` does it.

    `features` are conditions on one event, such as "speed > 3": they refine what the model tells apart, and never
    change what matches. Further options are those of `Settings` and of `Learning`: p_min, min_count, gamma, alpha, r,
    prior, max_nodes.
    """

    def __init__(
        self,
        query: PatternQuery | str,
        *,
        order: Any = "auto",
        horizon: int = 200,
        threshold: float = 0.5,
        features: Sequence[str] = (),
        **options: Any,
    ) -> None:
        self.pattern = Pattern.of(query, features)
        self.settings = Settings.of(order=order, horizon=horizon, threshold=threshold, **options)

    def fit(self, history: Any) -> ForecastModel:
        """Learn from events (pyarrow, pandas, polars, a list of dicts; a Spark DataFrame)."""
        if is_spark_frame(history):
            from ostinato.spark.ml import fit

            return fit(self.pattern, self.settings, history)
        reader = Reader(self.pattern, self.settings.binding)
        read = reader.read(history)
        if not len(read.symbols):
            raise DataError("the history has no events", fix="give events to learn from")
        return _Fit(self.settings, reader.symbols, read).model()


class _Fit:
    """One run of learning: the earlier events teach, the later ones judge, then all teach."""

    def __init__(self, settings: Settings, symbols: Symbols, read: Read) -> None:
        self.settings, self.symbols, self.read = settings, symbols, read
        seconds = np.full(len(read.symbols), np.nan) if read.seconds is None else read.seconds
        gaps = count_gaps(read.symbols, read.keys, seconds, len(symbols))
        self.automaton = symbols.completed().automaton(settings.limits.pattern_states, gaps)
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
        calibration = alarm = None
        if tail.events and head.events:
            machine = Machine.of(self.automaton, head.counts, head.gaps, self.settings, order)
            alarm = self._alarm(machine)
            calibration = self._calibration(machine) if self.settings.calibrate else None
        return ForecastModel(self.settings, head.merge(tail), order, calibration, alarm, choice)

    def _calibration(self, machine: Machine) -> Calibration:
        """Of a model that has seen only the earlier events, by the later ones."""
        states = machine.states(self.read)[self.cut :]
        truth = Truth.of(self.completes[self.cut :], self.later.keys)
        return calibrate(machine.waiting, states, truth, self.settings.threshold)

    def _alarm(self, machine: Machine) -> DriftAlarm:
        ends = np.linspace(0, len(self.later.symbols), BATCHES + 1).astype(int).tolist()
        parts = [self.later.part(begin, end) for begin, end in pairwise(ends) if begin < end]
        losses = [log_loss(machine.tree, part.symbols, part.keys) for part in parts]
        return DriftAlarm.of(losses, [len(part.symbols) for part in parts])
