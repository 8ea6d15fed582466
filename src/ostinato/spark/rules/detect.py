"""Event rules on Spark: `program.detect(frame)`, for a batch DataFrame or a stream."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from math import inf
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ostinato.core.backends import is_spark_frame
from ostinato.core.events import to_arrow
from ostinato.core.options import bad_option, check_column_name, check_on_late, parse_delay
from ostinato.errors import DataError, QueryError
from ostinato.rules.incremental.options import RuleOptions
from ostinato.rules.runtime.bound_program import BoundProgram, bind_program
from ostinato.rules.runtime.given_rows import check_key, check_table
from ostinato.rules.syntax.user_calls import user_calls
from ostinato.spark.buckets import unit_buckets
from ostinato.spark.columns import arrow_schema
from ostinato.spark.frames import check_count, check_names, only_for_streams
from ostinato.spark.rules.batch import detect_batch
from ostinato.spark.shipping import NeededKernels, ship

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
    tables: Mapping[str, Any] | None = None,
) -> DataFrame:
    """Derive events from the events of a DataFrame.

    In a batch, rules that join all they read by some key run in tasks, each over the events of its keys. Other rules
    run in Spark SQL; those that recur run at once, round by round.

    Parameters
    ----------
    program
        Rules, as `ostinato.rules` compiles them.
    frame
        A batch or streaming DataFrame of events, in any order.
    begin, end
        The columns of when events begin and end (default: `begin` and `end` where they exist).
    time
        The column of event time, for events without duration (default: `ts`).
    type
        The column of event types (default: `type`).
    document
        The column whose JSON or XML texts are the events.
    lateness
        Streams: how long an event may come after events that end later (default: the frame's own watermark, else not
        at all).
    on_late
        Streams: what to do with events later than that: "count" them (default), "collect" them in a column `late`, or
        "raise" an error, which stops the stream.
    buckets
        Streams: the number of parts that events are hashed into, by what the rules join them by (default: two per
        shuffle partition). A checkpoint keeps the number that it was begun with.
    longest
        Streams: how long an event lasts at most, which bounds memory. A longer one counts as late.
    metrics
        Streams: the name of the counts in Spark's progress (default: "ostinato").
    tables
        Rows of tables (TABLE … KEY …) that hold from before all events, by their labels: DataFrames that do not stream,
        or whatever `detect` takes without Spark.

    Returns
    -------
    DataFrame
        The derived events, in no order, with the columns that `program.detect` gives without Spark.
    """
    columns = {"begin": begin, "end": end, "time": time, "type": type, "document": document}
    rows = given_frames(program, frame, tables)
    bound, schema = bind(program, frame, columns, rows)
    ship(frame.sparkSession, needed_kernels(bound, streams=frame.isStreaming))
    on_stream = {"lateness": lateness, "on_late": on_late, "buckets": buckets, "longest": longest, "metrics": metrics}
    if not frame.isStreaming:
        for option, given in on_stream.items():
            if given is not None:
                raise only_for_streams(option)
        return detect_batch(program, bound, frame, schema, columns, rows)
    check_count("buckets", buckets)
    from ostinato.spark.rules.stream import detect_stream

    most = inf if longest is None else parse_delay(longest, "longest")
    return detect_stream(
        program,
        bound,
        frame,
        RuleOptions(columns, None, check_on_late(on_late or "count"), most),
        rows,
        lateness=None if lateness is None else parse_delay(lateness),
        buckets=unit_buckets(buckets),
        metrics=check_column_name("metrics", metrics) or "ostinato",
    )


def needed_kernels(bound: BoundProgram, *, streams: bool) -> NeededKernels:
    """Rules need those of the live engine over a stream, and those of the patterns in them, if there are any."""
    own: tuple[str, ...] = ("core", "rules.kernels") if streams else ("core",)
    if any(stream.language == "sql" for stream in bound.patterns):
        own = (*own, "sql.kernels")
    return NeededKernels(own, tuple(kernel for pattern in bound.patterns.values() for kernel in pattern.kernels()))


def given_frames(program: RuleProgram, frame: DataFrame, tables: Mapping[str, Any] | None) -> dict[str, DataFrame]:
    """The rows of tables as DataFrames."""
    if not is_spark_frame(frame) or tables is None:
        return {}
    found = {}
    for label, rows in tables.items():
        check_table(label, program.tables)
        found[label] = rows if is_spark_frame(rows) else frame.sparkSession.createDataFrame(to_arrow(rows))
        if found[label].isStreaming:
            reason = f"the rows of the table `{label}` are a stream"
            raise DataError(reason, fix=f"let them come in the events, with the type `{label}`, or give a batch")
        check_key(label, found[label].columns, program.tables[label])
    return found


def bind(
    program: RuleProgram, frame: DataFrame, columns: dict[str, Any], tables: Mapping[str, DataFrame] | None = None
) -> tuple[BoundProgram, pa.Schema]:
    """Bind the program to the columns of the frame: what is wrong is said here, before any job starts."""
    if not is_spark_frame(frame):
        raise bad_option("frame", frame, "a DataFrame of Spark")
    check_names(frame)
    for call in user_calls(program.program):
        error = QueryError(
            f"Spark cannot call {call.op}: functions of yours run in this process alone",
            span=call.span,
            fix="let Spark make what it gives a column of the events, or run the rules over a table",
        )
        raise error.within(program.text)
    schema = arrow_schema(frame.schema)
    given = {label: arrow_schema(rows.schema) for label, rows in (tables or {}).items()}
    return bind_program(program.program, program.text, schema, columns, near=True, tables=given), schema
