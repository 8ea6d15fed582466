"""Learning from further events: whether the stream has changed, how intervals did, and what the events teach."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ostinato.errors import LimitError
from ostinato.forecast.chain.predictor import find_completions
from ostinato.forecast.learn.drift import Drift, DriftAlarm, batch_losses
from ostinato.forecast.learn.ground_truth import Truth
from ostinato.forecast.learn.loss import log_loss
from ostinato.forecast.learn.statistics import HistoryStatistics, StatisticsCollector
from ostinato.forecast.learn.suffix_tree import learn_tree
from ostinato.forecast.score.interval_checks import IntervalChecks, check_holdout_intervals
from ostinato.forecast.score.scores import interval_scores
from ostinato.forecast.symbols.reader import SymbolBatch, SymbolReader

if TYPE_CHECKING:
    from ostinato.forecast.model import ForecastModel

_FEW = 0.1  # of what was learned: so many further events hardly change the model


class ModelUpdate:
    """One batch of events and the model before it.

    The model learns from the earlier events of the batch, is tested on the later ones, then learns from all.
    """

    def __init__(self, model: ForecastModel, events: Any, decay: float) -> None:
        self.before, self.decay = model, decay
        self.read = model.read(events)
        self.completes = find_completions(model.automaton, self.read)
        reader = SymbolReader(model.pattern, model.settings.binding, model.statistics.symbols, learning=True)
        self.again = reader.read(events)  # with symbols for kinds of events that are new
        count = len(self.again.symbols)
        self.cut = count - int(model.settings.holdout * count)
        collector = StatisticsCollector(reader.symbols, model.statistics.counts.order, self.again.key_count)
        self.head = collector.collect(self.again.part(0, self.cut), self.completes[: self.cut])
        self.tail = collector.collect(self.again.part(self.cut, count), self.completes[self.cut :])

    @cached_property
    def statistics(self) -> HistoryStatistics:
        """All that was learned before, decayed, and all of the batch."""
        return self.before.statistics.decay(self.decay).merge(self.head).merge(self.tail)

    def drift(self) -> Drift | None:
        """The alarm, if the batch rings it; from then on it expects events as they are now."""
        alarm = self.before.alarm
        if alarm is None:
            return None
        rang = [
            alarm.step(_loss(self.before, self.read), len(self.read.symbols)),
            self._check_coverage(alarm),
            self._check_past(alarm),
        ]
        drift = next((each for each in rang if each is not None), None)
        alarm.last = drift or alarm.last
        tested, read, cut = self._tested
        last = read.part(cut, len(read.symbols))
        if drift is not None:
            alarm.expect(*batch_losses(tested.predictor.tree, last))
        after = tested.predictor.tree
        if not cut:
            after = learn_tree(self.statistics.counts.at_order(tested.order), tested.settings.learning)
        change = log_loss(after, last.symbols, last.keys) - _loss(self.before, self.read.part(cut, len(read.symbols)))
        alarm.record_learning(change, shift=bool(cut) and drift is None)
        return drift

    def interval_checks(self, drift: Drift | None) -> IntervalChecks | None:
        """What is known about intervals; from earlier batches too, unless the stream has changed."""
        settings, before = self.before.settings, self.before.interval_checks
        if not settings.calibrate or not settings.holdout:
            return None
        model, read, cut = self._tested
        found = check_holdout_intervals(model.predictor, read, self.completes, cut)
        return found if drift is not None or before is None else before.merge_later(found, self.decay)

    @cached_property
    def _tested(self) -> tuple[ForecastModel, SymbolBatch, int]:
        """A model, and the events it is tested on: those from the number on, which it has not learned from.

        Where there are few, the model that has learned from none of them is as good as the one that will have.
        """
        before = self.before
        count = len(self.again.symbols)
        if count <= _FEW * self.decay * before.statistics.events or self.cut == count:
            return before, self.read, 0
        statistics = before.statistics.decay(self.decay).merge(self.head)
        return type(before)(before.settings, statistics, before.order), self.again, self.cut

    def _check_coverage(self, alarm: DriftAlarm) -> Drift | None:
        """Whether intervals held as often as they promise."""
        before, settings = self.before, self.before.settings
        truth = Truth.of(self.completes, self.read.keys)
        made, states = before.predictor.forecasts(before.nominal), before.predictor.states(self.read)
        scored = interval_scores(made, states, truth, settings.horizon, settings.threshold)
        completions = truth.completions * scored.known / max(truth.events, 1)
        return alarm.step_intervals(settings.threshold, scored.coverage, completions, len(self.read.symbols))

    def _check_past(self, alarm: DriftAlarm) -> Drift | None:
        """Whether a model of the batch alone beats one of everything, at the highest order that was counted."""
        learning, last = self.before.settings.learning, self.again.part(self.cut, len(self.again.symbols))
        if not len(last.symbols) or not self.cut:
            return None
        try:
            alone = learn_tree(self.head.counts, learning)
            whole = learn_tree(self.before.statistics.counts.merge(self.head.counts), learning)
        except LimitError:  # more contexts than the model itself has
            return None
        (without, sizes), (together, _) = (batch_losses(tree, last) for tree in (alone, whole))
        return alarm.step_past((np.array(together) - np.array(without)).tolist(), sizes)


def _loss(model: ForecastModel, read: SymbolBatch) -> float:
    return log_loss(model.predictor.tree, read.symbols, read.keys)
