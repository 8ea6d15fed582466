"""Compiled loops over tokens and trees in flat arrays."""
