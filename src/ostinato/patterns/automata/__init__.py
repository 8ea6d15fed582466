"""Formulas to transducers, deterministic machines, and the tables that kernels read."""
