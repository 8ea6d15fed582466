"""The live engine of rules: batches of events in, derived events out, state bounded by temporal relevance."""
