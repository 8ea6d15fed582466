"""JSON bytes to tokens."""
