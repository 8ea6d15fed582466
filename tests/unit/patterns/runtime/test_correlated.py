"""Conditions between events in every formula and clause, through the public API."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.patterns.kernels.best_runs import run_best
from ostinato.patterns.kernels.correlated import run_correlated
from ostinato.patterns.kernels.correlated_variants import run_choosing, run_programs
from ostinato.patterns.runtime.engine import Engine
from ostinato.patterns.semantics.cel import evaluate
from ostinato.patterns.syntax.cel.parse import parse
from support.correlated import agrees, positions, pushed


def sample(seed: int, size: int = 9) -> pa.Table:
    chance = random.Random(seed)
    return pa.table({
        "type": [chance.choice("AAB") for _ in range(size)],
        "ts": sorted(chance.randint(0, 2 * size) for _ in range(size)),
        "k": [chance.choice((1, 2, None)) for _ in range(size)],
        "km": sorted(chance.randint(0, 12) for _ in range(size)),
        "v": [chance.choice((0, 1, 2, 3, None)) for _ in range(size)],
        "w": [chance.choice((0.0, 1.0, 2.0, 3.0)) for _ in range(size)],
        "s": [chance.choice(("a", "b", "c")) for _ in range(size)],
    })  # fmt: skip


FORMULAS = [
    "(A AS x ; B AS y) FILTER x.v < y.w",
    "(A AS x ; B AS y) FILTER x.s = y.s",
    "(A AS x : ANY AS y) FILTER x.s != y.s",
    "(A AS x ; (ANY AS z FILTER z.v > x.v)+ ; B AS y) FILTER x.s <= y.s",
    "A AS x ; (ANY AS z FILTER z.v >= x.v):+",
    "(A AS x ; (ANY AS u : ANY AS w FILTER u.w = w.v OR u.s = x.s)+) FILTER x.w >= 0",
    "((A AS x ; B AS y) OR (B AS y ; A AS x)) FILTER x.v <= y.v",
    "((A AS x ; B AS y) FILTER x.v < y.v) OR ((A AS x ; B AS y) FILTER x.s = y.s)",
    "(A AS x ; (NOT ANY AS n FILTER n.v > x.v) ; ANY AS y) FILTER x.s != y.s",
    "A AS x ; ((A AS y FILTER x.v = y.v) OR (B AS y FILTER x.v < y.v))",
]
CLAUSES = [
    "",
    "WITHIN 4 EVENTS",
    "WITHIN 5 seconds",
    "WITHIN 0 seconds",
    "WITHIN 3 ON km",
    "PARTITION BY k",
    "PARTITION BY k WITHIN 3 EVENTS",
    "PARTITION BY k WITHIN 4 ON km",
    "CONSUME BY ANY",
    "PARTITION BY k CONSUME BY PARTITION",
    "PARTITION BY k CONSUME BY ANY WITHIN 6 seconds",
]


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["ALL", "NXT", "LAST", "MAX", "STRICT"])
@pytest.mark.parametrize("formula", FORMULAS)
def test_strategies_and_clauses(formula: str, strategy: str) -> None:
    some = [
        agrees(f"SELECT {strategy} * WHERE {formula} {clauses}", sample(seed)) for seed, clauses in enumerate(CLAUSES)
    ]
    assert any(some)


@pytest.mark.parametrize("clauses", CLAUSES)
@pytest.mark.parametrize(
    "pattern",
    [
        "((A AS x ; B AS y) FILTER x.v < y.v) OR ((A AS x ; B AS z) FILTER x.s = z.s)",
        "(A AS x ; (ANY AS z FILTER z.w >= x.w)+ ; ANY AS y) FILTER y.s != x.s",
        "(ANY AS y ; ANY AS z ; ANY AS x) FILTER y.v < x.v AND z.v <= x.v",
    ],
)
def test_hidden_variables(pattern: str, clauses: str) -> None:
    """Each distinct answer once, though the pattern finds it in several ways."""
    for seed in range(3):
        rows = sample(seed, 8).append_column("n", pa.array(range(8)))
        text = f"SELECT x.n AS x WHERE {pattern} {clauses}"
        labelled = evaluate(parse(text), rows.to_pylist(), time="ts").labelled(["x"])
        expected = sorted(labels["x"][0] for labels in labelled)
        assert sorted(ost.cel(text).detect(rows)["x"].to_pylist()) == expected
        assert ost.cel(text).count(rows) == len(expected)


def test_the_same_complex_event_is_found_once() -> None:
    twice = "((ANY AS x ; ANY AS y) FILTER x.v < y.v) OR ((ANY AS y ; ANY AS x) FILTER x.v >= y.v OR x.w < y.w)"
    for seed in range(5):
        for strategy in ("ALL", "NXT", "LAST", "MAX"):
            matches = agrees(f"SELECT {strategy} * WHERE {twice}", sample(seed))
            assert len(matches) == len(set(matches))


def test_labels_tell_matches_of_the_same_events_apart() -> None:
    """(x, y) = (0, 1) and (1, 0) are one complex event, and two answers where both are shown."""
    both = "((ANY AS x ; ANY AS y) OR (ANY AS y ; ANY AS x)) FILTER x.v <= y.v"
    rows = pa.table({"v": [5, 5]})
    assert agrees(both, rows) == [(0, 1)]
    shown = ost.cel(f"SELECT x.n AS x, y.n AS y WHERE {both}").detect(pa.table({"v": [5, 5], "n": [0, 1]})).to_pylist()
    assert sorted((row["x"], row["y"]) for row in shown) == [(0, 1), (1, 0)]


def test_absence_between() -> None:
    for seed in range(6):
        for absent in ("(NOT ANY AS n FILTER n.v = x.v)", "(NOT B AS n FILTER n.v < x.v OR n.s = x.s)", "(NOT B AS n)"):
            for strategy in ("ALL", "LAST"):
                agrees(f"SELECT {strategy} * WHERE A AS x ; {absent} ; ANY AS y FILTER x.w <= y.w", sample(seed))
        agrees(
            "(A AS x ; A AS z ; (NOT B AS n FILTER n.v > x.v AND n.w > z.w) ; ANY AS y) FILTER x.v <= y.v", sample(seed)
        )


@pytest.mark.slow
def test_absence_at_the_end() -> None:
    pattern = "(A AS x ; ANY AS y) FILTER x.w <= y.w"
    for seed in range(3):
        for absent in (
            "NOT B AS n FILTER n.v = x.v",
            "NOT ANY AS n FILTER n.s < y.s AND n.w > x.w",
            "NOT B AS n FILTER n.v > 1",
        ):
            for strategy in ("ALL", "NXT", "LAST", "MAX"):
                for partition in ("", "PARTITION BY k"):
                    agrees(
                        f"SELECT {strategy} * WHERE ({pattern}) ; ({absent}) WITHIN 6 seconds {partition}", sample(seed)
                    )


def test_absence_at_the_end_of_texts_and_mixed_numbers() -> None:
    rows = pa.table({
        "type": ["A", "A", "B", "A", "B"],
        "ts": [0, 1, 2, 30, 31],
        "s": pa.array(["p", "q", "p", "p", "q"]).dictionary_encode(),
        "v": pa.array([1, 2, 9, 2, 5], pa.int8()),
        "f": [9.0, 9.0, 2.0, 9.0, 2.0],
    })  # fmt: skip
    assert agrees("A AS x ; (NOT B AS n FILTER n.s = x.s) WITHIN 5 seconds", rows) == [(1,), (3,)]
    assert agrees("A AS x ; (NOT B AS n FILTER n.f = x.v) WITHIN 5 seconds", rows) == [(0,)]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (pa.array([0.0, None]), pa.array([None, -0.0])),
        (pa.array([Decimal("0.3"), None], pa.decimal128(9, 1)), pa.array([None, Decimal("0.3")], pa.decimal128(9, 2))),
    ],
)
def test_absence_at_the_end_of_what_is_equal_in_another_form(ours: pa.Array, theirs: pa.Array) -> None:
    rows = pa.table({"type": ["A", "B"], "ts": [0, 1], "a": ours, "b": theirs})
    assert agrees("A AS x ; (NOT B AS n FILTER n.b = x.a) WITHIN 5 seconds", rows) == []


def test_absence_at_the_end_where_a_name_stands_in_two_scopes() -> None:
    with pytest.raises(ost.QueryError, match="different names"):
        ost.cel("A AS x ; (B AS x)+ ; (NOT C AS n FILTER n.v = x.v) WITHIN 5 seconds")


def test_a_name_in_two_scopes() -> None:
    """Below a + the same name is another event."""
    for seed in range(10):
        rows = sample(seed)
        agrees("(A AS x ; (ANY AS x FILTER x.v > 0)+ ; B AS y) FILTER x.w = y.w", rows)
        agrees("((A AS x)+ ; B AS x ; ANY AS y) FILTER x.w <= y.w", rows)
        agrees("((A AS x ; B AS y FILTER x.w <= y.w)+ ; A AS x ; ANY AS y) FILTER x.w >= y.w", rows)


def test_what_must_not_come_cannot_be_compared_with_what_comes_after() -> None:
    with pytest.raises(ost.QueryError, match="`y`"):
        ost.cel("A AS x ; (NOT C AS n FILTER n.v = y.v) ; B AS y")


# Life of an engine ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("formula", FORMULAS)
def test_events_out_of_order(formula: str) -> None:
    for seed in range(4):
        rows = sample(seed)
        rows = rows.set_column(1, "ts", pa.array(range(len(rows))))
        came = random.Random(seed).sample(range(len(rows)), len(rows))
        expected = agrees(formula, rows)
        answers = pushed(formula, rows.take(came), [2, 5, 6], lateness="100 seconds")
        assert sorted(tuple(came[at] for at in match) for match in answers) == expected


def test_a_restart_keeps_texts() -> None:
    """Runs hold texts that no row has any more."""
    text = "(A AS x ; ANY AS z ; B AS y) FILTER x.s = y.s AND x.s < z.s WITHIN 3000 EVENTS"
    engine = ost.cel(text).engine()
    engine.push([{"type": "A", "s": "käse"}, {"type": "A", "s": ""}, {"type": "E", "s": "lauch"}])
    for batch in range(20):
        engine.push([{"type": "E", "s": f"{batch} {n}"} for n in range(100)])
        engine = Engine.restore(engine.snapshot())
    answer = engine.push([{"type": "B", "s": "käse"}, {"type": "B", "s": ""}, {"type": "B", "s": "lauch"}])
    assert (0, 2, 2003) in positions(answer) and (1, 2, 2004) in positions(answer)
    assert all(match[-1] != 2005 for match in positions(answer))


@pytest.mark.parametrize("strategy", ["NXT", "LAST", "MAX"])
def test_a_strategy_does_not_list_what_it_does_not_choose(strategy: str) -> None:
    """Of 2^60 matches one is chosen."""
    rows = pa.table({"type": ["A", *"B" * 60, "C"], "v": range(62)})
    query = ost.cel(f"SELECT {strategy} * WHERE A AS x ; (B AS y FILTER y.v > x.v)+ ; C AS z FILTER z.v > x.v")
    assert query.detect(rows)["positions"].to_pylist() == [list(range(62))]
    assert query.count(rows) == 1


@pytest.mark.parametrize(
    ("query", "kernel"),
    [
        ("A AS x ; B AS y FILTER x.v < y.v AND y.w = x.w", run_correlated),
        ("A AS x ; B AS y FILTER x.v < y.v + 1", run_correlated),
        ("A AS x ; B AS y FILTER x.v + y.v > 1", run_programs),
        ("A AS x ; B AS y FILTER x.v < y.v OR x.w = y.w", run_programs),
        ("SELECT LAST * WHERE A AS x ; B AS y FILTER x.v < y.v", run_best),
        ("SELECT LAST x WHERE A AS x ; B AS y FILTER x.v < y.v", run_choosing),
    ],
)
def test_a_kernel_is_no_larger_than_the_pattern_needs(query: str, kernel: Any) -> None:
    engine = ost.cel(query).engine()
    engine.push([{"type": "A", "v": 1, "w": 2}])
    assert engine.matcher.KERNEL is kernel
