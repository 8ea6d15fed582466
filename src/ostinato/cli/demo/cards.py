"""The demo's second half: thefts on cards, foreseen by a model that learned from earlier ones."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from ostinato.forecast.forecaster import Forecaster
from ostinato.forecast.model import ForecastModel
from ostinato.forecast.viz.timeline import ForecastTimeline
from ostinato.samples.cards import CARD_FEATURES, CARD_PATTERN, transactions

QUERY = f"-- Larger and larger amounts on one card, with at most one transaction in between.{CARD_PATTERN}"
HISTORY, LATER = 200_000, 50_000  # transactions to learn from, and to forecast from
HORIZON = 12  # transactions of a card
_BEFORE, _SHOWN = 45, 60  # events up to the detection that is shown, and in all


def events() -> tuple[pa.Table, pa.Table]:
    """The history, and what came after it."""
    every = transactions(HISTORY + LATER)
    return every.slice(0, HISTORY), every.slice(HISTORY)


def learn(history: pa.Table) -> ForecastModel:
    return Forecaster(QUERY, horizon=HORIZON, features=CARD_FEATURES).fit(history)


def best_timeline(later: pa.Table, forecasts: pa.Table) -> ForecastTimeline:
    """The card, and the stretch of it, where most intervals before a detection held."""
    rows = forecasts.append_column("card", later["card"])
    best, most = (pa.table({}), "", 0), -1
    for card in pc.unique(later["card"]).sort().to_pylist():
        own = rows.filter(pc.equal(rows["card"], card))
        timeline = ForecastTimeline.of(own)
        since = 0
        for detection in timeline.detections:
            held = sum(since <= each.made < detection and each.outcome == "held" for each in timeline.intervals)
            if held > most and detection >= _BEFORE:
                best, most = (own, card, detection - _BEFORE), held
            since = detection
    own, card, begin = best
    stretch = own.slice(begin, _SHOWN)
    return ForecastTimeline.of(stretch, title=f"Alarms foreseen on {card}", first=begin + 1)


def write(folder: Path, history: pa.Table, later: pa.Table) -> Path:
    """The query and both parts of the events as files; gives the later part."""
    from ostinato.files import Writer

    (folder / "ladder.cel").write_text(QUERY, encoding="utf-8")
    for name, table in (("card-history.parquet", history), ("cards.parquet", later)):
        with Writer(folder / name) as writer:
            writer.write(table)
    return folder / "cards.parquet"
