"""Unary predicates: conditions on a single event, decided before any automaton sees it."""

from __future__ import annotations

from dataclasses import dataclass

from ostinato.core.expressions import Expr, to_text


@dataclass(frozen=True)
class Condition:
    """A unary predicate: the event's type (None: any) and a condition over the current event `~` (None: no more)."""

    relation: str | None = None
    where: Expr | None = None

    def __str__(self) -> str:
        return self.text()

    def text(self, within: str | None = None) -> str:
        """In brackets where it stands `within` a tighter operator."""
        if self.relation is None:
            return "TRUE" if self.where is None else to_text(self.where, within)
        own = f"type = {self.relation}"
        return own if self.where is None else f"{own} AND {to_text(self.where, 'and')}"


def format_condition(condition: Condition, test: Expr | None) -> str:
    return str(condition) if test is None else f"{condition.text('and')} AND {to_text(test, 'and')}"
