"""Patterns over event streams: the languages CEL and SREM, from text to matches."""
