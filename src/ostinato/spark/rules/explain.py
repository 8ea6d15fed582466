"""What Spark does around rules, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from ostinato.rules.algebra.partition import describe_units
from ostinato.spark.buckets import unit_buckets
from ostinato.spark.rules.detect import COLUMN_OPTIONS, bind, given_frames, needed_kernels
from ostinato.spark.rules.placement import plan_units
from ostinato.spark.shipping import describe_kernels

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ostinato.rules.options import FrameOptions
    from ostinato.rules.program import RuleProgram


def explain_rules(program: RuleProgram, frame: DataFrame, /, **options: Unpack[FrameOptions]) -> str:
    """What Spark does around the rules, in words. `options` are those of `detect_rules`."""
    given = given_frames(program, frame, options.get("tables"))
    bound, _ = bind(program, frame, {name: options.get(name) for name in COLUMN_OPTIONS}, given)
    unkeyed = "in one task" if frame.isStreaming else "in Spark SQL, over all tasks"
    lines = describe_units(plan_units(program, bound, streams=frame.isStreaming), unkeyed)
    kernels = f"  kernels: {describe_kernels(frame.sparkSession, needed_kernels(bound, streams=frame.isStreaming))}"
    if not frame.isStreaming:
        return "\n".join(["Spark, batch", *(f"  {line}" for line in lines), kernels])
    buckets = unit_buckets(options.get("buckets")).planned(frame)
    return "\n".join(
        [
            f"Spark, streaming: events by hash into {buckets} buckets",
            *(f"  {line}" for line in lines),
            "  state: a snapshot of the engine per bucket",
            f"  time: events wait until the watermark has passed them (lateness {options.get('lateness') or 0})",
            kernels,
        ]
    )
