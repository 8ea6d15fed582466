"""XSeq text to syntax trees, and back."""
