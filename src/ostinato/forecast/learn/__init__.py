"""What is learned from a history: additive counts, suffix trees, and when a stream has changed."""
