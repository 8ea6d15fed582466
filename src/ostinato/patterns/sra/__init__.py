"""Symbolic register automata (SRA paper): from SREM, their algebra, and what an engine needs of them."""
