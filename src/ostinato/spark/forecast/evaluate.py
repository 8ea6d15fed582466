"""A model run over events whose outcome is known, where the rows are: the second pass of learning, and its scores.

Only counts come back: how many events completed a match, the log-loss of the later ones, and how often each state of
the model was followed by a completion so many events later. They do not grow with the events.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ostinato.core.arrays import Bools, Float64, Int32, Int64
from ostinato.errors import DataError, LimitError, OstinatoError
from ostinato.forecast.learn.ground_truth import Truth, seconds_until
from ostinato.forecast.learn.loss import log_loss
from ostinato.forecast.model import ForecastModel
from ostinato.forecast.score.baselines import FULL, HIGHEST_ORDER, mean_rate
from ostinato.forecast.score.evaluation import Contender, Evaluation, check_evaluation_options, compare
from ostinato.forecast.score.interval_checks import LevelIntervals
from ostinato.forecast.score.scores import Distances
from ostinato.forecast.scorer import Scorer
from ostinato.spark.columns import spark_type
from ostinato.spark.failures import unwrap_errors
from ostinato.spark.forecast.columns import EventFrame, event_frame
from ostinato.spark.forecast.task import ShippedModel, sorted_tables, split_at
from ostinato.spark.frames import map_in_arrow
from ostinato.spark.sorting import BUDGET

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Numbers = npt.NDArray[Any]

_EVERYTHING = [-math.inf]  # all events are later ones
_OUTCOMES = ["part", "wait", "later", "stratum", "hits"]

# Kinds of rows. _COMPLETED: the events of `part` (0: the earlier, 1: the later ones) that completed a match. _COST: the
# log-loss of batch number `part`. _OUTCOME: the events in state `part` with a completion after `wait` events, or (0)
# none and `later` events after them, how far in their key (`stratum`), and which spans of seconds hit the
# completion (`hits`).
_COMPLETED, _COST, _OUTCOME = range(3)
_KEYS, _SUMS = ("kind", "part", "wait", "later", "stratum", "hits"), ("events", "loss")
_BACKTEST = pa.schema(
    [*((name, pa.int32()) for name in _KEYS[:-1]), *((name, pa.int64()) for name in ("hits", "events"))]
).append(pa.field("loss", pa.float64()))


def evaluate(model: ForecastModel, frame: DataFrame, within: int | None, decision: float) -> Evaluation:
    """The same as `model.evaluate` without Spark. The rows are read once for each model."""
    settings = model.settings
    ahead = check_evaluation_options(within, decision, settings.horizon)
    if frame.isStreaming:
        raise OstinatoError(
            "a model is scored on a batch DataFrame, and this one streams", fix="read the events with spark.read"
        )
    events = event_frame(frame, model.pattern, settings, all_columns=False)
    with unwrap_errors():
        first = _contender("model", model, events, model.nominal)
        if not len(first.states):
            raise DataError("there are no events", fix="give events with their time and attributes")
        rate = mean_rate(model.statistics.rate, settings.horizon)
        by_rate = replace(first, name="mean rate", waiting=rate, states=np.zeros_like(first.states), nominal=None)
        others = [replace(by_rate, log_loss=math.nan), *_chains(model, events)]
    assert first.truth is not None
    return compare([first, *others], first.truth, within=ahead, threshold=settings.threshold, decision=decision)


def _chains(model: ForecastModel, events: EventFrame) -> Iterator[Contender]:
    """Markov chains of full order, as `baselines.baseline_trees` has them."""
    settings = replace(model.settings, learning=FULL)
    untimed = replace(model.statistics, gaps=model.statistics.gaps.decay(0.0))
    for order in range(min(HIGHEST_ORDER, model.statistics.counts.order) + 1):
        try:
            chain = ForecastModel(settings, untimed, order)
            yield _contender(f"Markov {order}" if order else "independent", chain, events)
        except LimitError:  # longer chains are larger still
            return


def _contender(name: str, model: ForecastModel, events: EventFrame, nominal: float | None = None) -> Contender:
    waiting = model.predictor.waiting  # what is too large fails here, before Spark begins
    settings = replace(events.settings, learning=model.settings.learning)
    found = backtest(model, replace(events, settings=settings), _EVERYTHING)
    loss = float(np.average(found.losses, weights=found.sizes)) if found.sizes else math.nan
    distances = Distances(model.automaton.distance(), model.predictor.product.pattern[found.states])
    return Contender(name, waiting, found.states, loss, nominal, found.truth, distances)


@dataclass(frozen=True)
class Backtest:
    """Completions of the earlier and of the later events; the sizes and log-losses of batches of the later ones; and
    the state after each of these with its truth, in events and in seconds."""

    completions: tuple[int, int]
    sizes: list[int]
    losses: list[float]
    states: Int32
    truth: Truth
    hits: Int64


def backtest(model: ForecastModel, events: EventFrame, cuts: list[float], *, spans: bool = False) -> Backtest:
    """Run the model over all events, and add up what became of those after the first cut."""
    from pyspark.sql import functions as f

    task = BacktestTask(ShippedModel.of(model, events.settings), cuts, spans)
    found = map_in_arrow(events.by_key(), task, spark_type(_BACKTEST))
    table = found.groupBy(*_KEYS).agg(*(f.sum(name).alias(name) for name in _SUMS)).toArrow().sort_by("part")

    def rows(kind: int) -> pa.Table:
        return table.filter(pc.equal(table["kind"], kind))

    cost, outcomes = rows(_COST), rows(_OUTCOME)
    cost = cost.filter(pc.greater(cost["events"], 0))
    states, wait, later, strata, hits = (outcomes[name].to_numpy() for name in _OUTCOMES)
    first, second = rows(_COMPLETED)["events"].to_pylist()
    sizes = cost["events"].to_pylist()
    losses = [loss / size for loss, size in zip(cost["loss"].to_pylist(), sizes, strict=True)]
    truth = Truth(wait, later, outcomes["events"].to_numpy(), strata.astype(np.uint8))
    return Backtest((first, second), sizes, losses, states, truth, hits)


@dataclass(frozen=True)
class BacktestTask:
    """The later events are those after the first of `cuts`, in seconds; the other cuts part them into batches."""

    shipped: ShippedModel
    cuts: list[float]
    spans: bool = True  # whether spans of seconds are checked against what came
    budget: int = BUDGET

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        model = self.shipped.model
        scorer, horizon = Scorer(model), model.settings.horizon
        completed, sizes, losses = np.zeros(2, np.int64), np.zeros(len(self.cuts), np.int64), np.zeros(len(self.cuts))
        kept: list[tuple[Int32, Int32, Bools, Float64]] = []  # of the later events: the truth is known only at the end
        before = np.zeros(0, np.int32)  # how many of the earlier events each key had
        for table in sorted_tables(batches, model.settings, self.budget):
            read = scorer.reader.read(table)
            states, completes = scorer.follow(read)
            earlier, *parts = split_at(read, self.cuts)
            cut = len(earlier.symbols)
            completed += np.count_nonzero(completes[:cut]), np.count_nonzero(completes[cut:])
            keys = np.zeros(len(states), np.int32) if read.keys is None else read.keys
            assert read.seconds is not None
            kept.append((states[cut:], keys[cut:], completes[cut:], read.seconds[cut:]))
            before = np.concatenate([before, np.zeros(max(read.key_count - len(before), 0), np.int32)])
            before += np.bincount(keys[:cut], minlength=len(before)).astype(np.int32)
            for number, part in enumerate(parts):
                if len(part.symbols):
                    sizes[number] += len(part.symbols)
                    losses[number] += log_loss(model.predictor.tree, part.symbols, part.keys) * len(part.symbols)
        yield from _rows(_COMPLETED, np.arange(2), completed)
        yield from _rows(_COST, np.arange(len(self.cuts)), sizes, loss=losses)
        if kept:
            after, of_key, ending, seconds = (np.concatenate(each) for each in zip(*kept, strict=True))
            hits = None
            if self.spans:
                hits = LevelIntervals.of(model.predictor, after).hit_levels(seconds_until(ending, of_key, seconds))
            yield from _outcomes(after, Truth.of(ending, of_key, before), hits, horizon)


def _outcomes(states: Int32, truth: Truth, hits: Int64 | None, horizon: int) -> Iterator[pa.RecordBatch]:
    """Each outcome once. How far beyond the horizon something lies makes no difference; nor, where a completion came,
    how many events the key had after it."""
    wait, later = (np.minimum(each, horizon + 1) for each in (truth.wait, truth.later))
    known = wait > 0
    spans = np.zeros(len(states), np.int64) if hits is None else np.where(known & (wait <= horizon), hits, 0)
    columns = pa.table([states, wait, np.where(known, wait, later), truth.strata.astype(np.int32), spans], _OUTCOMES)
    found = columns.group_by(_OUTCOMES).aggregate([([], "count_all")])
    part, *others = (found[name].to_numpy() for name in (*_OUTCOMES, "count_all"))
    yield from _rows(_OUTCOME, part, others.pop(), **dict(zip(_OUTCOMES[1:], others, strict=True)))


def _rows(kind: int, part: Numbers, events: Numbers, **others: Numbers) -> Iterator[pa.RecordBatch]:
    """Rows of one kind; columns that do not concern it are 0."""
    none = np.zeros(len(part), np.int32)
    known = {"kind": none + kind, "part": part, "events": events, **others}
    columns = [known.get(each.name, none).astype(each.type.to_pandas_dtype()) for each in _BACKTEST]
    yield from pa.table(columns, schema=_BACKTEST).to_batches()
