"""XSeq: sequence queries with Kleene stars over XML, JSON and other nested data."""
