"""Work on several cores: one piece per thread, the first in the thread that asks for it.

Kernels, Arrow and NumPy release Python's lock while they work. Where one piece fails, or the user interrupts, the
others stop at their next look at the clock (`stop_if_asked`).
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import ContextVar
from functools import cache
from threading import Event
from typing import TypeVar

from ostinato.core.forks import after_fork
from ostinato.core.options import bad_option

S = TypeVar("S")
T = TypeVar("T")

_MOST = 1 << 12  # threads of all work in pieces

_stop: ContextVar[Event | None] = ContextVar("stop", default=None)


class Stopped(Exception):
    """Another piece of the same work has failed."""


def stop_if_asked() -> None:
    """Raise Stopped where the rest of the work has been given up."""
    stop = _stop.get()
    if stop is not None and stop.is_set():
        raise Stopped


def available_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_threads(threads: object) -> int:
    """The number of threads that an option asks for: all cores without one."""
    if threads is None:
        return available_cores()
    if not isinstance(threads, int) or isinstance(threads, bool) or threads < 1:
        raise bad_option("threads", threads, "a whole number from 1 on")
    return threads


def map_in_order(
    work: Callable[[S], T], items: Iterable[S], threads: int, apart: Callable[[S], bool] = lambda item: True
) -> Iterator[T]:
    """`work(item)` for each item, in their order, a few of them ahead; items are taken in the thread that asks, which
    also does the work where `apart(item)` is false."""
    if threads == 1:
        yield from map(work, items)
        return
    stop = Event()

    def run(item: S) -> T:
        _stop.set(stop)
        return work(item)

    pool = ThreadPoolExecutor(threads, "ostinato")
    try:
        waiting: deque[Future[T]] = deque()
        for item in items:
            waiting.append(pool.submit(run, item) if apart(item) else _done(work, item))
            if len(waiting) > 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        stop.set()
        pool.shutdown(cancel_futures=True)


def _done(work: Callable[[S], T], item: S) -> Future[T]:
    future: Future[T] = Future()
    try:
        future.set_result(work(item))
    except Exception as error:
        future.set_exception(error)
    return future


def cuts(count: int, pieces: int) -> list[int]:
    """Where to cut so many items into pieces, with 0 and their number."""
    return [count * number // pieces for number in range(pieces + 1)]


@cache
def _shared_pool() -> ThreadPoolExecutor:
    """Threads that stay: those that begin anew have no memory at hand, and ask the system for each page of it.

    There are as many as pieces ever ran at a time, since pieces that waited for pieces of their own might block others.
    """
    return ThreadPoolExecutor(_MOST, "ostinato")


after_fork(_shared_pool.cache_clear)


def run_pieces(work: Callable[[int], T], pieces: int) -> list[T]:
    """`work(0)`, `work(1)`, …, side by side. Where several fail, the error of the first piece is raised."""
    if pieces == 1:
        return [work(0)]
    stop = Event()
    errors: dict[int, BaseException] = {}

    def run(number: int) -> T | None:
        token = _stop.set(stop)
        try:
            return work(number)
        except Stopped:
            return None
        except BaseException as error:
            errors[number] = error
            stop.set()
            return None
        finally:
            _stop.reset(token)

    others = [_shared_pool().submit(run, number) for number in range(1, pieces)]
    try:
        results: Sequence[T | None] = [run(0), *(other.result() for other in others)]
    except BaseException:  # an interrupt: `run` keeps errors
        stop.set()
        wait(others)
        raise
    if errors:
        raise errors[min(errors)]
    return [result for result in results if result is not None]
