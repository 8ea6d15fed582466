"""The declarative twins of CEL and SREM: what a query means, straight from the papers, for small streams."""
