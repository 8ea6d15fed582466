"""From tokens to rows: which evaluator runs, and what becomes of its matches."""
