"""A Spark session that just works: quiet, Arrow on, RocksDB for state, bound to loopback, with a Java that it finds."""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ostinato.errors import OstinatoError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOGGING = Path(__file__).with_name("log4j2.properties")
_MASTER = re.compile(r"local|local\[(\*|\d+)(,\s*\d+)?]|local-cluster\[\d+,\s*\d+,\s*\d+]|yarn|(spark|k8s)://.+")
STATE_STORE = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

# Of a session, wherever it runs.
_SETTINGS = {
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",  # others read no zone from the default
    "spark.sql.session.timeZone": "UTC",
    STATE_STORE: _ROCKSDB,
    # A checkpoint takes what changed since the last one, not whole files of the store.
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}
# Of the Java that starts here: a server of Spark Connect has its own.
_JAVA_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "2g",
    "spark.driver.extraJavaOptions": f"-XX:+UseSerialGC -XX:TieredStopAtLevel=4 -Dlog4j2.configurationFile={_LOGGING}",
}
_LOOPBACK = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
_NAME = "ostinato"
_SUBMITTED = "PYSPARK_GATEWAY_PORT"  # where spark-submit has started this program


def session(
    master: str | None = None, *, name: str | None = None, settings: Mapping[str, str] | None = None
) -> SparkSession:
    """The Spark session of this process, or a new one that is quiet, uses Arrow, and keeps state in RocksDB.

    Parameters
    ----------
    master
        Where a new session runs: "local[4]", "spark://…", "yarn" or "k8s://…" (default: where spark-submit says, else
        "local[*]", all cores here).
    name
        The name of the application (default: what spark-submit says, else "ostinato").
    settings
        Spark settings that win over the defaults here. A session that is there already takes those that Spark lets
        change.

    Returns
    -------
    SparkSession
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise OstinatoError("Spark is not installed", fix="pip install 'ostinato[spark]'") from None
    if master is not None and not _MASTER.fullmatch(master):
        raise OstinatoError(
            f"Spark cannot run on {master!r}",
            fix="give 'local[*]', 'local[2]', 'spark://…', 'yarn' or 'k8s://…'",
            option="master",
        )
    found = SparkSession.getActiveSession()
    if found is not None:
        for key, value in (settings or {}).items():
            if found.conf.isModifiable(key):
                found.conf.set(key, value)
        return found
    builder = SparkSession.builder
    given = {"spark.master": master, "spark.app.name": name}
    told = {key: value for key, value in given.items() if value is not None} | dict(settings or {})
    for key, value in (_defaults(master) | told).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def use_rocksdb(spark: SparkSession) -> None:
    """Streaming detection keeps its state in RocksDB; a session that says nothing else is set to it.

    Queries that run or have a checkpoint keep the store that they began with.
    """
    provider = spark.conf.get(STATE_STORE) or ""
    if provider.rpartition(".")[2] != _ROCKSDB.rpartition(".")[2]:
        spark.conf.set(STATE_STORE, _ROCKSDB)


def _defaults(master: str | None) -> dict[str, str]:
    """What a new session is to have, by where it runs. A cluster, and who starts jobs there, know better than we do."""
    from ostinato.spark.java import find_java

    if "SPARK_REMOTE" in os.environ:
        return _SETTINGS | {"spark.app.name": _NAME}
    _hush()
    if _SUBMITTED in os.environ:
        return _not_said(_SETTINGS)
    os.environ["JAVA_HOME"] = str(find_java())
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    ours = _SETTINGS | _JAVA_SETTINGS | {"spark.app.name": _NAME, "spark.master": "local[*]"}
    if master is not None and not master.startswith("local"):
        return ours
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    return ours | _LOOPBACK | _parts()


def _not_said(settings: Mapping[str, str]) -> dict[str, str]:
    """Those that spark-submit was not given, nor the files that it reads."""
    from pyspark import SparkConf, SparkContext

    SparkContext._ensure_initialized()  # else SparkConf knows nothing of them
    said = SparkConf()
    return {key: value for key, value in settings.items() if not said.contains(key)}


def _parts() -> dict[str, str]:
    """Into how many parts shuffles cut on one machine."""
    cores = os.cpu_count() or 1
    return {
        # State stores are one per shuffle partition and query: more of them than cores only cost time on one machine.
        "spark.sql.shuffle.partitions": str(cores),
        # Batch shuffles begin with more parts, which Spark joins once it knows how much is in them.
        "spark.sql.adaptive.coalescePartitions.initialPartitionNum": str(8 * cores),
    }


def _hush() -> None:
    """Keep Spark from logging what it raises."""
    from pyspark.logger import PySparkLogger

    for logger in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(logger).setLevel(logging.CRITICAL)
