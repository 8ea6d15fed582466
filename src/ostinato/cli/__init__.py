"""The command line: one file per family of verbs."""

from ostinato.cli.main import app, main

__all__ = ["app", "main"]
