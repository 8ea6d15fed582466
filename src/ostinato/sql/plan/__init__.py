"""Checks of clauses: what is legal SQL text and makes no sense."""
