"""Automata: from a rewritten plan to the tables that the kernels read."""
