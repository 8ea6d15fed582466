"""Compiles kernels side by side, each in one of a few processes, while this one goes on.

A process that compiles needs half a second to start, so it is kept until there has been nothing to do for a while.
"""

from __future__ import annotations

import atexit
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from threading import Lock, Thread

from ostinato.core.jit.compiler import Failure, Request
from ostinato.core.jit.cpu import cpu_level
from ostinato.core.jit.forks import after_fork

COMPILING = "OSTINATO_COMPILING"  # in the environment of the processes that compile
IDLE_SECONDS = 10.0

Keep = Callable[[Request, bytes], None]


class CompilationError(RuntimeError):
    """A kernel cannot be compiled here."""


class _Pool:
    """Threads that each hold a process; as many as there are cores, once there is work for them."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[tuple[Request, Keep, Future[bytes]]] = SimpleQueue()
        self._lock = Lock()
        self._threads = self._unfinished = 0
        self._processes: set[subprocess.Popen[bytes]] = set()

    def submit(self, request: Request, keep: Keep) -> Future[bytes]:
        future: Future[bytes] = Future()
        with self._lock:
            self._jobs.put((request, keep, future))
            self._unfinished += 1
            if self._threads < min(os.cpu_count() or 1, (self._unfinished + 1) // 2):  # one for two is worth its start
                self._threads += 1
                Thread(target=self._work, name="ostinato compiler", daemon=True).start()
        return future

    def _work(self) -> None:
        process: subprocess.Popen[bytes] | None = None
        while True:
            try:
                request, keep, future = self._jobs.get(timeout=IDLE_SECONDS)
            except Empty:
                with self._lock:
                    if not self._jobs.empty():
                        continue
                    self._threads -= 1
                break
            try:
                if process is None or process.poll() is not None:
                    process = _start()
                    self._processes.add(process)
                code = _ask(process, request)
                keep(request, code)  # before anyone who waits for it may end this process
                future.set_result(code)
            except Exception as error:
                future.set_exception(error)
            with self._lock:
                self._unfinished -= 1
        if process is not None:
            self._processes.discard(process)
            _stop(process)

    def stop(self) -> None:
        for process in list(self._processes):
            _stop(process)


def _start() -> subprocess.Popen[bytes]:
    paths = os.pathsep.join(path for path in sys.path if path)
    environment = {**os.environ, COMPILING: "1", "PYTHONPATH": paths, "NUMBA_CPU_NAME": cpu_level(),
                   "NUMBA_CPU_FEATURES": "", "NUMBA_DISABLE_JIT": "0"}  # fmt: skip
    command = [sys.executable, "-c", "from ostinato.core.jit.compiler import main; main()"]
    try:
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
    except OSError as error:
        raise CompilationError(f"kernels must be compiled, and no process can be started for that: {error}") from None


def _ask(process: subprocess.Popen[bytes], request: Request) -> bytes:
    assert process.stdin is not None and process.stdout is not None
    try:
        pickle.dump(request, process.stdin)
        process.stdin.flush()
        answer = pickle.load(process.stdout)
    except (OSError, EOFError):
        process.kill()
        raise CompilationError(
            f"the process that compiles {request.name} ended with exit code {process.wait()}"
        ) from None
    if isinstance(answer, Failure):
        raise CompilationError(f"{request.name} cannot be compiled:\n{answer.reason}")
    assert isinstance(answer, bytes)
    return answer


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


_pool = _Pool()


def submit(request: Request, keep: Keep) -> Future[bytes]:
    """Have a kernel compiled, behind those that were asked for before, and then kept."""
    return _pool.submit(request, keep)


def _forget() -> None:
    """A fork has none of the threads."""
    global _pool
    _pool = _Pool()


after_fork(_forget)
atexit.register(lambda: _pool.stop())
