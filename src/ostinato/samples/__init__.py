"""Streams to try forecasts on, of any length, the same for the same seed: thefts on cards, vessels before ports."""

from ostinato.samples.cards import CARD_FEATURES, CARD_PATTERN, transactions
from ostinato.samples.vessels import VESSEL_FEATURES, VESSEL_PATTERN, reports

__all__ = ["CARD_FEATURES", "CARD_PATTERN", "VESSEL_FEATURES", "VESSEL_PATTERN", "reports", "transactions"]
