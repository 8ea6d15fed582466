"""A model run over events in tasks: what is counted there gives the scores of a run without Spark."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from ostinato.forecast.chain.predictor import find_completions
from ostinato.forecast.learn.ground_truth import Truth
from ostinato.forecast.score.interval_checks import LevelIntervals, check_holdout_intervals, check_intervals
from ostinato.forecast.score.scores import count_outcomes as of_states
from ostinato.forecast.score.scores import interval_scores, probability_within
from ostinato.forecast.symbols.reader import SymbolReader
from ostinato.spark.forecast.evaluate import BacktestTask
from ostinato.spark.forecast.task import ShippedModel
from support.spark.forecast import PATTERNS, SIZE, by_task, forecaster, history


@pytest.mark.parametrize("text", PATTERNS.values(), ids=PATTERNS)
@pytest.mark.parametrize("budget", [1 << 20, 1000])
def test_a_backtest_counts_what_came_of_each_state(text: str, budget: int) -> None:
    made, rows = forecaster(text, threshold=0.3), history()
    model, cut = made.fit(history(5)), 150.0
    task = BacktestTask(ShippedModel.of(model, model.settings), [cut, 170.0], budget=budget)
    found = pa.Table.from_batches([batch for part in by_task(rows) for batch in task(part)]).to_pylist()
    read = SymbolReader(model.pattern, model.settings.binding, model.symbols).read(rows)
    assert read.seconds is not None
    split = int(np.searchsorted(read.seconds, cut, side="right"))
    completes = find_completions(model.automaton, read)
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
    plain = model.predictor.states(read)[split:]
    assert counted.events == len(truth) and counted.completions == truth.completions
    assert counted.weights(6) == pytest.approx(truth.weights(6))
    hits = np.array([row["hits"] for row in outcomes], np.int64)
    ours = check_intervals(model.predictor, LevelIntervals.of(model.predictor, states), counted, hits)
    theirs = check_holdout_intervals(model.predictor, read, completes, split)
    for one, other in ((ours.events, theirs.events), (ours.seconds, theirs.seconds)):
        assert one is not None and other is not None and one.known[0] > 0
        assert one.known == pytest.approx(other.known) and one.covered == pytest.approx(other.covered)
    for threshold in (0.2, 0.5, 0.8):
        made_for = model.predictor.forecasts(threshold)
        by_state, by_event = (
            interval_scores(made_for, at, came, 6, threshold) for at, came in ((states, counted), (plain, truth))
        )
        assert vars(by_state) == pytest.approx(vars(by_event), nan_ok=True)
    chances = probability_within(model.predictor.waiting, 3)
    one_of, other_of = (of_states(chances, at, came, 3) for at, came in ((states, counted), (plain, truth)))
    assert one_of.positives == pytest.approx(other_of.positives)
    assert one_of.negatives == pytest.approx(other_of.negatives)
