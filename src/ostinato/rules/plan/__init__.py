"""Checks, normal form and strata of rules."""
