"""Expressions over Arrow columns: predicates as one code per event, keys as dense integers, exact arithmetic."""
