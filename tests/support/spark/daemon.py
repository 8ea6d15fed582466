"""Starts the Python workers of Spark: each is a copy of a process that has imported everything already.

Programs that tests start (see `jobs`) use Spark's own way.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

from ostinato.spark.session import _SETTINGS
from support import paths

_JAVA = "spark.driver.extraJavaOptions"
_FILES = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"


def settings() -> dict[str, str]:
    """The settings of a session with such workers, and with less to do for each of many small files.

    The usual file manager of checkpoints runs the command `readlink` for every look at a file.
    """
    java = _SETTINGS[_JAVA].replace("-XX:TieredStopAtLevel=4", "-XX:TieredStopAtLevel=1")
    return {
        "spark.python.daemon.module": __name__,
        "spark.sql.streaming.checkpointFileManagerClass": _FILES,
        _JAVA: f"{java} -Djdk.lang.Process.launchMechanism=VFORK",
    }


def write_python(path: Path) -> Path:
    """An interpreter that imports pyspark as it is installed.

    Spark puts a zip file with the sources of pyspark first, which every process would compile for most of a second.
    """
    folders = os.pathsep.join([str(paths.ROOT / "src"), str(paths.ROOT / "tests")])
    path.write_text(f'#!/bin/sh\nPYTHONPATH={shlex.quote(folders)} exec {shlex.quote(sys.executable)} "$@"\n')
    path.chmod(0o755)
    return path


def main() -> None:
    import pandas  # noqa: F401
    import pyspark.daemon
    import pyspark.worker

    import ostinato.patterns.runtime.engine
    import ostinato.spark.forecast.processor
    import ostinato.spark.patterns.processor
    import ostinato.spark.rules.processor
    import ostinato.spark.xseq.task  # noqa: F401

    pyspark.daemon.manager()


if __name__ == "__main__":
    main()
