"""Programs that tests start, watch and kill, each in a session of its own: so all of its processes can be found."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from support import paths
from support.spark import archive, daemon

ROOT = paths.ROOT
PATIENCE = 600.0  # seconds after which a job is taken for stuck
# Also of brokers and executors: compiling quickly counts for more than well.
JAVA = f"-XX:+UseSerialGC -XX:TieredStopAtLevel=1 {archive.options()}".strip()
SETTINGS = {**daemon.SETTINGS, "spark.sql.shuffle.partitions": "2"}


def members(session: int) -> list[int]:
    """The living processes of a session."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, IndexError, ValueError):
            state, _, _, its_session, *_ = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(its_session) == session and state != "Z":
                found.append(int(folder.name))
    return found


class Job:
    """A started program with all that it starts itself."""

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self.log = log
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
        with log.open("ab") as sink:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                start_new_session=True,
                env={
                    **os.environ,
                    "PYTHONPATH": path,
                    "PYSPARK_PYTHON": str(daemon.write_python(log.with_name("spark-python"))),
                    "SPARK_LOCAL_IP": "127.0.0.1",
                    "_JAVA_OPTIONS": JAVA,
                },
            )

    @property
    def running(self) -> bool:
        return self.process.poll() is None

    def members(self) -> list[int]:
        """Its processes, also those that made a process group of their own, as Spark's Python workers do."""
        return members(self.process.pid)

    def kill(self) -> None:
        """kill -9 of everything at once."""
        if self.running:
            os.killpg(self.process.pid, signal.SIGKILL)
        for _ in range(100):
            left = self.members()
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if not left:
                break
            time.sleep(0.02)
        self.process.wait()

    def wait_until(self, ready: Callable[[], bool], *, running: bool = True) -> None:
        """Until something has come about; a job that ends before it has failed, unless it need not be `running`."""
        end = time.monotonic() + PATIENCE
        while not ready():
            assert not running or self.running, f"the job ended too early\n{self.said()}"
            assert time.monotonic() < end, f"the job is stuck\n{self.said()}"
            time.sleep(0.01)

    def finish(self) -> None:
        """Wait for its good end."""
        self.wait_until(lambda: not self.running, running=False)
        assert self.process.returncode == 0, self.said()

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")[-5000:]


@contextmanager
def start_job(command: Sequence[str], log: Path) -> Iterator[Job]:
    """Nothing of the job is left afterwards, whatever happens."""
    job = Job(command, log)
    try:
        yield job
    finally:
        job.kill()


def python(module: str, *arguments: object) -> list[str]:
    """The command that runs one of the jobs beside this file."""
    return [sys.executable, "-m", f"support.spark.jobs.{module}", *map(str, arguments)]
