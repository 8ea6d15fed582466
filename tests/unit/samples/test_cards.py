"""Card transactions: as many as asked for, the same for the same seed, with thefts that climb the pattern's ladder."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import ostinato as ost
from ostinato.samples import CARD_FEATURES, CARD_PATTERN, transactions


@pytest.fixture(scope="module")
def events() -> pa.Table:
    return transactions(100_000, cards=20)


def test_the_same_for_the_same_seed(events: pa.Table) -> None:
    assert transactions(100_000, cards=20).equals(events)
    assert not transactions(100_000, cards=20, seed=8)["amount"].equals(events["amount"])


def test_rows_are_in_order_of_time_and_whole(events: pa.Table) -> None:
    assert len(events) == 100_000 and all(column.null_count == 0 for column in events.columns)
    assert events.schema.field("ts").type == pa.timestamp("us") and pa.types.is_string(events.schema.field("card").type)
    ts = events["ts"].to_numpy()
    assert (ts[1:] >= ts[:-1]).all()
    assert len(events["card"].unique()) == 20 and pc.min(events["amount"]).as_py() > 0


def test_days_are_busier_than_nights(events: pa.Table) -> None:
    hours = np.bincount(pc.hour(events["ts"]).to_numpy(), minlength=24)
    assert hours[10:20].min() > 5 * hours[1:5].max()


def test_matches_complete_in_about_one_of_a_hundred_events_and_mostly_by_thieves(events: pa.Table) -> None:
    found = ost.cel(CARD_PATTERN).detect(events)
    ends = pc.list_element(found["positions"], 3).unique()
    assert 0.005 < len(ends) / len(events) < 0.02
    assert 0.8 < pc.mean(events["thief"].take(ends)).as_py() < 0.98


def test_thieves_begin_small(events: pa.Table) -> None:
    thief = events.filter(events["thief"])["amount"].to_numpy()
    holder = events.filter(pc.invert(events["thief"]))["amount"].to_numpy()
    assert (thief <= 5).mean() > 0.2 > 0.05 > (holder <= 5).mean()


def test_features_are_conditions(events: pa.Table) -> None:
    for feature in CARD_FEATURES:
        some = ost.cel(f"txn AS x FILTER x[{feature}]").count(events.slice(0, 1_000))
        assert 0 < some < 1_000


def test_one_card_and_few_events() -> None:
    assert transactions(3, cards=1)["card"].to_pylist() == ["card 0"] * 3
    assert len(transactions(0, cards=2)) == 0
