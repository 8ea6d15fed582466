"""Random queries by name, for engines that run many."""

from __future__ import annotations

from hypothesis import assume

import ostinato as ost
from ostinato.errors import QueryError
from ostinato.patterns.query import PatternQuery
from ostinato.patterns.syntax.format import to_text
from ostinato.patterns.syntax.nodes import Query


def name_queries(given: list[Query]) -> dict[str, PatternQuery]:
    """Those that are not refused; at least one."""
    found: dict[str, PatternQuery] = {}
    for number, query in enumerate(given):
        try:
            found[f"q{number}"] = ost.cel(to_text(query))
        except QueryError:
            continue
    assume(found)
    return found
