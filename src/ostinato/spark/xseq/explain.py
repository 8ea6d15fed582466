"""What Spark does around an XSeq query, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from ostinato.spark.shipping import describe_kernels
from ostinato.spark.xseq.columns import XSeqColumns
from ostinato.spark.xseq.plan import plan_xseq
from ostinato.spark.xseq.task import OUTPUT_BYTES, OUTPUT_ROWS, XSeqTask
from ostinato.xseq.query import XSeqQuery

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ostinato.xseq.options import FrameOptions


def explain_xseq(query: XSeqQuery, frame: DataFrame, /, **options: Unpack[FrameOptions]) -> str:
    """What Spark does around the query, in words. `options` are those of `detect_xseq`."""
    plan = plan_xseq(query, frame, **options)
    columns, task = plan.columns, plan.task
    bad = {
        "collect": "one row each, with what is wrong in `error`",
        "skip": "left out",
        "raise": "fail the job",
    }
    shown = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in columns.output.fields)
    return "\n".join(
        [
            f"Spark, {'streaming' if frame.isStreaming else 'batch'}: rows stay in their partitions, no state",
            f"  documents      {_documents(columns, task)}",
            "  in a task      one document after the other passes the query, which a worker compiles once",
            f"                 rows leave in batches of {OUTPUT_ROWS:,} or {OUTPUT_BYTES >> 20} MiB",
            f"  bad documents  {bad[task.on_error]}",
            f"  gives          {shown}",
            f"  kernels        {describe_kernels(frame.sparkSession, plan.kernels)}",
        ]
    )


def _documents(columns: XSeqColumns, task: XSeqTask) -> str:
    if task.files:
        return f"files named in `{columns.document}`, opened in the tasks and read piece by piece"
    if columns.written:
        return f"`{columns.document}`, written as JSON by Spark's to_json"
    if columns.is_nested:
        return f"`{columns.document}`, handed over as Arrow and written as JSON in the tasks"
    what = {"xml": "XML", "json": "JSON", "jsonl": "JSON lines"}.get(task.format or "", "XML or JSON, as each begins")
    return f"`{columns.document}`: {what}"
