"""Finds compiled kernels, or has them compiled and stored; says so to people who wait for that."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from threading import Lock

from ostinato.core.jit import pool, store
from ostinato.core.jit.compiler import Request
from ostinato.core.jit.forks import after_fork

PATIENCE = 2.0  # seconds without a word

_lock = Lock()
_builds: dict[str, Future[bytes]] = {}  # by the kernel's name in the store, those begun by this process


def _forget() -> None:
    """A fork has no thread that would finish what was begun."""
    global _lock
    _lock = Lock()
    _builds.clear()


after_fork(_forget)


def build(request: Request, *, quietly: bool = False) -> bytes:
    """The object code of a kernel that is not stored."""
    begin([request])
    future = _builds[request.symbol]
    return future.result() if quietly else _wait(future, request.name)


def begin(requests: Iterable[Request]) -> None:
    """Have kernels compiled, unless that has begun."""
    for request in requests:
        with _lock:
            if request.symbol in _builds:
                continue
            _builds[request.symbol] = pool.submit(request, _keep)


def _keep(request: Request, code: bytes) -> None:
    try:
        store.write_kernel(store.cache_folder() / request.symbol, code)
    except OSError as error:
        _complain(error)


_complaints: list[str] = []


def _complain(error: OSError) -> None:
    """Once: the next process has to compile again, and whoever runs it should know why."""
    if not _complaints:
        _complaints.append(str(error))
        print(
            f"ostinato: compiled kernels cannot be kept in {store.cache_folder()} ({error.strerror or error}); "
            f"set {store.FOLDER_VARIABLE} to a folder that can be written to",
            file=sys.stderr,
        )


def _wait(future: Future[bytes], name: str) -> bytes:
    """Tell people what they wait for, and how far it is, when that takes long."""
    begun, shown = time.monotonic(), False
    while True:
        try:
            return future.result(timeout=PATIENCE)
        except NotYet:
            if future.done():
                raise
            shown = _show(name, time.monotonic() - begun, again=shown)


def _show(name: str, seconds: float, *, again: bool) -> bool:
    done = sum(build.done() for build in list(_builds.values()))
    live = sys.stderr.isatty()
    if live or not again:
        text = f"ostinato: compiling kernels, once for this machine: {done} of {len(_builds)}, {seconds:.0f} s ({name})"
        print(f"\r{text}\x1b[K" if live else text, end="" if live else "\n", file=sys.stderr, flush=True)
    return True
