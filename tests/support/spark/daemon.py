"""Starts the Python processes of Spark: each is a copy of one that has imported everything already."""

from __future__ import annotations

import gc
import json
import os
import shlex
import signal
import socket
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from ostinato.spark.session import _JAVA_SETTINGS as _DEFAULTS
from support import paths
from support.spark import archive

JAVA = "spark.driver.extraJavaOptions"
EXECUTOR_JAVA = "spark.executor.extraJavaOptions"
_FILES = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
_FIRST = "pyspark.sql.streaming.transform_with_state_driver_worker"  # which each run of a stream begins with
_SOCKET = "OSTINATO_COPIES"

# Java compiles quickly rather than well, and generated code is worth its compilation from thousands of rows on.
SHORT_LIVED = {
    JAVA: f"{_DEFAULTS[JAVA].replace('TieredStopAtLevel=4', 'TieredStopAtLevel=1')} {archive.options()}".strip(),
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
SETTINGS = SHORT_LIVED | {
    "spark.python.daemon.module": "support.spark.daemon",
    "spark.sql.shuffle.partitions": "1",
    # The usual manager runs the command `readlink` for every look at a file.
    "spark.sql.streaming.checkpointFileManagerClass": _FILES,
    # Room enough that Java seldom stops to look for garbage, nor throws away what it has compiled.
    JAVA: f"{SHORT_LIVED[JAVA]} -Xms1g -Xmn400m -XX:ReservedCodeCacheSize=240m "
    "-Djdk.lang.Process.launchMechanism=VFORK",
}

_PYTHON = """\
#!/bin/sh
export PYTHONPATH={folders} {variable}={address}
if [ "$2" = {module} ] && [ -S {address} ]; then exec {python} -I -S {client}; fi
exec {python} "$@"
"""


def write_python(path: Path) -> Path:
    """An interpreter that imports pyspark as it is installed, or asks for a copy where Spark knows none.

    Spark puts a zip file with the sources of pyspark first, which every process would compile for most of a second.
    """
    address = path.with_suffix(".socket")
    address.unlink(missing_ok=True)  # of a daemon that was killed
    folders = os.pathsep.join([str(paths.ROOT / "src"), str(paths.ROOT / "tests")])
    script = _PYTHON.format(
        folders=shlex.quote(folders),
        variable=_SOCKET,
        address=shlex.quote(str(address)),
        module=_FIRST,
        python=shlex.quote(sys.executable),
        client=shlex.quote(str(Path(__file__).with_name("copy_client.py"))),
    )
    path.write_text(script)
    path.chmod(0o755)
    return path


def serve_copies(address: str) -> None:
    """Run the module that begins a stream in a copy of this process, for each that connects and sends its environment.

    Ends with the daemon, by the signal that it sends to its group or, where it was killed, soon after.
    """
    daemon = os.getppid()
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with suppress(OSError), socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen()
        listening.settimeout(5)
        while os.getppid() == daemon:
            with suppress(TimeoutError):
                asked, _ = listening.accept()
                if os.fork() == 0:
                    listening.close()
                    with asked, asked.makefile("rb") as sent:
                        os.environ.update(json.loads(sent.readline()))
                        _begin_stream()
                    os._exit(0)
                asked.close()


def _begin_stream() -> None:
    from pyspark.worker_util import get_sock_file_to_executor

    with get_sock_file_to_executor() as to_spark:
        import_module(_FIRST).main(to_spark, to_spark)


def main() -> None:
    import pandas  # noqa: F401
    import pyspark.daemon
    import pyspark.worker
    import pyspark.worker_util

    import ostinato.patterns.runtime.engine
    import ostinato.spark.forecast.processor
    import ostinato.spark.patterns.processor
    import ostinato.spark.rules.processor
    import ostinato.spark.xseq.task  # noqa: F401

    import_module(_FIRST)
    gc.freeze()  # a worker collects garbage after each task, and would look at all that was imported
    os.setpgid(0, 0)
    # Before Spark 4.3 a stream begins otherwise, and needs no copy.
    if hasattr(pyspark.worker_util, "get_sock_file_to_executor") and os.fork() == 0:
        serve_copies(os.environ[_SOCKET])
        os._exit(0)
    pyspark.daemon.manager()


if __name__ == "__main__":
    main()
