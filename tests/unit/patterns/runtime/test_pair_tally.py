"""Two events that one inequality compares are counted by their ranks."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.patterns.runtime import pair_tally
from ostinato.patterns.runtime.count import Counter

WINDOWS = ["", "WITHIN 9 EVENTS", "PARTITION BY k", "PARTITION BY k WITHIN 4 EVENTS", "WITHIN 7 seconds"]
WINDOWS += ["PARTITION BY k WITHIN 7 seconds", "WITHIN 6 ON v2", "PARTITION BY k WITHIN 6 ON v2"]


def sample(seed: int, size: int = 120) -> pa.Table:
    chance = random.Random(seed)
    return pa.table(
        {
            "type": [chance.choice("ABC") for _ in range(size)],
            "ts": sorted(chance.randrange(size) for _ in range(size)),
            "v2": sorted(chance.randrange(size) for _ in range(size)),
            "k": [chance.randrange(3) for _ in range(size)],
            "v": [chance.choice((1, 2, 3, 4, None)) for _ in range(size)],
            "f": [chance.choice((0.0, -0.0, 1.5, float("nan"), None, chance.random())) for _ in range(size)],
            "text": [chance.choice("pqr") for _ in range(size)],
        }
    )


def tally_of(text: str) -> Any:
    counter = Counter(ost.cel(text).engine(time="ts"))
    counter.push(sample(1))
    return counter._tally


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("op", ["<", "<=", ">", ">="])
@pytest.mark.parametrize("formula", ["A AS x ; B AS y", "ANY AS x ; ANY AS y FILTER x.k = y.k"])
def test_as_many_as_are_listed(formula: str, op: str, window: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_tally, "_FEW", 20)
    monkeypatch.setattr(pair_tally, "_WIDE", 0)
    for seed, terms in enumerate(("x.v {} y.v", "y.f {} x.f", "x.f {} y.f + 0.25")):
        query = ost.cel(f"({formula}) FILTER {terms.format(op)} {window}")
        rows = sample(seed)
        listed = len(query.detect(rows, time="ts"))
        assert query.count(rows, time="ts") == listed
        counter = Counter(query.engine(time="ts"))
        for at in range(0, len(rows), 11):
            counter.push(rows.slice(at, 11))
        assert counter.total() == listed


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        ("A AS x ; B AS y FILTER x.v < y.v", True),
        ("A AS x ; B AS y FILTER x.k = y.k AND x.v < y.v", True),
        ("A AS x ; B AS y FILTER x.v < y.v WITHIN 1000 EVENTS", True),
        ("A AS x ; B AS y FILTER x.v < y.v WITHIN 100 EVENTS", False),
        ("A AS x ; B AS y FILTER x.v < y.f", False),
        ("A AS x ; B AS y FILTER x.v + 1 < y.v", False),  # may be beyond 64 bits
        ("A AS x ; B AS y FILTER x.text < y.text", False),
        ("A AS x : B AS y FILTER x.v < y.v", False),
        ("A AS x ; NOT C ; B AS y FILTER x.v < y.v", False),
        ("A AS x ; (B AS y FILTER x.v < y.v)+", False),
        ("A AS x ; B AS y FILTER x.v < y.v CONSUME BY ANY", False),
        ("SELECT LAST * WHERE A AS x ; B AS y FILTER x.v < y.v", False),
    ],
)
def test_which_are_counted_so(text: str, counted: bool) -> None:
    assert isinstance(tally_of(text), pair_tally.PairTally) == counted
