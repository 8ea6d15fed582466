"""Forecasts of a batch DataFrame: all rows of a key go to one task, which follows the key in the order of time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from ostinato.forecast.scorer import Scorer
from ostinato.spark.columns import spark_type
from ostinato.spark.forecast.columns import EventFrame
from ostinato.spark.forecast.task import ShippedModel, join_columns, sorted_tables
from ostinato.spark.frames import map_in_arrow
from ostinato.spark.sorting import BUDGET

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ostinato.forecast.model import ForecastModel

_OUTPUT = 10_000  # rows handed to Spark at once: it holds them outside its heap


@dataclass(frozen=True)
class ScoreTask:
    """Rows in, rows with their forecasts out."""

    shipped: ShippedModel
    within: tuple[int, ...] = ()
    budget: int = BUDGET

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        model = self.shipped.model
        scorer = Scorer(model, self.within)
        for table in sorted_tables(batches, model.settings, self.budget):
            yield from join_columns(table, scorer.push(table)).to_batches(max_chunksize=_OUTPUT)


def score_batch(model: ForecastModel, events: EventFrame, added: pa.Schema, within: tuple[int, ...]) -> DataFrame:
    """The rows with the columns of the forecast added."""
    schema = events.frame.schema
    output = type(schema)([*schema.fields, *spark_type(added).fields])
    return map_in_arrow(events.by_key(), ScoreTask(ShippedModel.of(model, events.settings), within), output)
