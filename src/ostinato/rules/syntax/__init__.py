"""Text of event rules to syntax trees, and back."""
