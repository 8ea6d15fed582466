"""Languages: query text to syntax trees with exact source spans."""
