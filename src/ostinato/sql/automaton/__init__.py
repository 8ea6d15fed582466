"""Patterns as automata whose transitions are ordered by preferment."""
