"""python -m support.spark.jobs.cluster FOLDER: every language on a cluster whose workers have no Ostinato.

Their Python has the libraries, but neither this package nor numba nor a folder with kernels. The answers go to
FOLDER/classic/answers.json and, by a client of Spark Connect if there can be one, to FOLDER/connect/answers.json. Then
executors are killed while they read FOLDER/events, and what comes of that goes to FOLDER/loss. FOLDER/cache stays
empty if the workers compile nothing.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa

import ostinato as ost
from ostinato.spark import register, session
from support import paths
from support.spark.daemon import EXECUTOR_JAVA, JAVA, SHORT_LIVED
from support.spark.jobs.executor_loss import lose_executors

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
EVENTS = [
    {"ts": BEGIN + timedelta(seconds=place), "type": "AB"[place % 2], "v": place % 5, "k": f"k{place % 3}"}
    for place in range(60)
]
SCHEMA = "ts timestamp, type string, v long, k string"
PATTERNS = {
    "plain": ost.cel("A AS x ; B AS y PARTITION BY k WITHIN 6 EVENTS"),
    "compared": ost.cel("A AS x ; B AS y FILTER x.v < y.v PARTITION BY k WITHIN 6 EVENTS"),
    "chosen": ost.cel("SELECT NXT * WHERE A AS x ; B AS y FILTER x.v < y.v WITHIN 6 EVENTS"),
    "ranked": ost.cel("SELECT LAST * WHERE A AS x ; B AS y WITHIN 6 EVENTS"),
    "srem": ost.srem("true -> r . [v > r.v]"),
}
RULES = ost.rules("""
    DETECT pair { k { var K } }
    ON and { event a: A {{ k {{ var K }}, v {{ var X }} }}, event b: B {{ k {{ var K }}, v {{ var Y }} }} }
    where { a before b, var X < var Y }
    END
    DETECT found { k { var K } }
    ON event m: cel "SELECT x.k AS k WHERE A AS x ; B AS y FILTER x.v < y.v WITHIN 6 EVENTS" {{ k {{ var K }} }}
    END
""")
XSEQ = {"one pass": ost.xseq("//a"), "buffered": ost.xseq("//a[b]")}
DOCUMENTS = ["<a><b/></a>", "<r><a/><a><b/></a></r>", '{"a": [{"b": 1}, {"c": 2}]}']
FORECASTER = ost.Forecaster(ost.cel("A AS x ; B AS y WITHIN 4 EVENTS"), order=1)


def main(folder: str) -> None:
    python, hidden = Path(folder) / "python", Path(folder) / "hidden"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')  # -S: no editable installs
    python.chmod(0o755)
    (hidden / "numba").mkdir(parents=True)
    (hidden / "numba" / "__init__.py").write_text("raise ImportError('workers need no numba')")
    libraries = os.pathsep.join([str(hidden), sysconfig.get_path("purelib")])
    # The driver's Java starts Python, too, which gets nothing that is sent: where streams begin, the package must be.
    driver = os.pathsep.join([str(paths.ROOT / "src"), libraries])
    own, os.environ["PYTHONPATH"], os.environ["PYSPARK_PYTHON"] = dict(os.environ), driver, str(python)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    connect = {
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.port": str(port),
    }
    spark = session(
        "local-cluster[2,1,1024]",
        settings={
            **SHORT_LIVED,
            "spark.executor.memory": "512m",
            EXECUTOR_JAVA: SHORT_LIVED[JAVA],
            "spark.sql.shuffle.partitions": "1",
            "spark.executorEnv.PYTHONPATH": libraries,
            "spark.executorEnv.OSTINATO_KERNEL_CACHE": str(Path(folder) / "cache"),
            **(connect if find_spec("grpc") else {}),
        },
    )
    if find_spec("grpc"):  # first, before anything is sent for all sessions
        client = [sys.executable, "-m", __spec__.name, folder, f"sc://127.0.0.1:{port}"]
        subprocess.run(client, check=True, env={**own, "SPARK_REMOTE": client[-1]})
    ask_all(spark, Path(folder) / "classic")
    lose_executors(spark, f"{folder}/events", Path(folder) / "loss")
    spark.stop()


def ask_all(spark: Any, folder: Path) -> None:
    """All languages and ways, in one session."""
    frame, model, answers = ask(spark, folder)
    for name, query in PATTERNS.items():
        if name not in answers:
            answers[name] = query.detect(frame, time="ts").count()
    answers["one pass"] = XSEQ["one pass"].detect(documents(spark)).count()
    register(spark)
    frame.createOrReplaceTempView("events")
    text = PATTERNS["compared"].text
    answers["table function"] = spark.sql(f"SELECT * FROM ostinato_detect(TABLE(events), '{text}')").count()
    read = spark.readStream.schema(SCHEMA).parquet(str(folder / "events"))
    answers["stream of rules"] = finish(spark, RULES.detect(read, time="ts", buckets=1), folder / "rules")
    answers["stream of forecasts"] = finish(spark, model.forecast(read), folder / "forecasts")
    (folder / "answers.json").write_text(json.dumps(answers))


def ask(spark: Any, folder: Path) -> tuple[Any, Any, dict[str, Any]]:
    """One answer of each language, one of a stream, and one in a second session; the events and a model of them."""
    folder.mkdir()
    found = [row.found for row in spark.range(1).mapInArrow(find_packages, "found string").collect()]
    frame = spark.createDataFrame([tuple(event.values()) for event in EVENTS], SCHEMA)
    frame.coalesce(1).write.parquet(str(folder / "events"))
    read = spark.readStream.schema(SCHEMA).parquet(str(folder / "events"))
    model = FORECASTER.fit(frame)
    other = spark.newSession()
    again = other.createDataFrame([tuple(event.values()) for event in EVENTS], SCHEMA)
    answers = {
        "packages before": "".join(found),
        "compared": PATTERNS["compared"].detect(frame, time="ts").count(),
        "rules": RULES.detect(frame, time="ts").count(),
        "buffered": XSEQ["buffered"].detect(documents(spark)).count(),
        "forecast": model.forecast(frame).count(),
        "stream": finish(spark, PATTERNS["compared"].detect(read, time="ts", buckets=1), folder / "patterns"),
        "another session": PATTERNS["compared"].detect(again, time="ts").count(),
    }
    (folder / "answers.json").write_text(json.dumps(answers))
    return frame, model, answers


def documents(spark: Any) -> Any:
    return spark.createDataFrame([(text,) for text in DOCUMENTS], "document string")


def find_packages(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Which of the packages that a worker should not need it can import."""
    found = []
    for name in ("ostinato", "numba"):
        try:
            __import__(name)
            found.append(name)
        except ImportError:
            pass
    yield pa.RecordBatch.from_pydict({"found": [" ".join(found)]})


def finish(spark: Any, answer: Any, folder: Path) -> int:
    """How many rows a stream has written when it has read all there is."""
    writer = answer.writeStream.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True)
    writer.format("parquet").start(str(folder / "found")).awaitTermination()
    return int(spark.read.parquet(str(folder / "found")).count())


if __name__ == "__main__":
    if len(sys.argv) == 2:
        main(sys.argv[1])
    elif "SPARK_REMOTE" in os.environ:
        ask(session(), Path(sys.argv[1]) / "connect")
    else:
        ask_all(session(), Path(sys.argv[1]) / "classic")
