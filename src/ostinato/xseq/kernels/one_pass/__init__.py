"""The kernel that answers a query in one pass over the tokens of a document."""
