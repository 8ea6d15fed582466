"""Event rules on Spark."""
