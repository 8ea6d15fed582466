"""One model of card transactions for all tests that only read it."""

from __future__ import annotations

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.samples.cards import CARD_FEATURES, CARD_PATTERN, transactions


@pytest.fixture(scope="session")
def cards() -> pa.Table:
    return transactions(120_000, cards=20)


@pytest.fixture(scope="session")
def model(cards: pa.Table) -> ost.ForecastModel:
    return ost.Forecaster(ost.cel(CARD_PATTERN), order=5, horizon=60, threshold=0.8, features=CARD_FEATURES).fit(
        cards.slice(0, 100_000)
    )
