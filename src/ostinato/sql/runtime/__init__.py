"""Running queries: clauses evaluated one after the other, and the query around them by DuckDB."""
