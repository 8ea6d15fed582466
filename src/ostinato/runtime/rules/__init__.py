"""Running event rules in this process: over whole tables, and live."""
