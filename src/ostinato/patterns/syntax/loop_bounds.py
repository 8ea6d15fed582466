"""How often a loop repeats: `+`, `*`, `{n}`, `{n,}`, `{,m}` or `{n,m}`."""

from __future__ import annotations

from ostinato.errors import QueryError, Span

_DIGITS = 18  # of numbers below 2⁶³


def parse_loop_bounds(quantifier: str, span: Span) -> tuple[int, int | None]:
    """The fewest and the most rounds; None where there is no bound."""
    if quantifier in ("+", "*"):
        return int(quantifier == "+"), None
    least, comma, most = (part.strip() for part in quantifier[1:-1].partition(","))
    if not all(part.isdecimal() or not part for part in (least, most)) or not (least or most):
        raise QueryError("a number of rounds is missing", span=span, fix="write {3}, {2,5}, {2,} or {,5}")
    if max(len(least), len(most)) > _DIGITS:
        raise QueryError("that is more rounds than any stream has", span=span, fix="leave the upper bound out: {2,}")
    low, high = int(least or 0), (int(most) if most else None) if comma else int(least)
    if high == 0:
        raise QueryError("a loop of no rounds matches nothing", span=span, fix="allow at least one round: {0,1}")
    if high is not None and high < low:
        raise QueryError(f"no loop has at least {low} and at most {high} rounds", span=span, fix=f"{{{high},{low}}}")
    return low, high
