"""CEL and SREM on Spark."""
