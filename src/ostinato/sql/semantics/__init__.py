"""The declarative twin of MATCH_RECOGNIZE: what a clause means, straight from the standard, for small tables."""
