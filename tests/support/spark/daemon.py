"""Starts the Python workers of Spark: each is a copy of a process that has imported everything already.

Programs that tests start (see `jobs`) use Spark's own way.
"""

from __future__ import annotations

import os

from ostinato.spark.session import _SETTINGS
from support import paths

_JAVA = "spark.driver.extraJavaOptions"


def settings() -> dict[str, str]:
    """The settings of a session with such workers."""
    return {
        "spark.python.daemon.module": __name__,
        _JAVA: _SETTINGS[_JAVA].replace("-XX:TieredStopAtLevel=4", "-XX:TieredStopAtLevel=1"),
    }


def python_path() -> str:
    return os.pathsep.join([str(paths.ROOT / "src"), str(paths.ROOT / "tests"), os.environ.get("PYTHONPATH", "")])


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
