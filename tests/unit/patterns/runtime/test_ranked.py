"""NXT and LAST within a window: against replaying the window, over long streams, many keys and long matches."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.patterns.compile import CompiledPattern
from ostinato.patterns.runtime import matcher as matcher_module
from ostinato.patterns.runtime import ranked as ranked_module
from ostinato.patterns.runtime.direct import Direct
from ostinato.patterns.runtime.engine import Engine
from ostinato.patterns.runtime.ranked import Ranked
from ostinato.patterns.runtime.replay import Replayed

PATTERNS = (
    "A AS x ; B AS y ; C AS z",
    "((A AS x)+ ; B AS y)+ ; C AS z",
    "(A AS x : B AS y) OR (ANY AS u ; C AS v)",
    "A AS x ; NOT B AS n ; C AS y",
    "(A AS x OR (A AS y ; B AS z))+ ; (C AS u OR B AS v)",
    "A AS x ; B AS y : ANY AS z FILTER x.k = y.k AND x.k = z.k",
)


def stream(rng: random.Random, count: int, keys: int = 3) -> pa.Table:
    times = np.cumsum([rng.choice([0, 1, 1, 2, 5]) for _ in range(count)])
    types = [rng.choice("AABBCDE") for _ in range(count)]
    return pa.table({"type": types, "ts": times, "k": [rng.randrange(keys) for _ in range(count)]})


def positions(tables: list[pa.Table]) -> list[tuple[int, ...]]:
    return [tuple(found) for table in tables for found in table["positions"].to_pylist()]


def replayed(text: str, events: pa.Table) -> list[tuple[int, ...]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CompiledPattern, "ranked", False)
        engine = ost.cel(text).engine()
        found = positions([engine.push(events), engine.flush()])
    assert type(engine.matcher) is Replayed
    return found


def ranked(engine: Engine) -> Ranked:
    assert isinstance(engine.matcher, Ranked)
    return engine.matcher


@pytest.mark.slow
@pytest.mark.parametrize("max_states", [1000, 2, 4])
def test_joining_halves_is_replaying_the_window(monkeypatch: pytest.MonkeyPatch, max_states: int) -> None:
    """Whatever the batches and restarts; with few states allowed, replaying takes over in the middle of a stream."""
    monkeypatch.setattr(ranked_module, "MAX_STATES", max_states)
    rng = random.Random(max_states)
    for pattern in PATTERNS * 6:
        window = rng.choice([f"{rng.randint(1, 15)} EVENTS", f"{rng.randint(1, 20)} seconds"])
        partition = rng.choice(["", " PARTITION BY k"]) if "FILTER" not in pattern else ""
        consume = rng.choice(["", "", " CONSUME BY ANY", " CONSUME BY PARTITION"])
        text = f"SELECT {rng.choice(['NXT', 'LAST'])} * WHERE {pattern}{partition} WITHIN {window}{consume}"
        events = stream(rng, 120)
        engine = ost.cel(text).engine()
        found = []
        for begin in range(0, 120, 17):
            found.append(engine.push(events.slice(begin, 17)))
            if rng.random() < 0.3:
                engine = Engine.restore(engine.snapshot())
        found.append(engine.flush())
        assert positions(found) == replayed(text, events), text
        if max_states == 1000:
            assert ranked(engine).joins is not None


@pytest.mark.parametrize("strategy", ["NXT", "LAST"])
@pytest.mark.parametrize("window", ["500 EVENTS", "500 seconds"])
def test_memory_is_flat_over_a_long_stream(strategy: str, window: str) -> None:
    engine = ost.cel(f"SELECT {strategy} * WHERE (A AS x)+ ; B AS y ; C AS z WITHIN {window}").engine()
    sizes, matches = [], 0
    for batch in range(40):
        rng = np.random.default_rng(batch)
        types = pa.array(rng.choice(list("ABCDE"), 5000).tolist())
        times = np.arange(5000 * batch, 5000 * (batch + 1))
        matches += len(engine.push(pa.table({"type": types, "ts": times})))
        sizes.append(engine.matcher.bytes)
    assert max(sizes[5:]) == sizes[4] < 2_000_000
    assert matches > 39_000 and engine.matcher.live <= 1024
    assert len(engine.history.kept_positions) <= 15_000


def test_keys_that_fall_silent_are_forgotten() -> None:
    engine = ost.cel("SELECT NXT * WHERE A AS x ; B AS y PARTITION BY k WITHIN 10 seconds").engine()
    for batch in range(50):
        places = np.arange(2000 * batch, 2000 * (batch + 1))
        engine.push(pa.table({"type": ["A"] * 2000, "ts": places // 100, "k": places // 250}))
    assert len(ranked(engine).state.records) <= 4096
    assert len(engine.push([{"type": "B", "ts": 1000, "k": 399}])) == 1


def test_many_keys_at_once() -> None:
    keys = 50_000
    order = np.random.default_rng(1).permutation(np.tile(np.arange(keys), 6))
    turn = np.argsort(np.argsort(order, kind="stable"), kind="stable") % 6  # how many events its key had before
    events = pa.table({"type": np.array(list("AABABC"))[turn], "k": order})
    for strategy, want in (("NXT", [0, 2, 5]), ("LAST", [3, 4, 5])):
        text = f"SELECT {strategy} * WHERE A AS x ; B AS y ; C AS z PARTITION BY k WITHIN 6 EVENTS"
        found = ost.cel(text).detect(events)
        assert found["k"].to_pylist() == order[turn == 5].tolist()
        places = np.array(found["positions"].to_pylist())
        assert (turn[places] == want).all() and (order[places] == order[places[:, :1]]).all()


def test_a_match_longer_than_the_output(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matcher_module, "_CHUNK_VALUES", 64)
    text = "SELECT NXT * WHERE (A AS x)+ ; B AS y WITHIN 5000 EVENTS"
    letters = "A" * 3000 + "B" + "A" * 4000 + "BB"
    found = positions([ost.cel(text).detect(pa.table({"type": list(letters)}))])
    assert [(len(match), match[0], match[-1]) for match in found] == [
        (3001, 0, 3000),
        (4999, 2002, 7001),
        (4998, 2003, 7002),
    ]
    assert found[1] == (*range(2002, 3000), *range(3001, 7002))


def test_more_states_than_are_worth_it_end_in_replay() -> None:
    names = "ABCDEFGHIJ"
    text = "SELECT NXT * WHERE " + " ; ".join(f"{name} AS {name.lower()}" for name in names) + " WITHIN 200 EVENTS"
    types = np.random.default_rng(2).choice(list(names), 2000).tolist()
    events = pa.table({"type": types})
    engine = ost.cel(text).engine(limits=ost.Limits(states=50))
    found = positions([engine.push(events.slice(0, 1000)), engine.push(events.slice(1000)), engine.flush()])
    assert ranked(engine).joins is None and engine.stats().states <= 50
    assert found == replayed(text, events) != []


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        ("SELECT NXT * WHERE A AS x ; B AS y WITHIN 9 EVENTS", Ranked, "two halves"),
        ("SELECT LAST * WHERE A AS x ; B AS y WITHIN 9 EVENTS", Ranked, "two halves"),
        ("SELECT LAST x WHERE A AS x ; B AS y WITHIN 9 EVENTS", Replayed, "replayed"),
        ("SELECT MAX * WHERE A AS x ; B+ WITHIN 9 EVENTS", Replayed, "replayed"),
        ("SELECT NXT * WHERE A AS x ; B AS y", Direct, "total preorder"),
    ],
)
def test_explain_says_how(text: str, kind: type[Any], said: str) -> None:
    engine = ost.cel(text).engine()
    engine.push([{"type": "A"}])
    assert type(engine.matcher) is kind
    assert said in ost.cel(text).explain()
