"""`ostinato.ForecastModel`: what was learned, and its verbs."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.errors import DataError, LimitError
from ostinato.forecast.answer import per_state
from ostinato.forecast.automaton import SymbolAutomaton
from ostinato.forecast.baselines import mean_rate, trees
from ostinato.forecast.calibrate import Adaptive, Calibration
from ostinato.forecast.drift import Drift, DriftAlarm
from ostinato.forecast.evaluation import Contender, Evaluation, evaluate
from ostinato.forecast.learnt import Learner, Learnt
from ostinato.forecast.live import Scorer
from ostinato.forecast.loss import log_loss
from ostinato.forecast.machine import Machine, completed
from ostinato.forecast.order import OrderChoice
from ostinato.forecast.pattern import Pattern
from ostinato.forecast.reader import Read, Reader
from ostinato.forecast.scores import Distances, interval_scores
from ostinato.forecast.settings import Settings, check_probability
from ostinato.forecast.symbols import Symbols
from ostinato.forecast.truth import Truth
from ostinato.kernels.protocol import Int32
from ostinato.query import is_spark_frame


class ForecastModel:
    """A pattern, what was learned of the events around it, and how far its intervals can be trusted."""

    def __init__(
        self,
        settings: Settings,
        learnt: Learnt,
        order: int,
        calibration: Calibration | None = None,
        alarm: DriftAlarm | None = None,
        choice: OrderChoice | None = None,
        adaptive: Adaptive | None = None,
    ) -> None:
        self.settings, self.learnt = settings, learnt
        self.order = order  # of the tree; the counts may tell of longer contexts, for the sake of baselines
        self.calibration, self.alarm, self.choice = calibration, alarm, choice
        nominal = settings.threshold if calibration is None else calibration.nominal
        self.adaptive = adaptive or Adaptive(settings.threshold, nominal)

    # -- what follows from it

    @property
    def pattern(self) -> Pattern:
        return self.learnt.symbols.pattern

    @property
    def nominal(self) -> float:
        """The threshold that intervals are made with, so that they cover what they promise."""
        return self.adaptive.nominal

    @cached_property
    def symbols(self) -> Symbols:
        """The whole alphabet: what was observed, then whatever else the pattern may have to read."""
        return self.learnt.symbols.completed()

    @cached_property
    def automaton(self) -> SymbolAutomaton:
        return self.symbols.automaton(self.settings.limits.pattern_states, self.learnt.gaps)

    @cached_property
    def machine(self) -> Machine:
        return Machine.of(self.automaton, self.learnt.counts, self.learnt.gaps, self.settings, self.order)

    @cached_property
    def per_state(self) -> pa.Table:
        """What is forecast in each state of the machine, as columns of the answer."""
        return per_state(self.machine, self.nominal)

    @cached_property
    def fingerprint(self) -> str:
        """Differs where states mean something else."""
        counts = self.learnt.counts
        told = (self.pattern, self.learnt.symbols.pairs, self.settings, self.order)
        return sha256(b"".join([repr(told).encode(), counts.grams.tobytes(), counts.weights.tobytes()])).hexdigest()

    # -- verbs

    def forecast(self, events: Any, /) -> Any:
        """A row for each event, in the order of the rows; of a Spark DataFrame, batch or streaming, a DataFrame.

        `probability` that a match completes within the horizon, and `beyond`, that none does; `point`, the likeliest
        number of events ahead; `earliest` and `latest`, the shortest interval that holds the promised probability, and
        `mass`, its own by the model (NULL: none holds so much); the same in seconds where events have a time, with the
        median for `point`; `completes`, whether a match completed with this event. Counted are events of the same
        partition.
        """
        if is_spark_frame(events):
            from ostinato.spark.ml import score

            return score(self, events)
        return self.scorer().push(events)

    def scorer(self) -> Scorer:
        """Takes the events batch by batch, in the order of time, and goes on where the last batch ended."""
        return Scorer(self)

    def evaluate(self, holdout: Any, /, *, within: int | None = None, decision: float = 0.5) -> Evaluation:
        """Scores on events that were not learned from, beside those of baselines.

        `within`: the number of events ahead that probabilities are judged for (all of the horizon unless given);
        `decision`: from which probability on "it will happen" is said.
        """
        _check_table("evaluate", holdout)
        read = self._read(holdout)
        truth = Truth.of(completed(self.automaton, read), read.keys)
        states = self.machine.states(read)
        distances = Distances(self.automaton.distance(), self.machine.product.pattern[states])
        loss = log_loss(self.machine.tree, read.symbols, read.keys)
        contenders = [Contender("model", self.machine.waiting, states, loss, self.nominal)]
        rate = mean_rate(self.learnt.rate, self.settings.horizon)
        contenders.append(Contender("mean rate", rate, np.zeros_like(states)))
        counts = replace(self.learnt.counts, alphabet=len(self.symbols))
        for name, tree in trees(counts).items():
            machine = Machine(self.automaton, tree, self.learnt.gaps, self.settings)
            loss = log_loss(tree, read.symbols, read.keys)
            try:
                contenders.append(Contender(name, machine.waiting, machine.states(read), loss))
            except LimitError:  # longer chains are larger still
                break
        return evaluate(
            contenders,
            truth,
            within=within,
            threshold=self.settings.threshold,
            decision=decision,
            distances=distances,
        )

    def update(self, events: Any, /, *, decay: float = 1.0) -> Drift | None:
        """Learn from further events, all that was learned before weighing `decay` times as much.

        Before it learns, the model is held against them: intervals that cover less or more than they promise are
        corrected, and a stream that is no longer the one that was learned rings the alarm, which is returned. Contexts
        begin anew with each call, so give as many events at once as there are.
        """
        _check_table("update", events)
        check_probability("decay", decay)
        read = self._read(events)
        completes = completed(self.automaton, read)
        truth, states = Truth.of(completes, read.keys), self.machine.states(read)
        loss = log_loss(self.machine.tree, read.symbols, read.keys)
        drift = None if self.alarm is None else self.alarm.step(loss, len(read.symbols))
        self._correct(truth, states)
        reader = Reader(self.pattern, self.settings.binding, self.learnt.symbols, learning=True)
        again = reader.read(events)
        learner = Learner(reader.symbols, self.learnt.counts.order, again.key_count)
        self.learnt = self.learnt.decayed(float(decay)).merge(learner.learn(again, completes))
        for name in ("symbols", "automaton", "machine", "per_state", "fingerprint"):
            self.__dict__.pop(name, None)  # found anew when asked for
        if drift is not None and self.alarm is not None:
            # It has rung, and what it rang for has been learned: the next change is one from here.
            self.alarm.expected = log_loss(self.machine.tree, again.symbols, again.keys)
        return drift

    def _correct(self, truth: Truth, states: Int32) -> None:
        horizon = self.settings.horizon
        scored = interval_scores(self.machine.forecasts(self.nominal), states, truth, horizon, self.settings.threshold)
        if scored.known:
            for _ in range(truth.completions):
                self.adaptive.step(scored.coverage)

    def _read(self, events: Any) -> Read:
        read = Reader(self.pattern, self.settings.binding, self.symbols).read(events)
        if not len(read.symbols):
            raise DataError("there are no events", fix="give events with their time and attributes")
        return read

    # -- to look at, to keep

    def explain(self) -> str:
        """What was learned, stage by stage."""
        from ostinato.forecast.explain import explain

        return explain(self)

    def save(self, path: str | Path, /, *, overwrite: bool = False) -> None:
        """Write a folder: model.json, and tables of the counts in Parquet. No code is in it."""
        from ostinato.forecast.saved import save

        save(self, Path(path), overwrite=overwrite)

    @staticmethod
    def load(path: str | Path, /) -> ForecastModel:
        """The model that was saved in a folder."""
        from ostinato.forecast.saved import load

        return load(Path(path))

    def __repr__(self) -> str:
        return (
            f"<ForecastModel of order {self.order}, {int(self.learnt.events):,} events learned, "
            f"{int(self.learnt.completions):,} completions>"
        )


def _check_table(verb: str, events: Any) -> None:
    if is_spark_frame(events):
        raise DataError(
            f"`{verb}` takes a table, not a Spark DataFrame", fix=f"collect a sample: model.{verb}(frame.toArrow())"
        )
