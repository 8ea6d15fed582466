"""The declarative twin of XSeq: what a query means, straight from the paper, for small documents."""
