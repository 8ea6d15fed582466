"""The command line: one file per family of verbs."""
