"""Whether tests can hold together: satisfiability and minterms of conditions on events."""
