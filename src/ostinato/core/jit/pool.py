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

from ostinato.core.forks import after_fork
from ostinato.core.jit.compiler import Failure, Request
from ostinato.core.jit.cpu import cpu_level
from ostinato.core.jit.mode import COMPILING_VARIABLE
from ostinato.errors import OstinatoError

IDLE_SECONDS = 10.0

Keep = Callable[[Request, bytes], None]


class CompilationError(OstinatoError):
    """A kernel cannot be compiled here."""


class _Died(Exception):
    """A process ended, or was killed, before it answered."""


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
            if self._threads < min(_cores(), (self._unfinished + 1) // 2):  # one for two is worth its start
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
                code, process = self._compile(request, process)
                keep(request, code)  # before anyone who waits for it may end this process
                future.set_result(code)
            except Exception as error:
                future.set_exception(error)
            with self._lock:
                self._unfinished -= 1
        if process is not None:
            self._processes.discard(process)
            _stop(process)

    def _compile(
        self, request: Request, process: subprocess.Popen[bytes] | None
    ) -> tuple[bytes, subprocess.Popen[bytes]]:
        """The code, and the process that made it. One that was killed, perhaps for its memory, gets a second try."""
        for last in (False, True):
            if process is None or process.poll() is not None:
                process = _start()
                self._processes.add(process)
            try:
                return _ask(process, request), process
            except _Died:
                self._processes.discard(process)
                if last:
                    raise CompilationError(
                        f"the process that compiles {request.name} ended with exit code {process.wait()}",
                        fix="see what it wrote to standard error; it needs numba and some 200 MB of memory",
                    ) from None
        raise AssertionError

    def stop(self) -> None:
        for process in list(self._processes):
            _stop(process)


def _cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _start() -> subprocess.Popen[bytes]:
    """With the paths of this process, but not with its folder, settings of numba's, or signals from its terminal."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    environment |= {COMPILING_VARIABLE: "1", "NUMBA_CPU_NAME": cpu_level(), "NUMBA_CPU_FEATURES": ""}
    paths = [path for path in sys.path if path]
    program = f"import sys; sys.path[:] = {paths!r}; from ostinato.core.jit.compiler import main; main()"
    try:
        return subprocess.Popen(
            [sys.executable or "python3", "-I", "-S", "-c", program],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise CompilationError(
            f"kernels must be compiled, and no process can be started for that: {error}",
            fix="run `ostinato warm` where that works, and let OSTINATO_KERNEL_CACHE name the folder with the kernels",
        ) from None


def _ask(process: subprocess.Popen[bytes], request: Request) -> bytes:
    assert process.stdin is not None and process.stdout is not None
    try:
        pickle.dump(request, process.stdin)
        process.stdin.flush()
        answer = pickle.load(process.stdout)
    except (OSError, EOFError, pickle.UnpicklingError):
        process.kill()
        raise _Died from None
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
