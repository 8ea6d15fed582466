from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.errors import QueryError
from ostinato.forecast.learn.ground_truth import Truth
from ostinato.forecast.score.baselines import mean_rate
from ostinato.forecast.score.evaluation import SCORES, Contender, Evaluation, compare
from ostinato.forecast.score.scores import Distances

HORIZON = 40


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    """A model that knows in which of two modes the stream is, and one that knows the mean rate only."""
    rng = np.random.default_rng(0)
    keys = np.repeat(np.arange(40, dtype=np.int32), 500)
    modes = keys % 2
    rates = np.array([0.05, 0.3])
    truth = Truth.of(rng.random(len(keys)) < rates[modes], keys)
    table = np.concatenate([mean_rate(rate, HORIZON) for rate in rates])
    contenders = [
        Contender("<model>", table, modes, log_loss=0.5),
        Contender("mean rate", mean_rate(float(rates.mean()), HORIZON), np.zeros_like(modes)),
    ]
    distances = Distances(np.arange(1, 21, dtype=np.int32), (np.arange(len(keys)) % 20).astype(np.int32))
    return compare(contenders, truth, within=5, threshold=0.8, distances=distances)


def test_one_row_per_model_and_one_column_per_score(evaluation: Evaluation) -> None:
    assert evaluation.table.column_names == ["model", *SCORES]
    model, rate = evaluation.table.to_pylist()
    assert model["model"] == "<model>" and rate["model"] == "mean rate"
    assert model["log_loss"] == 0.5 and rate["log_loss"] is None
    assert rate["auc"] == 0.5 and model["auc"] > 0.75
    assert model["auc_near"] == pytest.approx(model["auc_far"], abs=0.03)
    assert model["brier"] < rate["brier"]
    assert model["calibration_error"] < 0.02 < rate["calibration_error"] + 0.02
    assert model["coverage"] == pytest.approx(0.82, abs=0.03)
    assert model["precision"] > 0.75 and rate["mcc"] is None


def test_scores_at_every_horizon(evaluation: Evaluation) -> None:
    rows = [row for row in evaluation.horizons.to_pylist() if row["model"] == "<model>"]
    assert [row["within"] for row in rows] == [1, 2, 5, 10, 20, 30, 40]
    assert all(row["calibration_error"] < 0.02 for row in rows)
    assert [row["rate"] for row in rows] == sorted(row["rate"] for row in rows)


def test_scores_by_distance(evaluation: Evaluation) -> None:
    rows = [row for row in evaluation.distances.to_pylist() if row["model"] == "<model>"]
    assert [(row["nearest"], row["farthest"]) for row in rows] == [(band, band + 1) for band in range(1, 20, 2)]
    assert sum(row["events"] for row in rows) == pytest.approx(20_000, rel=0.02)
    assert all(row["auc"] > 0.7 and 0.4 < row["rate"] < 0.65 for row in rows)
    assert {row["auc"] for row in evaluation.distances.to_pylist() if row["model"] == "mean rate"} == {0.5}


def test_it_prints_models_side_by_side(evaluation: Evaluation) -> None:
    first, rule, *lines = str(evaluation).splitlines()
    assert first.split() == ["<model>", "mean", "rate"] and set(rule) == {"─"}
    assert next(line for line in lines if line.startswith("ROC-AUC ")).split()[2] == "0.500"
    assert next(line for line in lines if line.startswith("log-loss")).split()[-1] == "–"
    assert "20,000 events" in lines[-1] and "within 5 events" in lines[-1] and "equally many events" in lines[-1]
    assert max(map(len, str(evaluation).splitlines()[:-1])) <= 100


def test_it_shows_itself_in_a_notebook_and_names_are_safe(evaluation: Evaluation) -> None:
    shown = ET.fromstring(evaluation._repr_html_())
    assert "<model>" in [cell.text for cell in shown.iter("th")]
    assert shown.find("{http://www.w3.org/2000/svg}svg") is not None
    assert "within 5 events" in evaluation.reliability.svg()


def test_intervals_are_made_with_the_nominal_threshold() -> None:
    truth = Truth.of(np.random.default_rng(1).random(5_000) < 0.2)
    table, states = mean_rate(0.2, HORIZON), np.zeros(5_000, np.int32)
    plain, wider = (Contender(str(nominal), table, states, nominal=nominal) for nominal in (None, 0.95))
    scored = compare([plain, wider], truth, threshold=0.5).table
    narrow, wide = scored["coverage"].to_pylist()
    assert narrow < 0.7 and wide > 0.9
    assert scored["auc_near"].null_count == 2
    assert compare([plain], truth).distances.num_rows == 0


def test_no_farther_than_was_learned() -> None:
    truth = Truth.of(np.array([0, 1, 0], np.bool_))
    with pytest.raises(QueryError, match="within=41 is not a whole number from 1 to 40"):
        compare([Contender("m", mean_rate(0.2, HORIZON), np.zeros(3, np.int32))], truth, within=41)


def test_too_few_events_tell_nothing() -> None:
    truth = Truth.of(np.array([0, 1, 0], np.bool_))
    found = compare([Contender("m", mean_rate(0.2, HORIZON), np.zeros(3, np.int32))], truth)
    assert found.table["auc"].to_pylist() == [None]
    assert "–" in str(found) and "<svg" in found._repr_html_()


def test_short_partitions_are_scored_without_bias() -> None:
    """Events near the beginning of a partition have other states than the rest, and more events after them."""
    rng = np.random.default_rng(1)
    chances = rng.dirichlet([0.5] * 3, size=(3, 3, 3)).cumsum(axis=-1)

    def cut_into(length: int, events: int, seed: int) -> pa.Table:
        drawn, history = np.random.default_rng(seed).random(events), [0, 0, 0]
        for place in range(events):
            history.append(min(int(np.searchsorted(chances[tuple(history[-3:])], drawn[place])), 2))
        kinds = np.array(["A", "B", "C"])[history[3:]]
        return pa.table({"ts": np.arange(events), "type": kinds, "card": np.arange(events) // length})

    model = ost.Forecaster("A : B : A PARTITION BY card", horizon=8).fit(cut_into(12, 40_000, 5))
    scores = model.evaluate(cut_into(12, 60_000, 6)).table.to_pylist()[0]
    assert scores["calibration_error"] < 0.02
