"""The declarative twins of learning and waiting times."""
