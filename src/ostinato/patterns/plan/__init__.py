"""Syntax trees to checked queries in normal form."""
