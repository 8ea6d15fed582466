"""Scoring batch by batch: any cuts, restarts and unknown events."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import ostinato as ost
from support.forecast import CYCLE, cycle


def test_batches_and_restarts_change_nothing(model: ost.ForecastModel, cards: pa.Table) -> None:
    whole = model.forecast(cards.slice(0, 5000))
    scorer, found = model.scorer(), []
    for begin in range(0, 5000, 1250):
        found.append(scorer.push(cards.slice(begin, 1250)))
        resumed = model.scorer()
        resumed.restore(scorer.snapshot())
        scorer = resumed
    assert pa.concat_tables(found).equals(whole)


@pytest.mark.parametrize(
    "query",
    [
        "A AS a ; B AS b WITHIN 4 seconds",
        "A AS a ; D AS b FILTER a.v < b.v WITHIN 6 EVENTS",
        "A AS a ; D AS b FILTER a.v < b.v WITHIN 5 seconds",
        "A AS a ; D AS b FILTER a.s = b.s WITHIN 6 EVENTS PARTITION BY k",
    ],
)
def test_restarts_where_runs_are_followed_exactly(query: str) -> None:
    table = cycle(600, noise=0.3)
    random = np.random.default_rng(5)
    table = table.append_column("v", pa.array(random.integers(0, 5, 600)))
    table = table.append_column("s", pa.array(random.choice(["x", "y", "z"], 600)))
    table = table.append_column("k", pa.array(random.integers(0, 3, 600)))
    model = ost.Forecaster(query, order=2, horizon=10).fit(table)
    whole = model.forecast(table)
    ends = {row[-1] for row in ost.cel(query).detect(table)["positions"].to_pylist()}
    assert set(np.flatnonzero(whole["completes"].to_numpy(zero_copy_only=False)).tolist()) == ends and ends
    scorer, found = model.scorer(), []
    for begin in range(0, 600, 150):
        found.append(scorer.push(table.slice(begin, 150)))
        resumed = model.scorer()
        resumed.restore(scorer.snapshot())
        scorer = resumed
    assert pa.concat_tables(found).equals(whole)


def test_unseen_events_are_followed_and_counted() -> None:
    model = ost.Forecaster(CYCLE, order=2, horizon=5, features=["v > 1"]).fit(
        cycle().append_column("v", pa.array(np.zeros(3000)))
    )
    scorer = model.scorer()
    found = scorer.push(cycle(9).append_column("v", pa.array(np.full(9, 2.0))))
    assert scorer.unseen == 9 and found["completes"].to_pylist() == [False, False, True] * 3


def test_a_scorer_keeps_the_model_it_began_with() -> None:
    kinds = cycle(3000, noise=0.2)
    without = kinds.filter(pc.not_equal(kinds["type"], "B"))
    model = ost.Forecaster(CYCLE, order=1, horizon=5).fit(without)
    scorer, before = model.scorer(), model.scorer()
    scorer.push(cycle(9))
    expected = before.push(cycle(18))
    model.update(kinds)
    later = cycle(18).slice(9)
    assert scorer.push(later).equals(expected.slice(9))
    assert model.scorer().push(later).num_rows == 9


def test_time_does_not_go_back_between_batches() -> None:
    scorer = ost.Forecaster("A ; B WITHIN 5 seconds", order=1, horizon=5).fit(cycle()).scorer()
    scorer.push([{"ts": 100.0, "type": "A"}])
    with pytest.raises(ost.DataError, match="order of time"):
        scorer.push([{"ts": 50.0, "type": "B"}])
    assert scorer.push([{"ts": 101.0, "type": "B"}])["completes"].to_pylist() == [True]


def test_kinds_that_were_never_observed_are_counted() -> None:
    history = [{"ts": float(at), "type": "T", "x": (1, 5)[at % 2]} for at in range(400)]
    query = "(T AS a FILTER a.x > 3) ; (T AS b FILTER b.x <= 3)"
    scorer = ost.Forecaster(query, order=1, horizon=5).fit(history).scorer()
    scorer.push([{"ts": 1.0, "type": "T", "x": None}] * 3)
    assert scorer.unseen == 3


def test_batches_of_other_types_are_refused_plainly() -> None:
    scorer = ost.Forecaster("A ; B", order=1, horizon=5).fit(cycle()).scorer()
    scorer.push([{"ts": 1, "type": "A"}])
    with pytest.raises(ost.DataError, match="other column types"):
        scorer.push([{"ts": 1.5, "type": "B"}])
