"""What tasks of forecasting do, called as plain functions: the parts of a history add up to the whole."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.errors import DataError
from ostinato.forecast.chain.machine import completed
from ostinato.forecast.learn.statistics import Learner, Learnt
from ostinato.forecast.learn.truth import Truth
from ostinato.forecast.model import ForecastModel
from ostinato.forecast.score.interval_checks import Intervals, judge, judgement_of
from ostinato.forecast.score.scores import interval_scores, likely
from ostinato.forecast.score.scores import outcomes as of_states
from ostinato.forecast.symbols.encoder import Symbols
from ostinato.forecast.symbols.reader import Reader
from ostinato.spark.forecast.count import CountTask, add_up
from ostinato.spark.forecast.grams import COUNTED, KEYS, learnt_of, rows_of
from ostinato.spark.forecast.task import Shipped
from ostinato.spark.forecast.trial import TrialTask
from ostinato.spark.packing import ROWS, unpack

PATTERNS = {
    "events": "A AS x ; B AS y PARTITION BY k WITHIN 4 EVENTS",
    "time": "A AS x ; B AS y PARTITION BY k WITHIN 5 seconds",
    "compared": "A AS x ; B AS y FILTER x.v < y.v PARTITION BY k WITHIN 4 EVENTS",
}
SIZE = 400


def history(seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "ts": pa.array(np.arange(SIZE) * 500_000, pa.timestamp("us", tz="UTC")),
            "type": pa.array(np.array(list("ABC"))[rng.integers(0, 3, SIZE)]),
            "k": rng.integers(0, 4, SIZE),
            "v": rng.integers(0, 3, SIZE),
        }
    )


def forecaster(text: str, **options: Any) -> ost.Forecaster:
    settings: dict[str, Any] = {"order": 2, "horizon": 6, "time": "ts", **options}
    return ost.Forecaster(text, **settings)


def by_task(rows: pa.Table) -> list[list[pa.RecordBatch]]:
    """The keys of two tasks, in any order."""
    odd = np.random.default_rng(2).permutation(len(rows))
    keys = rows["k"].to_numpy()[odd] % 2
    return [rows.take(pa.array(odd[keys == task])).to_batches(max_chunksize=50) for task in (0, 1)]


def meaning(learnt: Learnt) -> dict[tuple[Any, ...], float]:
    symbols = learnt.symbols
    told = symbols.outcomes if symbols.pattern.correlated else None
    pairs = [(minterm, told[effect] if told else effect) for minterm, effect in symbols.pairs]
    spelt = [tuple(None if place < 0 else pairs[place] for place in gram) for gram in learnt.counts.grams]
    return dict(zip(spelt, learnt.counts.weights.tolist(), strict=True))


@pytest.mark.parametrize("text", PATTERNS.values(), ids=PATTERNS)
@pytest.mark.parametrize("budget", [1 << 20, 1000])
def test_counts_of_tasks_add_up(text: str, budget: int) -> None:
    made, rows = forecaster(text), history()
    cut = 150.0
    none = replace(made.fit(rows).learnt.symbols, minterms=(), effects=(), observed=0, outcomes=())
    task = CountTask(none, made.settings, 2, cut, 3, budget)
    packed = [batch for part in by_task(rows) for batch in task(part)]
    found = [unpack(row.as_buffer(), COUNTED) for batch in add_up(packed) for row in batch[ROWS]]
    table = pa.Table.from_batches(found)
    assert len(table.group_by(KEYS).aggregate([])) == len(table), "a gram is in one bucket only"
    head, tail = learnt_of(table, none, 2)
    reader = Reader(made.pattern, made.settings.binding, none, learning=True)
    read = reader.read(rows)
    learner = Learner(reader.symbols, 2, read.key_count)
    assert read.seconds is not None
    split = int(np.searchsorted(read.seconds, cut, side="right"))
    unknown = np.zeros(0, np.bool_)
    for ours, begin, end in ((head, 0, split), (tail, split, SIZE)):
        expected = learner.learn(read.part(begin, end), unknown)
        assert meaning(ours) == meaning(expected)
        assert ours.events == expected.events
        assert ours.gaps.total == expected.gaps.total
        assert ours.gaps.mean == pytest.approx(expected.gaps.mean)


@pytest.mark.parametrize("text", PATTERNS.values(), ids=PATTERNS)
def test_grams_there_and_back(text: str) -> None:
    learnt = forecaster(text).fit(history()).learnt
    head, tail = learnt_of(rows_of(learnt, later=False), Symbols(learnt.symbols.pattern), learnt.counts.order)
    assert meaning(head) == meaning(learnt)
    assert not tail.events and len(tail.symbols) == len(learnt.symbols)


@pytest.mark.parametrize("text", PATTERNS.values(), ids=PATTERNS)
@pytest.mark.parametrize("budget", [1 << 20, 1000])
def test_a_trial_counts_what_came_of_each_state(text: str, budget: int) -> None:
    made, rows = forecaster(text, threshold=0.3), history()
    model, cut = made.fit(history(5)), 150.0
    task = TrialTask(Shipped.of(model, model.settings), [cut, 170.0], budget=budget)
    found = pa.Table.from_batches([batch for part in by_task(rows) for batch in task(part)]).to_pylist()
    read = Reader(model.pattern, model.settings.binding, model.symbols).read(rows)
    assert read.seconds is not None
    split = int(np.searchsorted(read.seconds, cut, side="right"))
    completes = completed(model.automaton, read)
    for part, ending in enumerate((completes[:split], completes[split:])):
        assert sum(row["events"] for row in found if row["kind"] == 0 and row["part"] == part) == ending.sum()
    assert sum(row["events"] for row in found if row["kind"] == 1) == SIZE - split
    outcomes = [row for row in found if row["kind"] == 2]
    columns = {"part": np.int32, "wait": np.int32, "later": np.int32, "events": np.int64, "stratum": np.uint8}
    states, wait, later, times, strata = (
        np.array([row[name] for row in outcomes], kind) for name, kind in columns.items()
    )
    counted = Truth(wait, later, times, strata)
    assert read.keys is not None
    truth = Truth.of(completes, read.keys).part(split, SIZE)
    plain = model.machine.states(read)[split:]
    assert counted.events == len(truth) and counted.completions == truth.completions
    assert counted.weights(6) == pytest.approx(truth.weights(6))
    held = np.array([row["held"] for row in outcomes], np.int64)
    ours = judge(model.machine, Intervals.of(model.machine, states), counted, held)
    theirs = judgement_of(model.machine, read, completes, split)
    for one, other in ((ours.events, theirs.events), (ours.seconds, theirs.seconds)):
        assert one is not None and other is not None and one.known[0] > 0
        assert one.known == pytest.approx(other.known) and one.covered == pytest.approx(other.covered)
    for threshold in (0.2, 0.5, 0.8):
        made_for = model.machine.forecasts(threshold)
        by_state, by_event = (
            interval_scores(made_for, at, came, 6, threshold) for at, came in ((states, counted), (plain, truth))
        )
        assert vars(by_state) == pytest.approx(vars(by_event), nan_ok=True)
    chances = likely(model.machine.waiting, 3)
    one_of, other_of = (of_states(chances, at, came, 3) for at, came in ((states, counted), (plain, truth)))
    assert one_of.positives == pytest.approx(other_of.positives)
    assert one_of.negatives == pytest.approx(other_of.negatives)


def test_a_model_travels_as_files_and_is_rebuilt_once() -> None:
    model = forecaster(PATTERNS["events"]).fit(history())
    shipped = Shipped.of(model, replace(model.settings, order_by=("v",)))
    assert shipped.model is Shipped(shipped.digest, {}).model
    assert shipped.model.settings.order_by == ("v",) and model.settings.order_by == ()
    assert isinstance(shipped.model, ForecastModel)
    assert shipped.model.forecast(history()).equals(model.forecast(history()))


def test_no_rows_teach_nothing() -> None:
    made = forecaster(PATTERNS["events"])
    assert list(CountTask(Symbols(made.pattern), made.settings, 2, math.inf, 3)([])) == []


def test_a_row_without_a_time_is_an_error() -> None:
    made = forecaster(PATTERNS["events"])
    rows = pa.table({"ts": pa.array([None], pa.timestamp("us", tz="UTC")), "type": ["A"], "k": [1], "v": [1]})
    with pytest.raises(DataError, match="`ts` is NULL"):
        list(CountTask(Symbols(made.pattern), made.settings, 2, math.inf, 3)(rows.to_batches()))
