"""Detection on Spark: `query.detect(frame)`, batch where the frame is, streaming where it streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from ostinato.core.options import check_column_name, check_column_names, check_on_late, parse_delay
from ostinato.errors import OstinatoError
from ostinato.patterns.query import PatternQuery
from ostinato.spark.frames import check_count, default_buckets, only_for_streams
from ostinato.spark.patterns.batch import detect_batch
from ostinato.spark.patterns.plan import DetectionPlan, plan_detection

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ostinato.core.options import OnLate
    from ostinato.patterns.limits import Limits

ONLY = "query"  # the name of a query that is alone


def detect(
    queries: PatternQuery | Mapping[str, PatternQuery],
    frame: DataFrame,
    /,
    *,
    time: str | None = None,
    type: str | None = None,
    order_by: Sequence[str] = (),
    events: bool = True,
    limits: Limits | None = None,
    lateness: str | float | timedelta | None = None,
    on_late: OnLate | None = None,
    buckets: int | None = None,
    parallel: int | None = None,
    metrics: str | None = None,
) -> DataFrame:
    """The matches as a DataFrame, lazily: nothing runs before Spark is asked for rows.

    Streaming: `lateness` is how long an event may come after later ones (default: the frame's own watermark, else not
    at all); later ones are counted (`on_late="count"`), given in a column `late` ("collect") or stop the stream
    ("raise"). Keys are hashed into `buckets` parts (default: four per shuffle partition); a checkpoint goes
    on with the number it was begun with. `metrics` names the counts in Spark's progress ("ostinato"); two detections in
    one stream need different names.

    Batch: the stream is cut into `parallel` ranges of time (default: the number of shuffle partitions of Spark where
    there is no PARTITION BY, else 1); a small job runs at once to find them.
    """
    plan = prepare(queries, frame, time=time, type=type, order_by=order_by, events=events, limits=limits)
    for option, value in (("buckets", buckets), ("parallel", parallel)):
        check_count(option, value)
    if not frame.isStreaming:
        for option, given in (("lateness", lateness), ("on_late", on_late), ("buckets", buckets), ("metrics", metrics)):
            if given is not None:
                raise only_for_streams(option)
        return detect_batch(plan, parallel=parallel)
    if parallel is not None:
        raise OstinatoError(
            "parallel is for DataFrames read whole, and this one streams", fix="leave it out", option="parallel"
        )
    from ostinato.spark.patterns.stream import detect_stream

    return detect_stream(
        plan,
        lateness=None if lateness is None else parse_delay(lateness),
        on_late=check_on_late(on_late or "count"),
        buckets=buckets or default_buckets(frame),
        metrics=check_column_name("metrics", metrics) or "ostinato",
    )


def prepare(
    queries: PatternQuery | Mapping[str, PatternQuery],
    frame: DataFrame,
    *,
    time: str | None = None,
    type: str | None = None,
    order_by: Sequence[str] = (),
    events: bool = True,
    limits: Limits | None = None,
) -> DetectionPlan:
    """Everything that can be known to be wrong is said here, before any job starts."""
    many = isinstance(queries, Mapping)
    by_name = queries if isinstance(queries, Mapping) else {ONLY: queries}
    return plan_detection(
        by_name,
        frame,
        time=check_column_name("time", time),
        type=check_column_name("type", type),
        order_by=check_column_names("order_by", order_by),
        events=events,
        limits=limits,
        named=many,
    )
