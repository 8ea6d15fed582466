"""What a clause says is checked before any row is read."""

from __future__ import annotations

from ostinato.sql.syntax import nodes as n


def check(query: n.Query) -> None:
    pass
