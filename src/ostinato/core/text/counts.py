"""Numbers of things in words."""

from __future__ import annotations


def format_count(number: float, noun: str = "match") -> str:
    """A number of things, such as `1 match` or `1,200 matches`."""
    shown = f"{number:,.0f}"
    if shown != "1":
        noun = f"{noun[:-1]}ies" if noun.endswith("ry") else noun + ("es" if noun.endswith("ch") else "s")
    return f"{shown} {noun}"
