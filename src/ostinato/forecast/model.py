"""`ostinato.ForecastModel`: what was learned, and its verbs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any, overload

import numpy as np
import pyarrow as pa

from ostinato.core.backends import is_spark_frame, spark_backend
from ostinato.core.frames import Frame, SparkFrame, TableLike
from ostinato.core.options import bad_option
from ostinato.core.text.counts import format_count
from ostinato.errors import DataError, LimitError
from ostinato.forecast.chain.predictor import Predictor, find_completions
from ostinato.forecast.learn.drift import Drift, DriftAlarm
from ostinato.forecast.learn.ground_truth import Truth
from ostinato.forecast.learn.loss import log_loss
from ostinato.forecast.learn.order import OrderChoice
from ostinato.forecast.learn.statistics import HistoryStatistics
from ostinato.forecast.pattern import ForecastPattern
from ostinato.forecast.score.baselines import baseline_trees, mean_rate
from ostinato.forecast.score.calibrate import Calibration
from ostinato.forecast.score.columns import state_table
from ostinato.forecast.score.evaluation import Contender, Evaluation, compare
from ostinato.forecast.score.interval_checks import IntervalChecks
from ostinato.forecast.score.scores import Distances
from ostinato.forecast.scorer import Scorer
from ostinato.forecast.settings import Settings, check_probability
from ostinato.forecast.symbols.automaton import SymbolAutomaton
from ostinato.forecast.symbols.encoder import Symbols
from ostinato.forecast.symbols.reader import SymbolBatch, SymbolReader
from ostinato.forecast.update import ModelUpdate


class ForecastModel:
    """A pattern, what was learned of the events around it, and how far its intervals can be trusted."""

    def __init__(
        self,
        settings: Settings,
        statistics: HistoryStatistics,
        order: int,
        interval_checks: IntervalChecks | None = None,
        alarm: DriftAlarm | None = None,
        choice: OrderChoice | None = None,
    ) -> None:
        self.settings, self.statistics = settings, statistics
        self.order = order  # of the tree; the counts may tell of longer contexts, for the sake of baselines
        self.interval_checks, self.alarm, self.choice = interval_checks, alarm, choice

    # -- what follows from it

    @property
    def pattern(self) -> ForecastPattern:
        return self.statistics.symbols.pattern

    @property
    def calibration(self) -> Calibration | None:
        """The threshold that intervals in events are made with, and the evidence for it; None: never checked."""
        return None if self.interval_checks is None else self.interval_checks.events.calibration()

    @property
    def calibration_seconds(self) -> Calibration | None:
        """The same of intervals in seconds."""
        seconds = None if self.interval_checks is None else self.interval_checks.seconds
        return None if seconds is None else seconds.calibration()

    @property
    def nominal(self) -> float:
        """The threshold that intervals are made with, so that they cover what they promise."""
        return self.settings.threshold if self.calibration is None else self.calibration.nominal

    @property
    def nominal_seconds(self) -> float:
        found = self.calibration_seconds
        return self.settings.threshold if found is None else found.nominal

    @cached_property
    def symbols(self) -> Symbols:
        """The whole alphabet: what was observed, then whatever else the pattern may have to read."""
        return self.statistics.symbols.with_unseen()

    @cached_property
    def automaton(self) -> SymbolAutomaton:
        return self.symbols.automaton(self.settings.limits.pattern_states)

    @cached_property
    def predictor(self) -> Predictor:
        return Predictor.of(self.automaton, self.statistics.counts, self.statistics.gaps, self.settings, self.order)

    @cached_property
    def per_state(self) -> pa.Table:
        """What is forecast in each state, as columns of the answer."""
        return state_table(self.predictor, self.nominal, self.nominal_seconds)

    @cached_property
    def fingerprint(self) -> str:
        """Tells models apart whose states mean different things."""
        counts = self.statistics.counts
        symbols, remembered = self.statistics.symbols, self.predictor.remembered
        pattern = self.pattern
        # Snapshots and checkpoints keep this, so the text must stay as it is, whatever classes are called.
        text = (
            f"(Pattern(text={pattern.text!r}, language={pattern.language!r}, features={pattern.features!r}), "
            f"{symbols.pairs!r}, {symbols.grid!r}, {self.settings!r}, {self.order!r}, {remembered!r})"
        )
        return sha256(b"".join([text.encode(), counts.grams.tobytes(), counts.weights.tobytes()])).hexdigest()

    # -- verbs

    @overload
    def forecast(self, events: Frame, /, *, within: Sequence[int] = ()) -> Frame: ...
    @overload
    def forecast(self, events: TableLike, /, *, within: Sequence[int] = ()) -> pa.Table: ...
    def forecast(self, events: Any, /, *, within: Sequence[int] = ()) -> Any:
        """When the next match will complete, after each event: one row per event, in the order of the rows.

        Parameters
        ----------
        events
            A table (pyarrow, pandas, polars, a list of dicts), or a Spark DataFrame, batch or streaming.
        within
            `[5, 20]` adds `within_5` and `within_20`: the probability of a match within so many events.

        Returns
        -------
        pyarrow.Table, or a Spark DataFrame for a Spark DataFrame
            - `probability` that a match completes within the horizon, and `beyond`, that none does;
            - `point`, the likeliest number of events ahead;
            - `earliest` and `latest`, the shortest interval that holds the promised probability, and `mass`, the
              probability that the model gives it (NULL where no interval holds so much);
            - the same in seconds where events have a time, with the median for `point`;
            - `completes`, whether a match completed with this event.

            Only events of the same partition count.
        """
        if is_spark_frame(events):
            return spark_backend().forecast(self, events, within=within)
        return self.scorer(within=within).push(events)

    def scorer(self, *, within: Sequence[int] = ()) -> Scorer:
        """Takes the events batch by batch, in the order of time, and goes on where the last batch ended.

        Parameters
        ----------
        within
            As for `forecast`.
        """
        return Scorer(self, within)

    def evaluate(
        self, holdout: TableLike | SparkFrame, /, *, within: int | None = None, decision: float = 0.5
    ) -> Evaluation:
        """Scores on events that the model has not learned from, beside those of baselines.

        Parameters
        ----------
        holdout
            Later events: a table, or a Spark DataFrame, which is scored where its rows are.
        within
            How many events ahead probabilities are scored for (default: the horizon).
        decision
            The probability from which a forecast counts as "it will happen".
        """
        if is_spark_frame(holdout):
            scored: Evaluation = spark_backend().evaluate(self, holdout, within=within, decision=decision)
            return scored
        read = self.read(holdout)
        truth = Truth.of(find_completions(self.automaton, read), read.keys)
        states = self.predictor.states(read)
        distances = Distances(self.automaton.distance(), self.predictor.product.pattern[states])
        loss = log_loss(self.predictor.tree, read.symbols, read.keys)
        contenders = [Contender("model", self.predictor.waiting, states, loss, self.nominal)]
        rate = mean_rate(self.statistics.rate, self.settings.horizon)
        contenders.append(Contender("mean rate", rate, np.zeros_like(states)))
        counts = replace(self.statistics.counts, alphabet=len(self.symbols))
        untimed = self.statistics.gaps.decay(0.0)
        for name, tree in baseline_trees(counts).items():
            predictor = Predictor(self.automaton, tree, untimed, self.settings)
            loss = log_loss(tree, read.symbols, read.keys)
            try:
                contenders.append(Contender(name, predictor.waiting, predictor.states(read), loss))
            except LimitError:  # longer chains are larger still
                break
        return compare(
            contenders,
            truth,
            within=within,
            threshold=self.settings.threshold,
            decision=decision,
            distances=distances,
        )

    def update(self, events: TableLike, /, *, decay: float = 1.0) -> Drift | None:
        """Learn from further events, and say whether the stream has changed.

        Before it learns, the model is tested on the new events. If the stream has changed, the drift is returned.
        Otherwise intervals are calibrated again, by the last of these events and what
        is remembered of earlier ones.

        Parameters
        ----------
        events
            A table. Contexts start over with each call, so give as many events at once as there are.
        decay
            How much everything learned before still weighs, from 0 to 1.
        """
        if is_spark_frame(events):
            raise DataError(
                "`update` takes a table, not a Spark DataFrame", fix="collect a sample: model.update(frame.toArrow())"
            )
        check_probability("decay", decay)
        update = ModelUpdate(self, events, float(decay))
        drift = update.drift()
        self.interval_checks, self.statistics = update.interval_checks(drift), update.statistics
        for name in ("symbols", "automaton", "predictor", "per_state", "fingerprint"):
            self.__dict__.pop(name, None)  # found anew when asked for
        return drift

    def read(self, events: Any) -> SymbolBatch:
        """Events as symbols. Raises DataError where there are none.

        Parameters
        ----------
        events
            A table (pyarrow, pandas, polars) or a list of dicts, in any order.
        """
        read = SymbolReader(self.pattern, self.settings.binding, self.symbols).read(events)
        if not len(read.symbols):
            raise DataError("there are no events", fix="give events with their time and attributes")
        return read

    # -- to look at, to keep

    def explain(self) -> str:
        """What was learned, stage by stage."""
        from ostinato.forecast.explain import explain_model

        return explain_model(self)

    def save(self, path: str | Path, /, *, overwrite: bool = False) -> None:
        """Write a folder: model.json, and tables of the counts in Parquet. No code is in it.

        Parameters
        ----------
        path
            The folder, which is created.
        overwrite
            Replace the model that is saved there. A folder that holds anything else is never overwritten.
        """
        from ostinato.forecast.storage import save

        save(self, _folder(path), overwrite=overwrite)

    @staticmethod
    def load(path: str | Path, /) -> ForecastModel:
        """The model that was saved in a folder.

        Parameters
        ----------
        path
            The folder that `save` wrote.
        """
        from ostinato.forecast.storage import load

        return load(_folder(path))

    def __repr__(self) -> str:
        return (
            f"<ForecastModel of order {self.order}, {format_count(int(self.statistics.events), 'event')} learned, "
            f"{format_count(int(self.statistics.completions), 'completion')}>"
        )


def _folder(path: object) -> Path:
    if not isinstance(path, str | PathLike):
        raise bad_option("path", path, "the path of a folder")
    return Path(path)
