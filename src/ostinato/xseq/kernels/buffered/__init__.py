"""Kernels over trees in memory, for queries that one pass cannot answer."""
