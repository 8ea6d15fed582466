"""The command line from a test: in this process, or in one of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from typer.testing import CliRunner, Result

import ostinato
from ostinato.cli.main import make_app

COMMAND = [sys.executable, "-c", "from ostinato.cli.main import main; main()"]
# The package need not be installed: the process finds it where this one did.
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(ostinato.__file__).parents[1])}


def run(*args: str | Path) -> Result:
    words = [str(arg) for arg in args]
    return CliRunner().invoke(make_app(*words[:1]), words)  # as `main` does: to describe all verbs takes its time


def failed(result: Result, code: int, *expected: str) -> None:
    """The exit code, a message of at most a screen on stderr, no traceback, and nothing on stdout."""
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output and "internal error" not in result.output
    assert isinstance(result.exception, SystemExit)
    assert len(result.stderr.splitlines()) <= 24
    assert result.stdout == ""
    for text in expected:
        assert text in re.sub(r"[\s│]+", " ", result.stderr), result.stderr


def write_inputs(name: str, query: str, events: pa.Table) -> None:
    """A query, and its events in two files that are not in order, in the current folder."""
    Path(name).write_text(query, encoding="utf-8")
    Path("events").mkdir()
    pq.write_table(events.slice(30), "events/1.parquet")
    pq.write_table(events.slice(0, 30), "events/2.parquet")


def process(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, env=ENVIRONMENT)


def first_line(given: bytes, *arguments: str | Path) -> bytes:
    """The first line that a command gives while its standard input, which begins so, is still open."""
    command = [*COMMAND, *map(str, arguments)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT) as running:
        assert running.stdin is not None and running.stdout is not None
        running.stdin.write(given)
        running.stdin.flush()
        found = running.stdout.readline()
        running.stdin.close()
        running.stdout.read()
    assert running.returncode == 0
    return found


def start(*command: str, **variables: str) -> subprocess.Popen[str]:
    """A process to send signals to, also where a test runs under `nohup` or in the background, which ignore some."""

    def heed_signals() -> None:
        for number in (signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)

    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT | variables,
        preexec_fn=heed_signals,
    )
