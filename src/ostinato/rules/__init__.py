"""Event rules (XChangeEQ): DETECT … ON … END programs, from text to derived events."""
