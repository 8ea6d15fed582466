"""The demo: fires found by one query, thefts on cards, foreseen by a model."""
