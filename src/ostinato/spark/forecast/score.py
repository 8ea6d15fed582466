"""Forecasts of a DataFrame, batch or streaming: all its columns, and those of the forecast."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from ostinato.errors import DataError, OstinatoError
from ostinato.forecast.score import answer
from ostinato.forecast.scorer import Scorer
from ostinato.spark.columns import spark_type
from ostinato.spark.forecast.columns import Rows, rows_of
from ostinato.spark.forecast.count import sorted_tables
from ostinato.spark.forecast.task import Shipped
from ostinato.spark.frames import default_buckets, map_in_arrow
from ostinato.spark.patterns.detect import check_count
from ostinato.spark.patterns.task import BUDGET

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ostinato.forecast.model import ForecastModel

_OUTPUT = 10_000  # rows handed to Spark at once: it holds them outside its heap


@dataclass(frozen=True)
class ScoreTask:
    """Where each key stands is known in its task only: all its rows are here."""

    shipped: Shipped
    within: tuple[int, ...] = ()
    budget: int = BUDGET

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        model = self.shipped.model
        scorer = Scorer(model, self.within)
        for table in sorted_tables(batches, model.settings, self.budget):
            yield from beside(table, scorer.push(table)).to_batches(max_chunksize=_OUTPUT)


def beside(rows: pa.Table, forecasts: pa.Table) -> pa.Table:
    """Both tables' columns."""
    return pa.table([*rows.columns, *forecasts.columns], names=[*rows.column_names, *forecasts.column_names])


def score(
    model: ForecastModel, frame: DataFrame, *, within: Sequence[int] = (), buckets: int | None = None
) -> DataFrame:
    """The rows of the frame with their forecasts, in no order, lazily: nothing runs before Spark is asked for rows.

    Streaming: keys are hashed into `buckets` parts (default: four per shuffle partition); a checkpoint goes on with the
    number, and the model, that it was begun with.
    """
    check_count("buckets", buckets)
    rows = rows_of(frame, model.pattern, model.settings, whole=True)
    ahead = answer.check_within(within, model.settings.horizon)
    added = answer.schema(timed=model.learnt.gaps.total > 0, within=ahead)
    _check_room(rows, added)
    if frame.isStreaming:
        from ostinato.spark.forecast.stream import score_stream

        return score_stream(model, rows, added, ahead, buckets or default_buckets(frame))
    if buckets is not None:
        raise OstinatoError("buckets is for streams, and this DataFrame is read whole\nfix: leave it out")
    output = type(frame.schema)([*frame.schema.fields, *spark_type(added).fields])
    return map_in_arrow(rows.by_key(), ScoreTask(Shipped.of(model, rows.settings), ahead), output)


def _check_room(rows: Rows, added: pa.Schema) -> None:
    """Spark takes no notice of case unless it is told to."""
    taken = {name.lower(): name for name in rows.schema.names}
    for name in added.names:
        if name in taken:
            raise DataError(
                f"the frame has a column `{taken[name]}`, and the forecast has one too",
                fix=f"rename it: frame.withColumnRenamed({taken[name]!r}, …), or drop it",
            )
