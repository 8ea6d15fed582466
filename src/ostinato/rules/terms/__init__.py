"""Data terms: what events carry, however deeply nested, and the matching of query terms against them."""
