"""An engine names all kernels that it may run, so that they can be sent to the workers of a cluster."""

from __future__ import annotations

import pytest

import ostinato as ost
from ostinato.core.jit.mode import INTERPRETED
from ostinato.patterns.compile import compile_text
from ostinato.patterns.runtime.engine import Engine
from ostinato.patterns.runtime.state import EngineOptions
from support.kernel_calls import note_calls

EVENTS = [{"type": "ABC"[place * place % 3], "v": place * 7 % 5, "k": place % 4} for place in range(300)]
TEXTS = [
    "A AS x ; B AS y PARTITION BY k WITHIN 6 EVENTS",
    "SELECT NXT * WHERE A AS x ; B AS y + WITHIN 6 EVENTS",
    "SELECT LAST * WHERE A AS x ; B AS y WITHIN 6 EVENTS",
    "SELECT MAX * WHERE A AS x ; B AS y + WITHIN 6 EVENTS",
    "SELECT STRICT * WHERE A AS x ; B AS y",
    "A AS x ; B AS y FILTER x.v < y.v WITHIN 6 EVENTS",
    "A AS x ; B AS y FILTER x.v + 1 < y.v * 2 WITHIN 6 EVENTS",
    "SELECT NXT * WHERE A AS x ; B AS y FILTER x.v < y.v WITHIN 6 EVENTS",
    "SELECT MAX * WHERE A AS x ; (B AS y FILTER x.v < y.v)+ WITHIN 6 EVENTS",
    "SELECT x.v, count(y) WHERE A AS x ; B AS y + ; A WITHIN 6 EVENTS",
    "(A AS x FILTER count(x) = 0 OR x.v > prev(x.v))+ WITHIN 6 EVENTS",
    "SELECT LAST * WHERE (A AS x FILTER count(x) = 0 OR x.v > prev(x.v))+ WITHIN 6 EVENTS",
]


@pytest.mark.skipif(INTERPRETED, reason="there are none")
@pytest.mark.parametrize("text", TEXTS)
def test_no_others_run(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(compile_text(text, "cel"), EngineOptions({"time": None, "type": None, "order_by": ()}))
    rows = ost.cel(text).detect(EVENTS).num_rows  # all kernels are known now
    called = note_calls("ostinato.patterns", monkeypatch)
    found = sum(len(engine.push(EVENTS[place : place + 10])) for place in range(0, len(EVENTS), 10))
    engine.matcher.compact(0)
    engine.matcher.live_keys()
    restored = Engine.restore(engine.snapshot())
    assert len(restored.flush()) + found == rows > 0
    assert engine.matcher.KERNEL in called
    assert called <= set(engine.kernels)
