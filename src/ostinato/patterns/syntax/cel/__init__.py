"""CEL: query text to nodes."""
