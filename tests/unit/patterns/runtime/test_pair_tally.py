"""Two events that one inequality or band compares are counted by their ranks."""

from __future__ import annotations

import itertools
import math
import operator
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


BANDS = ["abs(x.v - y.v) < 2", "2 >= abs(y.v - x.v)"]
BANDS += ["abs(y.f - x.f) <= 0.25", "0.5 > abs(x.f - y.f)", "abs(x.f - y.f) < 1"]


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("band", BANDS)
def test_bands_have_as_many_as_are_listed(band: str, window: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pair_tally, "_FEW", 20)
    monkeypatch.setattr(pair_tally, "_WIDE", 0)
    for seed, formula in enumerate(("A AS x ; B AS y", "ANY AS x ; ANY AS y FILTER x.k = y.k")):
        query = ost.cel(f"({formula}) FILTER {band} {window}")
        rows = sample(seed)
        listed = len(query.detect(rows, time="ts"))
        assert query.count(rows, time="ts") == listed
        counter = Counter(query.engine(time="ts"))
        for at in range(0, len(rows), 11):
            counter.push(rows.slice(at, 11))
        assert isinstance(counter._tally, pair_tally.PairTally) or "x.k" in formula
        assert counter.total() == listed


EDGES: dict[str, tuple[list[float], float]] = {
    "floats": ([0.1 * step for step in range(40)] + [math.inf, -math.inf, math.nan, -0.0, 1e308, -1e308], 0.3),
    "whole numbers": ([-(2**63), -(2**63) + 1, 2**63 - 1, 2**63 - 2, 0, 1, -1, 2**62], 1),
    "far apart": ([-(2**63), -(2**63) + 1, 2**63 - 1, 2**63 - 2, 0, 1, -1, 2**62], 2**62),
}


@pytest.mark.parametrize("name", EDGES)
@pytest.mark.parametrize("op", ["<", "<="])
def test_bands_of_numbers_at_the_edges(name: str, op: str) -> None:
    values, width = EDGES[name]
    values = random.Random(7).sample([*values, *values], 2 * len(values))
    rows = pa.table({"type": ["A"] * len(values), "v": values})
    counter = Counter(ost.cel(f"A AS x ; A AS y FILTER abs(x.v - y.v) {op} {width}").engine())
    counter.push(rows)
    assert isinstance(counter._tally, pair_tally.PairTally)
    near = operator.lt if op == "<" else operator.le
    pairs = itertools.combinations(values, 2)
    assert counter.total() == sum(near(abs(one - other), width) for one, other in pairs)


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        ("A AS x ; B AS y FILTER x.v < y.v", True),
        ("A AS x ; B AS y FILTER x.k = y.k AND x.v < y.v", True),
        ("A AS x ; B AS y FILTER x.v < y.v WITHIN 1000 EVENTS", True),
        ("A AS x ; B AS y FILTER x.v < y.v WITHIN 100 EVENTS", False),
        ("A AS x ; B AS y FILTER x.v < y.f", False),
        ("A AS x ; B AS y FILTER abs(x.f - y.f) < 0.5", True),
        ("A AS x ; B AS y FILTER abs(x.f - y.f) > 0.5", False),
        ("A AS x ; B AS y FILTER abs(x.f - y.f) < y.f", False),
        ("A AS x ; B AS y FILTER abs(x.v - y.f) < 1", False),
        ("A AS x ; B AS y FILTER abs(x.v - y.v) < 1.5", False),
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
