"""The live engine of rules: batches in, what they add out, state bounded by temporal relevance."""
