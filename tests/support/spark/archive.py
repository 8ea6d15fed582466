"""python -m support.spark.archive: keep the classes of Spark as Java has them in memory, where they are not yet kept.

Half of what a short job on Spark costs is to find, read and check classes. With the archive Java maps them from a file.
It holds for one Java and one folder of jars; Java itself leaves it alone where either is not what it was.
"""

from __future__ import annotations

import os
import sys
import tempfile
import zlib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ostinato.errors import OstinatoError
from ostinato.spark import session
from ostinato.spark.java import find_java

_ROWS = "ts timestamp, type string, k long"


def options() -> str:
    """What a Java that is to use the archive is given: nothing where there is none."""
    try:
        place = _place()
    except OstinatoError:
        return ""
    return f"-XX:SharedArchiveFile={place}" if place.exists() else ""


def main() -> None:
    from support.spark.daemon import JAVA, SETTINGS, write_python

    place = _place()
    if place.exists():
        return
    beside = place.with_suffix(".made")
    quiet = "-Xlog:cds=off -Xlog:cds+dynamic=off"
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PYSPARK_PYTHON"] = str(write_python(Path(folder) / "python"))
        made = {JAVA: f"{SETTINGS[JAVA]} -XX:ArchiveClassesAtExit={beside} {quiet}"}
        spark = session("local[1]", settings=SETTINGS | made)
        java = vars(spark.sparkContext._gateway)["proc"]
        _load_classes(spark, folder)
        spark.stop()
    java.stdin.close()  # which ends it, as the end of this process would
    java.wait()
    if beside.exists():  # a Java without an archive of its own classes makes none
        beside.replace(place)


def _place() -> Path:
    spark = find_spec("pyspark")
    depends = f"{find_java()} {spark and spark.origin}"
    return Path(sys.prefix) / "var" / "ostinato" / f"spark-{zlib.crc32(depends.encode()):08x}.jsa"


def _load_classes(spark: Any, folder: str) -> None:
    """Those of most jobs: files, shuffles, Python tasks, and streams with state."""
    import ostinato as ost

    spark.conf.set("spark.sql.shuffle.partitions", "1")
    query = ost.cel("A AS x ; B AS y FILTER x.k < y.k PARTITION BY k WITHIN 5 seconds")
    rows = spark.range(20).selectExpr("timestamp_seconds(id) AS ts", "if(id % 2 = 0, 'A', 'B') AS type", "id AS k")
    rows.write.parquet(f"{folder}/events")
    spark.read.schema(_ROWS).parquet(f"{folder}/events").groupBy("type").count().toArrow()
    query.detect(spark.read.schema(_ROWS).parquet(f"{folder}/events")).collect()
    stream = query.detect(spark.readStream.schema(_ROWS).parquet(f"{folder}/events"), buckets=1)
    writer = stream.writeStream.option("checkpointLocation", f"{folder}/checkpoint").trigger(availableNow=True)
    writer.format("parquet").start(f"{folder}/found").awaitTermination()


if __name__ == "__main__":
    main()
