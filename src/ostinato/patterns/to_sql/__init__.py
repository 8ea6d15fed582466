"""A query as MATCH_RECOGNIZE, where that finds the same."""
