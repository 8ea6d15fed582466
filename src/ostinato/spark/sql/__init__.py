"""MATCH_RECOGNIZE on Spark: the clause in tasks and stateful steps, the query around it in Spark SQL."""
