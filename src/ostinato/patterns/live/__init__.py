"""Many queries over one stream, live: what they share is done once, and an event costs what it changes."""
