"""Queries that need parts of a document in memory."""
