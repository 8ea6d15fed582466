"""The watermark of a stream: the frame's own, or one that is added for how late events may come."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from ostinato.errors import DataError, Message, Option, OstinatoError
from ostinato.spark.columns import column, quote_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


# Columns with this in their metadata have a watermark; and with the other, it is that of a stateful step before.
_DELAY, _CARRIED = "spark.watermarkDelayMs", "ostinato.carried"


def check_timestamp(schema: pa.Schema, time: str) -> None:
    kind = schema.field(time).type
    if not pa.types.is_timestamp(kind) or kind.tz is None:
        raise DataError(
            f"a stream needs a timestamp to advance by, and `{time}` is {kind}",
            fix="cast it to a timestamp with a zone: timestamp_seconds(…), or .cast('timestamp')",
        )


def carry_watermark(frame: DataFrame, time: str) -> DataFrame:
    """The rows that a stateful step gives, whose times are past its last watermark, as event time for what follows.
    Spark takes no second watermark, and forgets its own column in a Python step; the column says that it has it."""
    return frame.withColumn(time, column(time).alias(time, metadata={_DELAY: 0, _CARRIED: True}))


def is_carried(frame: DataFrame, time: str) -> bool:
    """Whether rows come from such a step: those of a micro-batch may lie at its watermark, or before."""
    return bool(frame.schema[time].metadata.get(_CARRIED))


def add_watermark(
    frame: DataFrame, time: str, lateness: int | None, *, beyond: int = 0
) -> tuple[DataFrame, int | None]:
    """With a watermark: the frame's own, if it has one, else one of `lateness` and so many milliseconds `beyond` it;
    and how many milliseconds that is.

    None where the watermark is the frame's own: it may be the least of several, of sources that were joined.
    """
    own = watermark_column(frame)
    if own is None:
        behind = -(-(lateness or 0) // 1_000_000) + beyond
        return frame.withWatermark(quote_name(time), f"{behind} milliseconds"), behind
    if own != time:
        raise OstinatoError(
            f"the time is `{time}`, but the watermark of the stream is on `{own}`",
            fix=Message(Option("time", own), ", or leave the watermark to ", Option("lateness")),
        )
    if lateness is not None:
        raise OstinatoError(
            f"`{time}` has a watermark already, and lateness is another one",
            fix=Message("leave out ", Option("lateness", None)),
            option="lateness",
        )
    return frame, None


def watermark_column(frame: DataFrame) -> str | None:
    """The column of the frame's own watermark."""
    return next((field.name for field in frame.schema.fields if _DELAY in field.metadata), None)
