"""Compiled loops of the JSON tokeniser."""
