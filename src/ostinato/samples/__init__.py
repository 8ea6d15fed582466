"""Generated streams and documents of any length, the same for the same seed: card thefts, vessels, a plant, XML."""

from ostinato.samples.cards import CARD_FEATURES, CARD_PATTERN, transactions
from ostinato.samples.vessels import VESSEL_FEATURES, VESSEL_PATTERN, reports

__all__ = ["CARD_FEATURES", "CARD_PATTERN", "VESSEL_FEATURES", "VESSEL_PATTERN", "reports", "transactions"]
