"""Events as symbols, and the pattern as a deterministic automaton over them (SRA paper, section 8.1)."""
