"""One run of a verb over files: read, evaluate, write or print, and say how it went."""
