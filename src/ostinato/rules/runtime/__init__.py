"""Rules over whole tables: events in, DuckDB, derived events out."""
