"""Compiled loops over flat arrays. They know codes, slots and nodes, never a query."""
