"""Query plans as SQL: one generator for DuckDB and Spark."""
