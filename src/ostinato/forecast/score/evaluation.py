"""A model compared with its baselines: a row of scores each, and the reliability diagram of their probabilities."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Float32, Float64, Int32
from ostinato.core.text.counts import format_count
from ostinato.errors import Message, Option, QueryError
from ostinato.forecast.chain.intervals import forecasts
from ostinato.forecast.learn.ground_truth import Truth
from ostinato.forecast.score.scores import (
    BINS,
    Binning,
    Distances,
    Reliability,
    count_outcomes,
    count_outcomes_by_band,
    interval_scores,
    probability_within,
)
from ostinato.forecast.settings import check_probability, to_python
from ostinato.forecast.viz.reliability import ReliabilityDiagram

# The columns of the table, and what each is, for those who read it.
SCORES = {
    "log_loss": "log-loss of the next symbol, nats",
    "auc": "ROC-AUC",
    "auc_near": "ROC-AUC, near half",
    "auc_far": "ROC-AUC, far half",
    "precision": "precision",
    "recall": "recall",
    "f1": "F1",
    "mcc": "MCC",
    "brier": "Brier score",
    "calibration_error": "calibration error",
    "coverage": "interval coverage",
    "spread": "interval spread, events",
    "interval_score": "interval score",
    "no_forecast": "share without interval",
}
_BANDS = 10  # of distances, at most
_STEPS = (1, 2, 5, 10, 20, 30, 60, 100, 200, 500, 1000)


@dataclass(frozen=True, eq=False)
class Contender:
    """One model, ready to be scored: per event the state that it was in, per state what it forecast."""

    name: str
    waiting: Float32  # [states, horizon]
    states: Int32
    log_loss: float = math.nan
    nominal: float | None = None  # the threshold its intervals are made with, where it is not the promised one
    truth: Truth | None = None  # by its own states, if events were counted by them; else that of all contenders
    distances: Distances | None = None


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Scores of forecasts on events that the model had not seen; prints as a table, shows itself in a notebook."""

    table: pa.Table  # one row per model, one column per score (NULL: the events do not tell)
    horizons: pa.Table  # one row per model and number of events ahead: rate, ROC-AUC, Brier score, calibration error
    distances: pa.Table  # one row per model and band of distances to a completion: events, rate, ROC-AUC
    curves: dict[str, Reliability]
    events: int
    completions: int
    within: int  # the scores of probabilities are of a completion within so many events
    threshold: float  # what intervals promise
    decision: float  # "a match will complete" is said from this probability on

    @cached_property
    def reliability(self) -> ReliabilityDiagram:
        """The reliability diagram of all models."""
        return ReliabilityDiagram.of(
            self.curves, title=f"a match completes within {format_count(self.within, 'event')}"
        )

    @property
    def caption(self) -> str:
        binning = next((curve.by for curve in self.curves.values()), "quantile")
        bins = "equally many events" if binning == "quantile" else "equal width"
        return (
            f"{format_count(self.events, 'event')}, {format_count(self.completions, 'completion')}; "
            f"probability of a completion within {format_count(self.within, 'event')}, decided at {self.decision:g}; "
            f"intervals that promise {self.threshold:g}; calibration in bins of {bins}"
        )

    def __str__(self) -> str:
        """Scores as rows and models as columns, so that it fits a terminal."""
        rows = [["", *self.table["model"].to_pylist()]]
        rows += [[label, *map(_format_score, self.table[name].to_pylist())] for name, label in SCORES.items()]
        widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
        lines = [
            "  ".join(
                [row[0].ljust(widths[0]), *(cell.rjust(wide) for cell, wide in zip(row[1:], widths[1:], strict=True))]
            )
            for row in rows
        ]
        lines.insert(1, "─" * len(lines[0]))
        return "\n".join([*(line.rstrip() for line in lines), "", self.caption])

    def _repr_html_(self) -> str:
        names = self.table["model"].to_pylist()
        head = "".join(f"<th>{html.escape(name)}</th>" for name in ("", *names))
        body = "".join(
            f"<tr><th>{html.escape(label)}</th>"
            + "".join(f"<td>{_format_score(value)}</td>" for value in self.table[name].to_pylist())
            + "</tr>"
            for name, label in SCORES.items()
        )
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f"<div>{table}<p>{html.escape(self.caption)}</p>{self.reliability.svg()}</div>"


