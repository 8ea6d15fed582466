"""The declarative twins: each language evaluated straight from its paper's definition, slowly and obviously."""
