"""Detection on Spark: `query.detect(frame)`, batch where the frame is, streaming where it streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from ostinato.core.options import check_column_name, check_column_names, check_flag, check_on_late, parse_delay
from ostinato.errors import OstinatoError
from ostinato.patterns.query import PatternQuery
from ostinato.spark.buckets import pattern_buckets
from ostinato.spark.columns import column
from ostinato.spark.frames import check_count, only_for_streams
from ostinato.spark.patterns.batch import detect_batch
from ostinato.spark.patterns.increments import read_period
from ostinato.spark.patterns.plan import DetectionPlan, plan_detection
from ostinato.spark.shipping import ship

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
    identity: bool = False,
    since: Any = None,
    until: Any = None,
    limits: Limits | None = None,
    lateness: str | float | timedelta | None = None,
    on_late: OnLate | None = None,
    buckets: int | None = None,
    parallel: int | None = None,
    metrics: str | None = None,
) -> DataFrame:
    """Find the matches of one query, or of several by name, in a DataFrame. Nothing runs before rows are asked for.

    Parameters
    ----------
    queries
        A query in CEL or SREM, or queries by name; of several, the column `query` names the one that matched.
    frame
        A batch or streaming DataFrame of events. Its rows have no order but that of their time.
    time, type
        The columns of event time and event type (default: `ts` and `type`). A stream needs a timestamp.
    order_by
        Columns that put events of equal time in order, before all other columns that the queries read.
    events
        Add the matched rows themselves in a column `events`.
    identity
        Add a column `match_id`, which is the same in every run, over a batch and over a stream, and where they are not
        there `start` and `end`; and `known`, where a match may be known later than its end.
    since, until
        Batch: only the matches that are known after one moment, and up to another, as the time column holds them, or as
        text. Spark reads only the rows that can matter to these.
    limits
        Bounds on matches, states and memory, in each task.
    lateness
        Streams: how long an event may come after later ones, such as "30 seconds" (default: the frame's own watermark,
        else not at all).
    on_late
        Streams: what to do with events later than that: "count" them (default), "collect" them in a column `late`, or
        "raise" an error, which stops the stream.
    buckets
        Streams: the number of parts that keys are hashed into (default: four per shuffle partition). A checkpoint
        keeps the number that it was begun with.
    parallel
        Batch: the number of ranges of time that a stream without PARTITION BY is cut into (default: the number of
        shuffle partitions, and 1 where there is a PARTITION BY). A small job runs at once to find them.
    metrics
        Streams: the name of the counts in Spark's progress (default: "ostinato"). Two detections in one stream need
        different names.

    Returns
    -------
    DataFrame
        One row for each match: the columns of PARTITION BY, `start`, `end` and `events`, or what SELECT names.
    """
    options: dict[str, Any] = {"time": time, "type": type, "order_by": order_by, "events": events, "limits": limits}
    plan = prepare(queries, frame, identity=identity, **options)
    for option, value in (("buckets", buckets), ("parallel", parallel)):
        check_count(option, value)
    ship(frame.sparkSession, plan.kernels)
    if not frame.isStreaming:
        for option, given in (("lateness", lateness), ("on_late", on_late), ("buckets", buckets), ("metrics", metrics)):
            if given is not None:
                raise only_for_streams(option)
        if since is None and until is None:
            return detect_batch(plan, parallel=parallel)
        told = prepare(queries, frame, identity=True, **options)
        told, wanted = read_period(told, since, until)
        return detect_batch(told, parallel=parallel).filter(wanted).select(*map(column, plan.output.names))
    if since is not None or until is not None:
        option = "since" if since is not None else "until"
        raise OstinatoError(
            f"{option} is for DataFrames read whole, and a stream goes on by itself", fix="leave it out", option=option
        )
    if parallel is not None:
        raise OstinatoError(
            "parallel is for DataFrames read whole, and this one streams", fix="leave it out", option="parallel"
        )
    from ostinato.spark.patterns.stream import detect_stream

    return detect_stream(
        plan,
        lateness=None if lateness is None else parse_delay(lateness),
        on_late=check_on_late(on_late or "count"),
        buckets=pattern_buckets(buckets),
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
    identity: bool = False,
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
        identity=check_flag("identity", identity),
        limits=limits,
        named=many,
    )
