"""A sane local Spark session: quiet, Arrow on, RocksDB for state, bound to loopback, with a Java that works."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ostinato.errors import OstinatoError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOGGING = Path(__file__).with_name("log4j2.properties")

_SETTINGS = {
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.driver.extraJavaOptions": f"-XX:+UseSerialGC -XX:TieredStopAtLevel=4 -Dlog4j2.configurationFile={_LOGGING}",
}


def session(
    master: str | None = None, *, name: str = "ostinato", settings: Mapping[str, str] | None = None
) -> SparkSession:
    """The Spark session of this process, or a new local one on all cores (`master="local[*]"`).

    `settings` are Spark settings that win over the defaults here. A session that is there already is given as it is,
    with only those settings changed that Spark lets change.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise OstinatoError("Spark is not installed\nfix: pip install 'ostinato[spark]'") from None
    if SparkSession.getActiveSession() is None and "SPARK_REMOTE" not in os.environ:
        _prepare()
    builder = SparkSession.builder.appName(name)
    if "SPARK_REMOTE" not in os.environ:
        builder = builder.master(master or "local[*]")
    cores = os.cpu_count() or 1
    # State stores are one per shuffle partition and query: more of them than cores only cost time on one machine.
    chosen = {"spark.sql.shuffle.partitions": str(2 * cores)} | _SETTINGS | dict(settings or {})
    for key, value in chosen.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _prepare() -> None:
    """What Spark reads from the environment when its Java process starts."""
    from ostinato.spark.java import find_java

    os.environ["JAVA_HOME"] = str(find_java())
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
