"""A query as an automaton that walks over a tree, its program, and both as flat tables."""
