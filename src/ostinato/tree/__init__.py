"""Nested data as streams of tokens: XML and JSON bytes in, flat arrays out."""
