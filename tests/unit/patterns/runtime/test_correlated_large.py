"""Conditions between events where streams, matches or answers are large: state, chunks of output, limits."""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import ostinato as ost
from ostinato.patterns.semantics.srem import detect
from ostinato.patterns.syntax.srem.parse import parse
from support.correlated import PAIR, found

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("condition", ["x.s = y.s", "x.s = y.t", "x.s < y.s AND x.n = y.n", "lower(x.s) = y.t"])
def test_many_different_texts(condition: str) -> None:
    """A million of them, and state is that of a window."""
    engine = ost.cel(f"{PAIR} {condition} WITHIN 50 EVENTS").engine()
    sizes = []
    for batch in range(100):
        texts = np.char.zfill(np.arange(10_000 * batch, 10_000 * (batch + 1)).astype(str), 12)
        engine.push(pa.table({"s": texts, "t": texts[::-1], "n": np.arange(10_000)}))
        sizes.append(engine.stats().bytes)
    assert max(sizes[50:]) <= max(sizes[:10])


@pytest.mark.parametrize(
    "text",
    [
        f"{PAIR} x.s < y.s AND x.v = y.v PARTITION BY k WITHIN 20 seconds",
        f"SELECT x.v AS v WHERE {PAIR} x.s < y.s AND x.v = y.v WITHIN 2 seconds",
        f"({PAIR} x.s = y.t) OR ({PAIR} x.v = y.v) WITHIN 20 EVENTS",
        f"SELECT LAST * WHERE {PAIR} x.s < y.t AND x.v = y.v WITHIN 20 EVENTS",
        "ANY AS x ; (NOT ANY AS n FILTER n.v = x.v) WITHIN 1 seconds",
        "(ANY AS x ; (NOT ANY AS n FILTER n.t > x.s) ; ANY AS y) FILTER x.v != y.v WITHIN 5 EVENTS",
        f"SELECT STRICT * WHERE {PAIR} x.s < y.t",
        f"{PAIR} x.s = y.t WITHIN 50 EVENTS CONSUME BY ANY",
    ],
)
def test_small_batches_of_what_never_comes_again(text: str) -> None:
    engine = ost.cel(text).engine()
    sizes = []
    for batch in range(200):
        number = np.arange(500 * batch, 500 * (batch + 1))
        texts = np.char.zfill(number.astype(str), 12)
        keys = np.char.add("key", texts)
        engine.push(pa.table({"s": texts, "t": texts[::-1], "k": keys, "v": number % 1000, "ts": number // 100}))
        sizes.append(engine.stats().bytes)
    assert max(sizes[100:]) <= max(sizes[:100])


def test_many_keys() -> None:
    text = "(ANY AS x ; ANY AS y) FILTER x.v < y.v PARTITION BY k WITHIN 10 seconds"
    engine = ost.cel(text).engine()
    sizes, matches = [], 0
    for batch in range(40):
        keys = np.arange(5000 * batch, 5000 * (batch + 1))
        rows = {"k": np.repeat(keys, 2), "ts": np.repeat(keys // 100, 2), "v": np.tile([0, 1], 5000)}
        matches += len(engine.push(pa.table(rows)))
        sizes.append(engine.stats().bytes)
    assert matches == 200_000
    assert max(sizes[20:]) <= max(sizes[:10])


def test_runs_that_expired_do_not_come_back() -> None:
    """After many collections an old run's place is taken by others."""
    count = 20_000
    rows = pa.table({"v": np.arange(count) % 7, "w": (np.arange(count) * 5 + 3) % 7})
    matches = found(f"{PAIR} x.v = y.w WITHIN 4 EVENTS", rows)
    v, w = rows["v"].to_pylist(), rows["w"].to_pylist()
    assert matches == [(i, j) for i in range(count) for j in range(i + 1, min(i + 4, count)) if v[i] == w[j]]


def test_a_match_longer_than_a_chunk_of_output() -> None:
    length = (1 << 17) + 3  # the room for output is smaller than eight of these
    rows = pa.table({"type": ["A"] + ["C"] * length + ["B"] * 10, "v": np.arange(length + 11)})
    answer = ost.cel("A AS x : (C AS z FILTER z.v > x.v):+ ; B AS y FILTER y.v > x.v").detect(rows.slice(0, 1 + 3000))
    assert len(answer) == 0
    query = ost.cel("SELECT MAX * WHERE (A AS x : (C AS z FILTER z.v > x.v):+ : B AS y) FILTER y.v > x.v")
    (match,) = query.detect(rows)["positions"].to_pylist()
    assert match == list(range(length + 2))


def test_more_matches_of_one_event_than_fit_a_chunk() -> None:
    count = 3_000_000
    v = np.r_[np.arange(count) % 1000, 999]
    rows = pa.table({"type": pa.array(["A", "B"]).take(np.r_[np.zeros(count, int), 1]), "v": v})
    query = ost.cel("(A AS x ; B AS y) FILTER x.v < y.v")
    assert query.count(rows) == np.count_nonzero(v[:-1] < 999)
    matches = query.detect(rows)
    assert np.array_equal(np.sort(matches["start"].to_numpy()), np.flatnonzero(v[:-1] < 999))
    assert matches["end"].unique().to_pylist() == [count]


def test_a_chunk_fills_between_two_branches() -> None:
    count = 400_000
    types = pa.array(["A", "C", "B"]).take(np.r_[np.zeros(count, int), np.ones(count, int), 2, 2])
    rows = pa.table({"type": types, "v": np.r_[np.arange(count), np.arange(count), count, count]})
    pattern = "((A AS x ; B AS y) FILTER x.v < y.v) OR ((C AS x ; B AS y) FILTER x.v < y.v)"
    for clause, ends in (("", [2 * count, 2 * count + 1]), ("CONSUME BY ANY", [2 * count])):
        query = ost.cel(f"{pattern} {clause}")
        assert query.count(rows) == 2 * count * len(ends)
        matches = pa.concat_tables(query.engine().push_each(rows))
        for end in ends:
            ending = matches.filter(pc.equal(matches["end"], end))
            assert np.array_equal(np.sort(ending["start"].to_numpy()), np.arange(2 * count))


def test_one_event_moves_very_many_runs() -> None:
    """Room for runs and for nodes has to be made in the middle of an event."""
    count = 50_000
    rows = pa.table({"type": ["A"] * count + ["B", "C"], "v": np.r_[np.arange(count), count, 2 * count - 10]})
    text = "(A AS x ; B AS y ; C AS z) FILTER x.v < y.v AND x.v + y.v > z.v"
    assert found(text, rows) == [(at, count, count + 1) for at in range(count - 9, count)]


def test_limits() -> None:
    rows = pa.table({"v": np.arange(100_000)})
    text = f"{PAIR} x.v + 1 = y.v"
    with pytest.raises(ost.LimitError, match="matches=10"):
        ost.cel(text).detect(rows, limits=ost.Limits(matches=10))
    with pytest.raises(ost.LimitError, match="memory"):
        ost.cel(text).detect(rows, limits=ost.Limits(memory=1_000_000))
    assert ost.cel(f"{text} WITHIN 2 EVENTS").count(rows, limits=ost.Limits(memory=3_000_000)) == 99_999
    with pytest.raises(ost.LimitError, match="matches=10"):
        ost.cel(f"SELECT LAST * WHERE {PAIR} x.v < y.v").detect(rows.slice(0, 100), limits=ost.Limits(matches=10))


def test_the_limit_is_on_what_is_returned() -> None:
    rows = pa.table({"v": range(50)})
    limits = ost.Limits(matches=100)
    assert len(ost.cel(f"SELECT LAST * WHERE {PAIR} x.v < y.v").detect(rows, limits=limits)) == 49


def test_segments_found_in_very_many_ways() -> None:
    """As many ways as there are sets of equal events between; each segment costs what one does."""
    text = "true -> r . (true* . [a = r.a] -> r)* . [a > r.a] -> q . true* . [a < q.a]"
    values = np.random.default_rng(5).integers(0, 4, 300)
    rows = [{"a": int(value)} for value in values]
    query = ost.srem(text)
    few = detect(parse(text), rows[:24])
    assert sorted(map(tuple, query.detect(rows[:24])["positions"].to_pylist())) == sorted(few)
    began = time.monotonic()
    found = query.detect(rows)
    assert 1000 < len(found) == query.count(rows)
    engine = query.engine()
    assert sum(len(engine.push(rows[at : at + 37])) for at in range(0, 300, 37)) == len(found)
    assert time.monotonic() - began < 30


@pytest.mark.parametrize("strategy", ["NXT", "LAST"])
def test_the_best_match_is_not_lost_where_it_needs_more_room(strategy: str) -> None:
    query = ost.cel(f"SELECT {strategy} * WHERE A AS x ; (A AS y FILTER y.v >= x.v)+ ; B")
    for size in range(506, 516):
        rows = pa.table({"type": ["A"] * size + ["B"], "v": [0] * (size + 1)})
        assert query.detect(rows)["positions"].to_pylist() == [list(range(size + 1))]
