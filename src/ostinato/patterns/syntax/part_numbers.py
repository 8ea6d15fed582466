"""How far a match got: the parts of a formula, counted."""

from __future__ import annotations

from ostinato.errors import QueryError
from ostinato.patterns.syntax import nodes as n
from ostinato.patterns.syntax.nodes import Formula


def part_numbers(formula: Formula) -> dict[str, int]:
    """For each variable the number of its part: those of sequences are counted from 1, a loop or an AND is one part."""
    found: dict[str, int] = {}

    def count(part: Formula, before: int) -> int:
        if isinstance(part, n.Event | n.Repeat | n.And):
            for name in n.vdef(part):
                if found.setdefault(name, before + 1) != before + 1:
                    raise QueryError(
                        f"`{name}` stands in two places, so that it does not say how far a match got",
                        span=part.span,
                        fix="give each place a name of its own",
                    )
            return before + 1
        if isinstance(part, n.Sequence):
            for each in part.parts:
                before = count(each, before)
            return before
        return max((count(child, before) for child in n.children(part)), default=before)

    count(formula, 0)
    return found
