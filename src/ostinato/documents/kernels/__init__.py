"""Compiled loops that both tokenisers share."""
