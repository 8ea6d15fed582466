"""Compiled loops of the XML tokeniser."""
