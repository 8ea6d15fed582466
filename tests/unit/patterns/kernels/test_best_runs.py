"""NXT and LAST over compared events: runs keep one partial match each, and needless runs are dropped."""

from __future__ import annotations

import random
from typing import Any

import pytest

import ostinato as ost
from ostinato.patterns.kernels import protocol
from ostinato.patterns.runtime.correlated import Correlated

QUERIES = [
    "A AS x ; B AS y FILTER x.f < y.f",
    "A AS x ; B AS y ; C AS z FILTER x.f < z.f AND x.v >= z.v",
    "A AS x ; (B AS y FILTER y.f > x.f)+ ; C AS z",
    "A AS x ; (B AS y FILTER y.v > x.v)+ ; C AS z FILTER x.k = z.k",
    "A AS x ; (NOT B AS q FILTER q.v > x.v) ; C AS z FILTER x.f < z.f",
    "ANY AS x ; (ANY AS y FILTER x.v != y.v)+ ; ANY AS z",
    "A AS x ; B AS y FILTER abs(x.f - y.f) < 0.2",
]
WINDOWS = ["", "WITHIN 12 EVENTS", "WITHIN 60 EVENTS", "PARTITION BY k WITHIN 9 seconds", "CONSUME BY ANY"]


def sample(seed: int, size: int = 150) -> list[dict[str, Any]]:
    chance = random.Random(seed)

    def maybe(value: float) -> float | None:
        return chance.choice((value,) * 9 + (None,))

    times = sorted(chance.randrange(size // 2) for _ in range(size))
    return [
        {
            "type": chance.choice("ABC"),
            "ts": ts,
            "f": maybe(chance.choice((chance.random(), float("nan"))) if chance.random() < 0.1 else chance.random()),
            "v": maybe(chance.randrange(4)),
            "k": chance.randrange(3),
        }
        for ts in times
    ]


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("text", QUERIES)
@pytest.mark.parametrize("strategy", ["NXT", "LAST"])
def test_the_same_as_choosing_late(strategy: str, text: str, window: str, monkeypatch: pytest.MonkeyPatch) -> None:
    query = ost.cel(f"SELECT {strategy} * WHERE {text} {window}")
    rows = sample(len(text) + len(window))
    found = query.detect(rows, time="ts").to_pylist()
    engine = query.engine(time="ts")
    pushed = [row for at in range(0, len(rows), 13) for row in engine.push(rows[at : at + 13]).to_pylist()]
    assert [*pushed, *engine.flush().to_pylist()] == found
    build = Correlated.__init__

    def labelled(self: Correlated, *args: Any, **options: Any) -> None:
        build(self, *args, **options | {"labelled": True})

    monkeypatch.setattr(Correlated, "__init__", labelled)
    assert query.detect(rows, time="ts").to_pylist() == found


@pytest.mark.parametrize(("strategy", "step"), [("NXT", 1), ("LAST", -1)])
def test_needless_runs_are_dropped(strategy: str, step: int) -> None:
    """The first x that is less than all later ones beats them under NXT, the last that is less than all earlier ones
    under LAST."""
    engine = ost.cel(f"SELECT {strategy} * WHERE A AS x ; B AS y FILTER x.v < y.v").engine()
    rows = [{"type": "A", "v": v} for v in range(10)[::step]]
    engine.push(rows)
    assert engine.push([{"type": "B", "v": 99}])["positions"].to_pylist() == [[0 if strategy == "NXT" else 9, 10]]
    matcher = engine.matcher
    assert isinstance(matcher, Correlated)
    matcher.compact(protocol.FOREVER)
    assert matcher.used.shape[1] == 1
