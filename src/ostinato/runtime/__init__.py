"""The runtime: one engine that embedded runs and distributed tasks share."""
