"""Text to syntax trees: the clauses of a query, their patterns and their expressions."""
