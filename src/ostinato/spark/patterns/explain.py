"""What Spark does around a query, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

from ostinato.core.clock import Clock
from ostinato.patterns.options import FrameOptions
from ostinato.patterns.query import PatternQuery
from ostinato.spark.buckets import pattern_buckets
from ostinato.spark.frames import shuffle_partitions
from ostinato.spark.patterns import time_ranges as ranges
from ostinato.spark.patterns.detect import prepare
from ostinato.spark.patterns.plan import DetectionPlan
from ostinato.spark.shipping import describe_kernels

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ostinato.spark.patterns.shipped_query import ShippedQuery

_DETECT = (
    "lateness",
    "on_late",
    "buckets",
    "parallel",
    "metrics",
    "since",
    "until",
)  # options that do not change what is read


def explain_spark(query: PatternQuery, frame: DataFrame, **options: Unpack[FrameOptions]) -> str:
    """The columns read, the filter pushed down, how rows get to tasks, and how a task reads them."""
    read: dict[str, Any] = {name: value for name, value in options.items() if name not in _DETECT}
    plan = prepare(query, frame, **read)
    (keys,), (shipped,) = plan.groups, plan.queries
    test = plan.relevant_rows([shipped])
    lines = [
        f"Spark, {'streaming' if frame.isStreaming else 'batch'}",
        f"  columns read   {', '.join(plan.frame.columns)}",
        f"  rows read      {_readable(test) if test is not None else 'all: skipped events would matter'}",
    ]
    if frame.isStreaming:
        lines += _stream(frame, keys, options)
    else:
        lines += _batch(plan, shipped, keys, options.get("parallel"))
    given = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in plan.output_type.fields)
    kernels = describe_kernels(frame.sparkSession, plan.kernels)
    return "\n".join([*lines, f"  gives          {given}", f"  kernels        {kernels}"])


def _readable(test: Any) -> str:
    """A Spark condition as it prints itself, without the wrapping."""
    return str(test).removeprefix("Column<'").removesuffix("'>")


def _stream(frame: DataFrame, keys: tuple[str, ...], options: FrameOptions) -> list[str]:
    buckets = pattern_buckets(options.get("buckets")).planned(frame)
    split = f"by hash of {', '.join(keys)} into {buckets} buckets" if keys else "none: one stream, in one task"
    return [
        f"  split          {split}",
        "  state          a snapshot of the engine per bucket; keys without partial matches are not in it",
        f"  time           rows wait until the watermark has passed them (lateness {options.get('lateness') or 0})",
    ]


def _batch(plan: DetectionPlan, shipped: ShippedQuery, keys: tuple[str, ...], parallel: int | None) -> list[str]:
    assert plan.binding.time is not None
    clock = Clock.of(plan.schema, plan.binding.time)
    count = parallel or (1 if keys else shuffle_partitions(plan.frame))
    split = [f"by hash of {', '.join(keys)}"] if keys else []
    if count > 1 and ranges.may_split(shipped.compiled, clock):
        split.append(f"into {count} ranges of time that overlap by the window")
    return [
        f"  split          {', '.join(split) or 'none: one stream, in one task'}",
        "  in a task      rows are sorted by time, in files where they do not fit, and pass one engine once",
    ]
