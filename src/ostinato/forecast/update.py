"""Further events: whether they are of the stream that was learned, what they say of intervals, and what they teach."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ostinato.errors import LimitError
from ostinato.forecast.chain.machine import completed
from ostinato.forecast.learn.drift import Drift, DriftAlarm, batch_losses
from ostinato.forecast.learn.loss import log_loss
from ostinato.forecast.learn.statistics import Learner, Learnt
from ostinato.forecast.learn.suffix_tree import learn
from ostinato.forecast.learn.truth import Truth
from ostinato.forecast.score.interval_checks import Judgement, judgement_of
from ostinato.forecast.score.scores import interval_scores
from ostinato.forecast.symbols.reader import Read, Reader

if TYPE_CHECKING:
    from ostinato.forecast.model import ForecastModel

_FEW = 0.1  # of what was learned: so many further events hardly change the model


class Update:
    """One batch of events and the model before it.

    The earlier events of the batch teach, the later ones judge, then all teach.
    """

    def __init__(self, model: ForecastModel, events: Any, decay: float) -> None:
        self.before, self.decay = model, decay
        self.read = model.read(events)
        self.completes = completed(model.automaton, self.read)
        reader = Reader(model.pattern, model.settings.binding, model.learnt.symbols, learning=True)
        self.again = reader.read(events)  # with symbols for kinds of events that are new
        count = len(self.again.symbols)
        self.cut = count - int(model.settings.holdout * count)
        learner = Learner(reader.symbols, model.learnt.counts.order, self.again.key_count)
        self.head = learner.learn(self.again.part(0, self.cut), self.completes[: self.cut])
        self.tail = learner.learn(self.again.part(self.cut, count), self.completes[self.cut :])

    @cached_property
    def learnt(self) -> Learnt:
        """All that was learned before, decayed, and all of the batch."""
        return self.before.learnt.decayed(self.decay).merge(self.head).merge(self.tail)

    def drift(self) -> Drift | None:
        """Whether the batch rings the alarm, which then expects what is so from now on."""
        alarm = self.before.alarm
        if alarm is None:
            return None
        rang = [
            alarm.step(_loss(self.before, self.read), len(self.read.symbols)),
            self._missed(alarm),
            self._past(alarm),
        ]
        drift = next((each for each in rang if each is not None), None)
        alarm.last = drift or alarm.last
        judge, read, cut = self._judge
        last = read.part(cut, len(read.symbols))
        if drift is not None:
            alarm.expect(*batch_losses(judge.machine.tree, last))
        after = judge.machine.tree if cut else learn(self.learnt.counts.lowered(judge.order), judge.settings.learning)
        change = log_loss(after, last.symbols, last.keys) - _loss(self.before, self.read.part(cut, len(read.symbols)))
        alarm.learned(change, shift=bool(cut) and drift is None)
        return drift

    def judgement(self, drift: Drift | None) -> Judgement | None:
        """What is known of intervals, of earlier batches as far as they were of the same stream."""
        settings, before = self.before.settings, self.before.judgement
        if not settings.calibrate or not settings.holdout:
            return None
        model, read, cut = self._judge
        found = judgement_of(model.machine, read, self.completes, cut)
        return found if drift is not None or before is None else before.followed_by(found, self.decay)

    @cached_property
    def _judge(self) -> tuple[ForecastModel, Read, int]:
        """A model, and the events it is judged by: those from the number on, which it has not learned from.

        Where they are few the model that has learned from none of them is as good as the one that will have.
        """
        before = self.before
        if len(self.again.symbols) <= _FEW * self.decay * before.learnt.events or self.cut == len(self.again.symbols):
            return before, self.read, 0
        learnt = before.learnt.decayed(self.decay).merge(self.head)
        return type(before)(before.settings, learnt, before.order), self.again, self.cut

    def _missed(self, alarm: DriftAlarm) -> Drift | None:
        """Of intervals as they were given."""
        before, settings = self.before, self.before.settings
        truth = Truth.of(self.completes, self.read.keys)
        made, states = before.machine.forecasts(before.nominal), before.machine.states(self.read)
        scored = interval_scores(made, states, truth, settings.horizon, settings.threshold)
        completions = truth.completions * scored.known / max(truth.events, 1)
        return alarm.step_intervals(settings.threshold, scored.coverage, completions, len(self.read.symbols))

    def _past(self, alarm: DriftAlarm) -> Drift | None:
        """A model of the batch alone beside one of everything, at the highest order that was counted."""
        learning, last = self.before.settings.learning, self.again.part(self.cut, len(self.again.symbols))
        if not len(last.symbols) or not self.cut:
            return None
        try:
            alone = learn(self.head.counts, learning)
            whole = learn(self.before.learnt.counts.merge(self.head.counts), learning)
        except LimitError:  # more contexts than the model itself has
            return None
        (without, sizes), (together, _) = (batch_losses(tree, last) for tree in (alone, whole))
        return alarm.step_past((np.array(together) - np.array(without)).tolist(), sizes)


def _loss(model: ForecastModel, read: Read) -> float:
    return log_loss(model.machine.tree, read.symbols, read.keys)
