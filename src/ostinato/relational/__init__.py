"""Query plans of rules as SQL: one generator for DuckDB and Spark."""
