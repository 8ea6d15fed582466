"""Faults that show in the text of a query alone, a file for each part of it; check.py calls them all."""
