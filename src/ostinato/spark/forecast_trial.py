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

from ostinato.forecast.live import Scorer
from ostinato.forecast.loss import log_loss
from ostinato.forecast.truth import Truth
from ostinato.kernels.protocol import Bools, Int32
from ostinato.spark.columns import spark_type
from ostinato.spark.forecast_columns import Rows
from ostinato.spark.forecast_count import divided, sorted_tables
from ostinato.spark.forecast_shipped import Shipped
from ostinato.spark.frames import map_in_arrow
from ostinato.spark.task import BUDGET

if TYPE_CHECKING:
    from ostinato.forecast.model import ForecastModel

Numbers = npt.NDArray[Any]

# Kinds of rows: of `part` (0: the earlier, 1: the later events) that completed a match; of batch number `part` with
# their log-loss; of state `part` with a completion after `wait` events, or (0) none and `later` events after them.
_COMPLETED, _COST, _OUTCOME = range(3)
_KEYS, _SUMS = ("kind", "part", "wait", "later"), ("events", "loss")
_TRIED = pa.schema([*((name, pa.int32()) for name in _KEYS), ("events", pa.int64()), ("loss", pa.float64())])


@dataclass(frozen=True)
class Trial:
    """What came of it: completions of the earlier and of the later events, the number of events and their log-loss in
    batches of the later ones, and the state after each of these with its truth."""

    completions: tuple[int, int]
    sizes: list[int]
    losses: list[float]
    states: Int32
    truth: Truth


@dataclass(frozen=True)
class TrialTask:
    """The later events are those after the first of `cuts`, in seconds; the others part them into batches."""

    shipped: Shipped
    cuts: list[float]
    budget: int = BUDGET

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        model = self.shipped.model
        scorer, horizon = Scorer(model), model.settings.horizon
        completed, sizes, losses = np.zeros(2, np.int64), np.zeros(len(self.cuts), np.int64), np.zeros(len(self.cuts))
        kept: list[tuple[Int32, Int32, Bools]] = []  # of the later events: the truth is known only at the end
        for table in sorted_tables(batches, model.settings, self.budget):
            read = scorer.reader.read(table)
            states, completes = scorer.follow(read)
            earlier, *parts = divided(read, self.cuts)
            cut = len(earlier.symbols)
            completed += np.count_nonzero(completes[:cut]), np.count_nonzero(completes[cut:])
            keys = np.zeros(len(states), np.int32) if read.keys is None else read.keys
            kept.append((states[cut:], keys[cut:], completes[cut:]))
            for number, part in enumerate(parts):
                if len(part.symbols):
                    sizes[number] += len(part.symbols)
                    losses[number] += log_loss(model.machine.tree, part.symbols, part.keys) * len(part.symbols)
        yield from _rows(_COMPLETED, np.arange(2), completed)
        yield from _rows(_COST, np.arange(len(self.cuts)), sizes, loss=losses)
        if kept:
            after, of_key, ending = (np.concatenate(each) for each in zip(*kept, strict=True))
            yield from _outcomes(after, Truth.of(ending, of_key), horizon)


def _outcomes(states: Int32, truth: Truth, horizon: int) -> Iterator[pa.RecordBatch]:
    """Each outcome once. How far beyond the horizon something is, is all the same; and where a completion came, what
    else the key had after it."""
    wait, later = (np.minimum(each, horizon + 1).astype(np.int64) for each in (truth.wait, truth.later))
    ahead = np.where(wait > 0, wait, horizon + 2 + later)
    codes, times = np.unique(states * np.int64(2 * horizon + 4) + ahead, return_counts=True)
    states, ahead = np.divmod(codes, 2 * horizon + 4)
    known = ahead <= horizon + 1
    ends = np.where(known, ahead, ahead - horizon - 2)
    yield from _rows(_OUTCOME, states, times, wait=np.where(known, ahead, 0), later=ends)


def _rows(kind: int, part: Numbers, events: Numbers, **others: Numbers) -> Iterator[pa.RecordBatch]:
    """Rows of one kind; what does not concern it is 0."""
    none = np.zeros(len(part), np.int32)
    known = {"kind": none + kind, "part": part, "events": events, **others}
    columns = [known.get(each.name, none).astype(each.type.to_pandas_dtype()) for each in _TRIED]
    yield from pa.table(columns, schema=_TRIED).to_batches()


def tried(model: ForecastModel, rows: Rows, cuts: list[float]) -> Trial:
    """Run the model over all events, and add up what became of those after the first cut."""
    from pyspark.sql import functions as f

    found = map_in_arrow(rows.by_key(), TrialTask(Shipped.of(model, rows.settings), cuts), spark_type(_TRIED))
    table = found.groupBy(*_KEYS).agg(*(f.sum(name).alias(name) for name in _SUMS)).toArrow().sort_by("part")

    def of(kind: int) -> pa.Table:
        return table.filter(pc.equal(table["kind"], kind))

    cost, outcomes = of(_COST), of(_OUTCOME)
    cost = cost.filter(pc.greater(cost["events"], 0))
    states, wait, later, times = (outcomes[name].to_numpy() for name in ("part", "wait", "later", "events"))
    first, second = of(_COMPLETED)["events"].to_pylist()
    sizes = cost["events"].to_pylist()
    losses = [loss / size for loss, size in zip(cost["loss"].to_pylist(), sizes, strict=True)]
    return Trial((first, second), sizes, losses, states, Truth(wait, later, times))
