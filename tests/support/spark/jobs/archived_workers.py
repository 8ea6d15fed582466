"""python -m support.spark.jobs.archived_workers FOLDER: every language on a standalone cluster of two fresh workers.

Their Python is an archive that travels with the job, with libraries alone: neither Spark, Ostinato nor numba. The job
is submitted as docs/running.md says. Answers go to FOLDER/classic, as those of the module `cluster`; FOLDER/cache stays
empty if the workers compile nothing.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
import venv
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import pyspark

from support import paths

LIBRARIES = ("duckdb", "lark", "llvmlite", "numpy", "pandas", "protobuf", "pyarrow", "sqlglot")
_HOME = Path(pyspark.__file__).parent
_PATIENCE = 300.0


def main(folder: Path) -> None:
    archive = pack_environment(folder)
    # Streams begin with a Python beside the driver, under the path that the workers' has: here it is our own.
    (folder / "environment").symlink_to(sys.prefix)
    os.environ |= {"PYSPARK_PYTHON": "./environment/bin/python", "PYSPARK_DRIVER_PYTHON": sys.executable}
    master = f"spark://127.0.0.1:{free_port()}"
    start("master", folder, "deploy.master.Master", "--host", "127.0.0.1", "--port", master.rpartition(":")[2])
    for worker in ("worker1", "worker2"):
        work = ["--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--work-dir", str(folder / worker)]
        start(worker, folder, "deploy.worker.Worker", *work, master)
    wait_for(folder / "worker1.log", "Successfully registered")
    wait_for(folder / "worker2.log", "Successfully registered")
    settings = {
        "spark.archives": f"{archive}#environment",
        "spark.executor.memory": "512m",
        "spark.executorEnv.OSTINATO_KERNEL_CACHE": str(folder / "cache"),
        "spark.sql.shuffle.partitions": "2",
    }
    told = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
    job = [str(Path(__file__).with_name("cluster.py")), str(folder), "submitted"]
    subprocess.run([f"{_HOME}/bin/spark-submit", "--master", master, *told, *job], check=True, cwd=folder)


def pack_environment(folder: Path) -> Path:
    """The libraries of this environment, in one of their own that venv-pack has packed."""
    made, packed = folder / "workers", folder / "environment.tar.gz"
    venv.create(made, with_pip=True)
    wanted = [f"{name}=={version(name)}" for name in LIBRARIES]
    quiet = ["--quiet", "--disable-pip-version-check", "--no-compile"]
    subprocess.run([made / "bin" / "python", "-m", "pip", "install", *quiet, *wanted], check=True)
    packer = folder / "packer"
    venv.create(packer, with_pip=True)
    subprocess.run([packer / "bin" / "python", "-m", "pip", "install", *quiet, "venv-pack", "setuptools"], check=True)
    subprocess.run([packer / "bin" / "venv-pack", "--quiet", "--prefix", made, "--output", packed], check=True)
    return packed


def start(name: str, folder: Path, part: str, *arguments: str) -> None:
    """A part of the cluster, whose Python knows nothing of this package."""
    command: Sequence[str] = [f"{_HOME}/bin/spark-class", f"org.apache.spark.{part}", "--webui-port", "0", *arguments]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PY")}
    with (folder / f"{name}.log").open("wb") as log:
        subprocess.Popen(command, stdout=log, stderr=log, env=environment, cwd=folder)


def wait_for(log: Path, text: str) -> None:
    end = time.monotonic() + _PATIENCE
    while not re.search(text, log.read_text(errors="replace")):
        assert time.monotonic() < end, f"{log.name}: {log.read_text(errors='replace')[-2000:]}"
        time.sleep(0.1)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    os.environ["PYTHONPATH"] = os.pathsep.join([str(paths.ROOT / "src"), str(paths.ROOT / "tests")])
    main(Path(sys.argv[1]))
