"""The second pass of learning: a model of the earlier events is held against the later ones, in the tasks.

What comes back is counted: how many events completed a match, what the later ones cost in log-loss, and how often each
state of the model was followed by a completion so many events later. It does not grow with the events.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ostinato.core.arrays import Bools, Float64, Int32, Int64
from ostinato.forecast.learn.loss import log_loss
from ostinato.forecast.learn.truth import Truth, seconds_until
from ostinato.forecast.score.interval_checks import Intervals
from ostinato.forecast.scorer import Scorer
from ostinato.spark.columns import spark_type
from ostinato.spark.forecast.columns import Rows
from ostinato.spark.forecast.count import divided, sorted_tables
from ostinato.spark.forecast.task import Shipped
from ostinato.spark.frames import map_in_arrow
from ostinato.spark.patterns.task import BUDGET

if TYPE_CHECKING:
    from ostinato.forecast.model import ForecastModel

Numbers = npt.NDArray[Any]

_OUTCOMES = ["part", "wait", "later", "stratum", "held"]

# Kinds of rows: of `part` (0: the earlier, 1: the later events) that completed a match; of batch number `part` with
# their log-loss; of state `part` with a completion after `wait` events, or (0) none and `later` events after them, how
# far in its key (`stratum`), and which spans of seconds held the completion (`held`).
_COMPLETED, _COST, _OUTCOME = range(3)
_KEYS, _SUMS = ("kind", "part", "wait", "later", "stratum", "held"), ("events", "loss")
_TRIED = pa.schema(
    [*((name, pa.int32()) for name in _KEYS[:-1]), *((name, pa.int64()) for name in ("held", "events"))]
).append(pa.field("loss", pa.float64()))


@dataclass(frozen=True)
class Trial:
    """What came of it: completions of the earlier and of the later events, the number of events and their log-loss in
    batches of the later ones, and the state after each of these with its truth, in events and in seconds."""

    completions: tuple[int, int]
    sizes: list[int]
    losses: list[float]
    states: Int32
    truth: Truth
    held: Int64


@dataclass(frozen=True)
class TrialTask:
    """The later events are those after the first of `cuts`, in seconds; the others part them into batches."""

    shipped: Shipped
    cuts: list[float]
    spans: bool = True  # whether spans of seconds are held against what came
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
            earlier, *parts = divided(read, self.cuts)
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
                    losses[number] += log_loss(model.machine.tree, part.symbols, part.keys) * len(part.symbols)
        yield from _rows(_COMPLETED, np.arange(2), completed)
        yield from _rows(_COST, np.arange(len(self.cuts)), sizes, loss=losses)
        if kept:
            after, of_key, ending, seconds = (np.concatenate(each) for each in zip(*kept, strict=True))
            held = None
            if self.spans:
                held = Intervals.of(model.machine, after).held(seconds_until(ending, of_key, seconds))
            yield from _outcomes(after, Truth.of(ending, of_key, before), held, horizon)


def _outcomes(states: Int32, truth: Truth, held: Int64 | None, horizon: int) -> Iterator[pa.RecordBatch]:
    """Each outcome once. How far beyond the horizon something is, is all the same; and where a completion came, what
    else the key had after it."""
    wait, later = (np.minimum(each, horizon + 1) for each in (truth.wait, truth.later))
    known = wait > 0
    spans = np.zeros(len(states), np.int64) if held is None else np.where(known & (wait <= horizon), held, 0)
    columns = pa.table([states, wait, np.where(known, wait, later), truth.strata.astype(np.int32), spans], _OUTCOMES)
    found = columns.group_by(_OUTCOMES).aggregate([([], "count_all")])
    part, *others = (found[name].to_numpy() for name in (*_OUTCOMES, "count_all"))
    yield from _rows(_OUTCOME, part, others.pop(), **dict(zip(_OUTCOMES[1:], others, strict=True)))


def _rows(kind: int, part: Numbers, events: Numbers, **others: Numbers) -> Iterator[pa.RecordBatch]:
    """Rows of one kind; what does not concern it is 0."""
    none = np.zeros(len(part), np.int32)
    known = {"kind": none + kind, "part": part, "events": events, **others}
    columns = [known.get(each.name, none).astype(each.type.to_pandas_dtype()) for each in _TRIED]
    yield from pa.table(columns, schema=_TRIED).to_batches()


def tried(model: ForecastModel, rows: Rows, cuts: list[float], *, spans: bool = False) -> Trial:
    """Run the model over all events, and add up what became of those after the first cut."""
    from pyspark.sql import functions as f

    found = map_in_arrow(rows.by_key(), TrialTask(Shipped.of(model, rows.settings), cuts, spans), spark_type(_TRIED))
    table = found.groupBy(*_KEYS).agg(*(f.sum(name).alias(name) for name in _SUMS)).toArrow().sort_by("part")

    def of(kind: int) -> pa.Table:
        return table.filter(pc.equal(table["kind"], kind))

    cost, outcomes = of(_COST), of(_OUTCOME)
    cost = cost.filter(pc.greater(cost["events"], 0))
    states, wait, later, strata, held = (outcomes[name].to_numpy() for name in _OUTCOMES)
    first, second = of(_COMPLETED)["events"].to_pylist()
    sizes = cost["events"].to_pylist()
    losses = [loss / size for loss, size in zip(cost["loss"].to_pylist(), sizes, strict=True)]
    truth = Truth(wait, later, outcomes["events"].to_numpy(), strata.astype(np.uint8))
    return Trial((first, second), sizes, losses, states, truth, held)
