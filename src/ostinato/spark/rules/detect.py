"""Event rules on Spark: `program.detect(frame)`, for a batch DataFrame or a stream."""

from __future__ import annotations

from datetime import timedelta
from math import inf
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ostinato.core.backends import is_spark_frame
from ostinato.core.options import bad_option, check_column_name, check_on_late, parse_delay
from ostinato.rules.incremental.engine import RuleOptions
from ostinato.rules.runtime.bound_program import BoundProgram, bind_program
from ostinato.spark.columns import arrow_schema
from ostinato.spark.frames import check_count, check_names, only_for_streams, shuffle_partitions
from ostinato.spark.rules.batch import detect_batch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ostinato.core.options import OnLate
    from ostinato.rules.program import RuleProgram


COLUMN_OPTIONS = ("begin", "end", "time", "type", "document")


def detect_rules(
    program: RuleProgram,
    frame: DataFrame,
    /,
    *,
    begin: str | None = None,
    end: str | None = None,
    time: str | None = None,
    type: str | None = None,
    document: str | None = None,
    lateness: str | float | timedelta | None = None,
    on_late: OnLate | None = None,
    buckets: int | None = None,
    longest: str | float | timedelta | None = None,
    metrics: str | None = None,
) -> DataFrame:
    """The derived events as a DataFrame, in no order, with the columns that `program.detect` gives elsewhere.

    Batch: one plan, which runs when its rows are needed. Rules that join all they read by some key are run in tasks,
    each over the events of its keys; others in Spark SQL, where those that recur run at once, round by round.

    Streaming: `lateness` is how long an event may come after events that end later (default: the frame's own watermark,
    else not at all); later ones are counted (`on_late="count"`), given in a column `late` ("collect") or stop the
    stream ("raise"). `longest` is how long an event lasts at most: a longer one is as good as late. Events are hashed
    by what the rules join them by into `buckets` parts (default: two per shuffle partition), which a checkpoint goes on
    with. `metrics` names the counts in Spark's progress ("ostinato").
    """
    columns = {"begin": begin, "end": end, "time": time, "type": type, "document": document}
    bound, schema = bind(program, frame, columns)
    on_stream = {"lateness": lateness, "on_late": on_late, "buckets": buckets, "longest": longest, "metrics": metrics}
    if not frame.isStreaming:
        for option, given in on_stream.items():
            if given is not None:
                raise only_for_streams(option)
        return detect_batch(program, bound, frame, schema, columns)
    check_count("buckets", buckets)
    from ostinato.spark.rules.stream import detect_stream

    most = inf if longest is None else parse_delay(longest)
    return detect_stream(
        program,
        bound,
        frame,
        RuleOptions(columns, None, check_on_late(on_late or "count"), most),
        lateness=None if lateness is None else parse_delay(lateness),
        buckets=buckets or default_rule_buckets(frame),
        metrics=check_column_name("metrics", metrics) or "ostinato",
    )


def default_rule_buckets(frame: DataFrame) -> int:
    return 2 * shuffle_partitions(frame)


def bind(program: RuleProgram, frame: DataFrame, columns: dict[str, Any]) -> tuple[BoundProgram, pa.Schema]:
    """Bind the program to the columns of the frame: what is wrong is said here, before any job starts."""
    if not is_spark_frame(frame):
        raise bad_option("frame", frame, "a DataFrame of Spark")
    check_names(frame)
    schema = arrow_schema(frame.schema)
    return bind_program(program.program, program.text, schema, columns, near=True), schema
