"""Why there is no SQL for a query."""

from __future__ import annotations


class Differs(Exception):
    """SQL would find something else, or this cannot be told."""
