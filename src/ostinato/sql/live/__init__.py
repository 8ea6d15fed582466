"""A clause of MATCH_RECOGNIZE over a stream: rows come in batches, and matches go out when they are final."""
