"""Query text: the grammar that languages share, source spans, units of time, and what to say about bad syntax."""
