"""XML bytes to tokens."""
