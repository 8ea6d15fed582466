"""Finds compiled kernels, or has them compiled and stored; says so to people who wait for that."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Lock

from ostinato.core.forks import after_fork
from ostinato.core.jit import pool, store
from ostinato.core.jit.compiler import Request

# In seconds: how long nothing is said, how often it is said again where lines stay, how long a pause between two waits
# may be, and how often to look.
PATIENCE, INTERVAL, GAP, STEP = 2.0, 10.0, 1.0, 0.25

_lock = Lock()
_builds: dict[str, Future[bytes]] = {}  # by the kernel's name in the store, those begun by this process


def _forget() -> None:
    """A fork has no thread that would finish what was begun."""
    global _lock, _notice
    _lock, _notice = Lock(), _Notice()
    _builds.clear()


after_fork(_forget)


def build(request: Request, *, quietly: bool = False) -> bytes:
    """The object code of a kernel that is not stored."""
    begin([request])
    future = _builds[request.symbol]
    try:
        return future.result() if quietly else _wait(future)
    except Exception:
        with _lock:
            _builds.pop(request.symbol, None)  # whoever asks again gets another try
        raise


def begin(requests: Iterable[Request], folder: Path | None = None) -> None:
    """Have kernels compiled, unless that has begun, and kept in the cache folder or another one."""
    keep = partial(_keep, folder or store.cache_folder())
    for request in requests:
        with _lock:
            if request.symbol not in _builds:
                _builds[request.symbol] = pool.submit(request, keep)


def _keep(folder: Path, request: Request, code: bytes) -> None:
    try:
        store.write_kernel(folder / request.symbol, code)
    except OSError as error:
        if not _complaints:
            _complaints.append(str(error))
            _say(
                f"ostinato: compiled kernels cannot be kept in {folder} ({error.strerror or error}); "
                f"set {store.FOLDER_VARIABLE} to a folder that can be written to\n"
            )


_complaints: list[str] = []  # one is enough


class _Notice:
    """What people see who wait. Waits that follow each other are one, since few kernels take long by themselves; so are
    those of several threads."""

    def __init__(self) -> None:
        self.begun = self.ended = self.said = 0.0
        self.waiting = 0  # threads
        self.shown = False  # a line that is written over, and taken away at the end

    def begin(self) -> None:
        now = time.monotonic()
        with _lock:
            if not self.waiting and now - self.ended > GAP:
                self.begun, self.said = now, 0.0
            self.waiting += 1

    def show(self) -> None:
        now = time.monotonic()
        live = _is_terminal()
        if now - self.begun >= PATIENCE and now - self.said >= (0.0 if live else INTERVAL):
            self.said = now
            builds = list(_builds.items())
            done = sum(future.done() for _, future in builds)
            current = next((name for name, future in builds if not future.done()), "").rpartition(".")[0]
            text = (
                f"ostinato: compiling, once for this machine: {done} of {len(builds)} kernels, "
                f"{now - self.begun:.0f} s ({current})"
            )
            _say(f"\r{text[: _width() - 1]}\x1b[K" if live else f"{text}\n")
            self.shown = live

    def end(self) -> None:
        with _lock:
            self.ended = time.monotonic()
            self.waiting -= 1
        if self.shown and not self.waiting:
            self.shown = False
            _say("\r\x1b[K")


_notice = _Notice()


def _wait(future: Future[bytes]) -> bytes:
    """Tell people what they wait for, and how far it is, when that takes long."""
    _notice.begin()
    try:
        while True:
            try:
                return future.result(timeout=STEP)
            except NotYet:
                if future.done():
                    return future.result()
                _notice.show()
    finally:
        _notice.end()


def _is_terminal() -> bool:
    """Whether a line can be written over. While a progress bar is shown, another stands in for standard error: it puts
    whole lines above the bar."""
    real = sys.__stderr__
    return real is not None and sys.stderr is real and real.isatty()


def _width() -> int:
    """Of the terminal: a line that wraps could not be written over."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def _say(text: str) -> None:
    """To standard error, if there is one."""
    with suppress(AttributeError, OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()
