"""python -m support.spark.jobs.fresh_workers FOLDER: every language on a cluster whose workers have no Ostinato.

Their Python has the libraries, but neither this package nor a folder with kernels. The answers go to
FOLDER/answers.json, and FOLDER/cache stays empty if the workers compile nothing.
"""

from __future__ import annotations

import json
import os
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa

import ostinato as ost
from ostinato.spark import session

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
EVENTS = [
    {"ts": BEGIN + timedelta(seconds=place), "type": "AB"[place % 2], "v": place % 5, "k": f"k{place % 3}"}
    for place in range(60)
]
SCHEMA = "ts timestamp, type string, v long, k string"
CEL = "A AS x ; B AS y FILTER x.v < y.v PARTITION BY k WITHIN 6 EVENTS"
RULES = """
    DETECT pair { k { var K } }
    ON and { event a: A {{ k {{ var K }}, v {{ var X }} }}, event b: B {{ k {{ var K }}, v {{ var Y }} }} }
    where { a before b, var X < var Y }
    END
"""
XSEQ = "//a[b]"
DOCUMENTS = ["<a><b/></a>", "<r><a/><a><b/></a></r>"]


def main(folder: str) -> None:
    python = Path(folder) / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')  # -S: no editable installs
    python.chmod(0o755)
    os.environ["PYSPARK_PYTHON"] = str(python)
    spark = session(
        "local-cluster[1,1,1024]",
        settings={
            "spark.executor.memory": "512m",
            "spark.sql.shuffle.partitions": "1",
            "spark.executorEnv.PYTHONPATH": sysconfig.get_path("purelib"),
            "spark.executorEnv.OSTINATO_KERNEL_CACHE": str(Path(folder) / "cache"),
        },
    )
    answers: dict[str, Any] = {
        "before": [row.found for row in spark.range(1).mapInArrow(find, "found string").collect()]
    }
    frame = spark.createDataFrame([tuple(event.values()) for event in EVENTS], SCHEMA)
    answers["patterns"] = ost.cel(CEL).detect(frame, time="ts").count()
    answers["stream"] = stream(spark, frame, Path(folder))
    answers["rules"] = ost.rules(RULES).detect(frame, time="ts").count()
    documents = spark.createDataFrame([(text,) for text in DOCUMENTS], "document string")
    answers["xseq"] = ost.xseq(XSEQ).detect(documents).count()
    model = ost.Forecaster(ost.cel("A AS x ; B AS y WITHIN 4 EVENTS"), order=1).fit(frame)
    answers["forecast"] = model.forecast(frame).count()
    (Path(folder) / "answers.json").write_text(json.dumps(answers))
    spark.stop()


def find(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Whether a worker can import the package."""
    from importlib.util import find_spec

    yield pa.RecordBatch.from_pydict({"found": [str(find_spec("ostinato") is not None)]})


def stream(spark: Any, frame: Any, folder: Path) -> int:
    frame.coalesce(1).write.parquet(str(folder / "events"))
    read = spark.readStream.schema(SCHEMA).parquet(str(folder / "events"))
    found = ost.cel(CEL).detect(read, time="ts", buckets=1)
    writer = found.writeStream.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True)
    writer.format("parquet").start(str(folder / "found")).awaitTermination()
    return int(spark.read.parquet(str(folder / "found")).count())


if __name__ == "__main__":
    main(sys.argv[1])
