"""SREM, symbolic regular expressions with memory: pattern text to nodes."""
