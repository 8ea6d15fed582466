"""Compiled generators of sample streams."""
