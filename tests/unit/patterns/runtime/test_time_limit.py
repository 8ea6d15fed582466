"""Long work can be interrupted, and ends when its time is over."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

import ostinato as ost
from ostinato.patterns.runtime import matcher

ROWS = [{"type": "AB"[at % 2], "v": at % 7, "ts": at} for at in range(400)]
MANY = {"matches": 10**200, "memory": 10**15}
ENDLESS = [
    ("count", "(ANY AS x ; ANY+ ; ANY AS y) FILTER x.v < y.v"),
    ("count", "SELECT x WHERE ANY AS x+ ; A ; ANY+"),
    ("count", "SELECT MAX * WHERE (ANY AS x ; (ANY ; ANY)+ ; ANY AS y) FILTER x.v < y.v"),
    ("detect", "ANY+ ; A ; ANY+"),
    ("detect", "ANY+ ; A ; ANY+ WITHIN 300 EVENTS"),
    ("detect", "SELECT MAX * WHERE (ANY AS x ; (A ; A)+ ; ANY AS y) FILTER x.v != y.v WITHIN 60 EVENTS"),
]


@pytest.fixture(autouse=True)
def compiled() -> None:
    """Compiling kernels is not what takes long here."""
    for verb, query in ENDLESS:
        getattr(ost.cel(query), verb)(ROWS[:8])


@pytest.mark.parametrize(("verb", "query"), ENDLESS)
def test_a_time_limit(verb: str, query: str) -> None:
    began = time.monotonic()
    with pytest.raises(ost.LimitError, match=r"the call took longer than the limit \(limit seconds=0.3\)") as error:
        getattr(ost.cel(query), verb)(ROWS, limits=ost.Limits(seconds=0.3, **MANY))
    assert error.value.limit == "seconds"
    assert time.monotonic() - began < 60


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Processes in the background inherit that interrupts are ignored. And Python drops one that comes while a callback
    of its garbage collector runs, such as that of hypothesis."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    callbacks = gc.callbacks[:]
    gc.callbacks.clear()
    yield
    gc.callbacks[:] = callbacks
    signal.signal(signal.SIGINT, handler)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize(("verb", "query"), ENDLESS)
def test_an_interrupt(verb: str, query: str) -> None:
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        getattr(ost.cel(query), verb)(ROWS, limits=ost.Limits(seconds=10, **MANY))
    timer.join()


def test_an_engine_that_was_stopped_says_so() -> None:
    engine = ost.cel("ANY+ ; A ; ANY+").engine(limits=ost.Limits(seconds=0.2, **MANY))
    with pytest.raises(ost.LimitError, match="longer than the limit"):
        engine.push(ROWS)
    with pytest.raises(ost.OstinatoError, match="stopped in the middle of a step"):
        engine.push(ROWS)


@pytest.mark.slow
def test_each_table_of_push_each_has_its_own_time() -> None:
    tables = ost.cel("ANY+ ; A ; ANY+").engine(limits=ost.Limits(seconds=0.3, **MANY)).push_each(ROWS)
    for _ in range(4):
        assert len(next(tables))
        time.sleep(0.2)


@pytest.mark.parametrize("seconds", [0, -1, True, "1", float("nan")])
def test_a_bad_time_limit(seconds: Any) -> None:
    with pytest.raises(ost.OstinatoError, match="seconds"):
        ost.Limits(seconds=seconds)


@pytest.mark.parametrize(
    "query",
    [
        "A+ ; B WITHIN 6 EVENTS",
        "SELECT MAX * WHERE A+ ; B WITHIN 9 EVENTS",
        "SELECT x WHERE A AS x+ ; B WITHIN 7 EVENTS",
        "SELECT LAST * WHERE A+ ; B WITHIN 9 EVENTS",
        "(A AS x ; B+ ; A AS y) FILTER x.v < y.v WITHIN 8 EVENTS",
        "SELECT NXT * WHERE (A AS x ; B+ ; A AS y) FILTER x.v < y.v WITHIN 8 EVENTS",
        "SELECT LAST * WHERE (A AS x ; B+ ; A AS y) FILTER x.v < y.v WITHIN 8 EVENTS",
        "SELECT MAX * WHERE (A AS x ; B+ ; A AS y) FILTER x.v < y.v WITHIN 8 EVENTS",
    ],
)
def test_pauses_change_nothing(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ost.cel(query).detect(ROWS[:60])
    monkeypatch.setattr(matcher, "_STEPS", 40)
    assert ost.cel(query).detect(ROWS[:60]).equals(whole)
    assert ost.cel(query).count(ROWS[:60]) == len(whole)


def test_more_matches_than_allowed_are_noticed_early() -> None:
    rows = [{"type": "AB"[at % 2]} for at in range(3000)]
    began = time.monotonic()
    late = [{"type": "A"}] * 3000 + [{"type": "B"}]
    for run in (ost.cel("A+ ; B").detect, ost.cel("A+ ; B").engine().push):
        for given in (rows, late):
            with pytest.raises(ost.LimitError, match="more matches than may be returned at once"):
                run(given)
            run = ost.cel("A+ ; B WITHIN 2000 EVENTS").engine().push
    assert time.monotonic() - began < 10
