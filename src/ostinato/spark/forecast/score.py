"""Forecasts of a DataFrame, batch or streaming: all its columns, and those of the forecast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from ostinato.errors import DataError
from ostinato.forecast.score.columns import check_within, forecast_schema
from ostinato.spark.buckets import pattern_buckets
from ostinato.spark.forecast.batch import score_batch
from ostinato.spark.forecast.columns import EventFrame, event_frame
from ostinato.spark.frames import check_count, only_for_streams

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ostinato.forecast.model import ForecastModel


def score(
    model: ForecastModel, frame: DataFrame, *, within: Sequence[int] = (), buckets: int | None = None
) -> DataFrame:
    """The rows of the frame with their forecasts, in no order, lazily: nothing runs before Spark is asked for rows.

    Streaming: keys are hashed into `buckets` parts (default: four per shuffle partition). A checkpoint goes on only
    with the number of buckets, and the model, that it was started with.
    """
    check_count("buckets", buckets)
    events = event_frame(frame, model.pattern, model.settings, all_columns=True)
    ahead = check_within(within, model.settings.horizon)
    added = forecast_schema(timed=model.statistics.gaps.total > 0, within=ahead)
    _check_names(events, added)
    if frame.isStreaming:
        from ostinato.spark.forecast.stream import score_stream

        return score_stream(model, events, added, ahead, pattern_buckets(buckets))
    if buckets is not None:
        raise only_for_streams("buckets")
    return score_batch(model, events, added, ahead)


def _check_names(events: EventFrame, added: pa.Schema) -> None:
    """The forecast must not bring a column that is there already. Spark ignores case unless it is told not to."""
    taken = {name.lower(): name for name in events.schema.names}
    for name in added.names:
        if name in taken:
            raise DataError(
                f"the frame has a column `{taken[name]}`, and the forecast has one too",
                fix=f"rename it: frame.withColumnRenamed({taken[name]!r}, …), or drop it",
            )
