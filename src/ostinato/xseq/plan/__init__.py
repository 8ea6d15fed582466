"""Checks, normal form, and what a schema lets a query leave out."""