def compare(
    contenders: Sequence[Contender],
    truth: Truth,
    *,
    within: int | None = None,
    threshold: float = 0.5,
    decision: float = 0.5,
    distances: Distances | None = None,
    bins: int = BINS,
    by: Binning = "quantile",
) -> Evaluation:
    """Score all contenders against the same truth.

    `within` is the number of events ahead that probabilities are about (by default, the whole horizon); `distances`
    tell events near a completion from those far from one.
    """
    horizon = min(contender.waiting.shape[1] for contender in contenders)
    within = check_evaluation_options(within, decision, horizon)
    shared, everyone, places = truth.weights(horizon), truth, distances
    rows: list[dict[str, Any]] = []
    steps: list[dict[str, Any]] = []
    parts: list[dict[str, Any]] = []
    curves: dict[str, Reliability] = {}
    for contender in contenders:
        truth, distances = contender.truth or everyone, contender.distances or places
        weights = shared if truth is everyone else truth.weights(horizon)
        for step in sorted({*(step for step in _STEPS if step < horizon), within, horizon}):
            probability = probability_within(contender.waiting, step)
            found = count_outcomes(probability, contender.states, truth, step, weights)
            curve = found.reliability(bins, by)
            steps.append(
                {"model": contender.name, "within": step, "events": found.total, "rate": found.rate}
                | {"auc": found.auc(), "brier": found.brier(), "calibration_error": curve.error}
            )
            if step == within:
                curves[contender.name] = curve
                parts += _by_distance(contender, probability, truth, within, distances, weights)
                rows.append(
                    {"model": contender.name, "log_loss": contender.log_loss}
                    | _halves(contender, probability, truth, within, distances, weights)
                    | {name: getattr(found.decisions(decision), name) for name in ("precision", "recall", "f1", "mcc")}
                    | {name: steps[-1][name] for name in ("auc", "brier", "calibration_error")}
                    | _intervals(contender, truth, horizon, threshold, weights)
                )
    return Evaluation(
        table=_table(rows, {"model": pa.string()} | dict.fromkeys(SCORES, pa.float64())),
        horizons=_table(
            steps,
            {"model": pa.string(), "within": pa.int32()}
            | dict.fromkeys(("events", "rate", "auc", "brier", "calibration_error"), pa.float64()),
        ),
        distances=_table(
            parts,
            {"model": pa.string(), "nearest": pa.int32(), "farthest": pa.int32()}
            | dict.fromkeys(("events", "rate", "auc"), pa.float64()),
        ),
        curves=curves,
        events=everyone.events,
        completions=everyone.completions,
        within=within,
        threshold=threshold,
        decision=decision,
    )


def check_evaluation_options(within: object, decision: object, horizon: int) -> int:
    """The number of events ahead that probabilities are about. Raises OstinatoError if it is not possible."""
    within = to_python(horizon if within is None else within)
    if isinstance(within, bool) or not isinstance(within, int) or not 1 <= within <= horizon:
        raise QueryError(
            Message(
                Option("within", within),
                f" is not a whole number from 1 to {horizon}, the horizon that was learned",
            ),
            option="within",
        )
    check_probability("decision", decision)
    return within


def _halves(
    contender: Contender, probability: Float64, truth: Truth, within: int, distances: Distances | None, weights: Float64
) -> dict[str, float]:
    if distances is None:
        return {"auc_near": math.nan, "auc_far": math.nan}
    near, far = count_outcomes_by_band(probability, contender.states, truth, within, distances.bands(2), 2, weights)
    return {"auc_near": near.auc(), "auc_far": far.auc()}


def _by_distance(
    contender: Contender, probability: Float64, truth: Truth, within: int, distances: Distances | None, weights: Float64
) -> list[dict[str, Any]]:
    if distances is None or not distances.longest:
        return []
    count = min(_BANDS, distances.longest)
    found = count_outcomes_by_band(probability, contender.states, truth, within, distances.bands(count), count, weights)
    return [
        {"model": contender.name, "nearest": nearest, "farthest": farthest}
        | {"events": part.total, "rate": part.rate, "auc": part.auc()}
        for (nearest, farthest), part in zip(distances.bounds(count), found, strict=True)
    ]


def _intervals(
    contender: Contender, truth: Truth, horizon: int, threshold: float, weights: Float64
) -> dict[str, float]:
    nominal = threshold if contender.nominal is None else contender.nominal
    made = forecasts(np.ascontiguousarray(contender.waiting[:, :horizon]), nominal)
    scored = interval_scores(made, contender.states, truth, horizon, threshold, weights)
    return {
        "coverage": scored.coverage,
        "spread": scored.spread,
        "interval_score": scored.score,
        "no_forecast": scored.no_forecast,
    }


def _table(rows: list[dict[str, Any]], kinds: dict[str, pa.DataType]) -> pa.Table:
    columns = {
        name: pa.array([row[name] for row in rows], kind, from_pandas=True)  # NaN becomes NULL
        for name, kind in kinds.items()
    }
    return pa.table(columns)


def _format_score(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.3f}"
