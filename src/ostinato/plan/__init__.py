"""Plans: formulas as frozen nodes, the checks on them and the rewriting passes."""
