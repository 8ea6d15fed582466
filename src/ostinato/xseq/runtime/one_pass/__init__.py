"""Queries that one pass over a document answers."""
