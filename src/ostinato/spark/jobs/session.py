"""The session of a job: it prints nothing of its own, and its errors become ours."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from ostinato.errors import OstinatoError
from ostinato.spark.failures import describe_failure
from ostinato.spark.session import session

if TYPE_CHECKING:
    # The command line names these types, and may not import pyspark.
    from pyspark.sql import DataFrame as DataFrame
    from pyspark.sql import SparkSession as SparkSession

_HIDE_TRACEBACK = "spark.sql.execution.pyspark.udf.hideTraceback.enabled"


@contextmanager
def job_session(
    master: str | None, *, checkpoint: Path | None = None, output: Path | None = None
) -> Iterator[SparkSession]:
    """A session in which whatever Spark fails with is raised as an OstinatoError, and nothing else is printed.

    `checkpoint` and `output` are the folders of the job, which an error may have to name.
    """
    with Console(stderr=True).status("Spark starts"):
        try:
            spark = session(master)
        except OstinatoError:
            raise
        except Exception as error:
            found = describe_failure(error)
            raise found.replace(reason=f"Spark does not start: {found.reason}") from error
    logging.getLogger().addHandler(logging.NullHandler())  # py4j logs what it raises as well
    java = getattr(spark, "_jvm", None)  # none behind Spark Connect
    if java is not None:
        # The worker that sets a stream up prints each of its steps; whatever fails is raised.
        java.java.lang.System.setErr(java.java.io.PrintStream(java.java.io.OutputStream.nullOutputStream()))
    before = spark.conf.get(_HIDE_TRACEBACK) or "false"
    spark.conf.set(_HIDE_TRACEBACK, "true")
    try:
        yield spark
    except Exception as error:
        if os.environ.get("OSTINATO_DEBUG") or type(error).__module__.partition(".")[0] not in ("pyspark", "py4j"):
            raise
        raise describe_failure(error, checkpoint=checkpoint, output=output) from None
    finally:
        spark.conf.set(_HIDE_TRACEBACK, before)
