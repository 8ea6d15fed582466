"""A limit of time, and Ctrl-C, for queries over documents: every long kernel comes back in between."""

from __future__ import annotations

import signal
import time
from typing import Any

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.xseq.limits import XSeqLimits
from ostinato.xseq.runtime.buffered import forest
from ostinato.xseq.runtime.one_pass import evaluator

# One pass, a condition on one node, conditions on all bindings, and walks with bindings.
SLOW = {
    "one pass": r"return $X@v, $Y@v from /r/$X/following-sibling::$Y where $Y@v < $X@v",
    "one check": "//r[a/@v > a/@v + 1000000]",
    "all bindings": r"return $W@v from /r/$W (\$X)* (\$Y)* where $X@v + $Y@v > -1 + $W@v - $W@v",
    "walks": r"return count($Y) from /r/$X/parent::*/$Y/parent::*/$Z where $Y@v + $X@v + $Z@v < 0",
}


def document(elements: int) -> bytes:
    return b"<r>" + b"".join(b'<a v="%d"/>' % number for number in range(elements)) + b"</r>"


@pytest.mark.parametrize("query", SLOW.values(), ids=SLOW)
def test_a_limit_of_time(query: str) -> None:
    compiled = ost.xseq(query)
    compiled.detect(document(2))  # compiles
    began = time.monotonic()
    with pytest.raises(ost.LimitError, match="the call took longer than the limit") as told:
        compiled.detect(document(40_000), limits=XSeqLimits(seconds=0.3))
    assert time.monotonic() - began < 3
    assert told.value.limit == "seconds" and "XSeqLimits(seconds=" in str(told.value)


@pytest.mark.parametrize("query", SLOW.values(), ids=SLOW)
def test_a_query_can_be_interrupted(query: str) -> None:
    compiled = ost.xseq(query)
    compiled.detect(document(2))
    before = signal.signal(signal.SIGALRM, _interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            compiled.detect(document(40_000))
        assert time.monotonic() - began < 3
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


QUERIES = [
    *SLOW.values(),
    "//r[a/@v + a/@v = 11 and a/@v * a/@v = 30]/a[@v > 3]",
    "//a[following-sibling::a/@v = preceding-sibling::a/@v + 2]",
    r"return $W@v, count($X) from /r/$W (\$X)* (\$Y)* where $X@v < $Y@v and $W@v > 1",
    "return $X@v, $Y@v from //$X/parent::*//$Y where $Y@v > $X@v",
    r"return $X@v, last($Y)@v from /r/$X (\$Y)* where $Y@v > $X@v",
]


@pytest.mark.parametrize("query", QUERIES)
def test_pauses_change_nothing(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = ost.xseq(query)
    wanted = compiled.detect(document(7))
    for module in (evaluator, forest):
        monkeypatch.setattr(module, "PAUSE", 3)
    assert compiled.detect(document(7)) == wanted


def test_time_is_of_the_call_not_of_a_document() -> None:
    compiled = ost.xseq(SLOW["one check"])
    with pytest.raises(ost.LimitError, match="the call took longer than the limit"):
        compiled.detect(pa.array([document(40_000)] * 2), limits=XSeqLimits(seconds=0.3), on_error="collect")


@pytest.mark.parametrize("seconds", [0, -1, "1", True])
def test_what_is_no_time(seconds: Any) -> None:
    with pytest.raises(ost.OstinatoError, match="a number of seconds above 0"):
        XSeqLimits(seconds=seconds)
