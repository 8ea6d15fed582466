"""The steps of a funnel, as texts and as one formula."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ostinato.core.expressions import Attribute, Expr, transform
from ostinato.core.options import bad_option
from ostinato.errors import QueryError
from ostinato.patterns.plan.check import check_query
from ostinato.patterns.syntax import nodes as n
from ostinato.patterns.syntax.cel.parse import parse
from ostinato.patterns.syntax.nodes import Formula

MOST_STEPS = 32
_CEL = re.compile(r"[`(\[]|\b(?:AS|FILTER|OR|ANY)\b", re.IGNORECASE)  # else the name of a type, of any characters
_FIX = "name a type of events, or write one event with a condition: pay AS p FILTER p.amount > 10"


@dataclass(frozen=True)
class Step:
    """One step: its text, and the events that it can be."""

    text: str
    formula: Formula

    def formula_with_variable(self, number: int) -> Formula:
        """The formula with one variable of its own for all of its events."""
        return _rename_variable(self.formula, f"#{number}")


def parse_steps(texts: Any) -> tuple[Step, ...]:
    if isinstance(texts, str) or not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
        raise bad_option("steps", texts, "a list of steps such as ['view', 'cart', 'pay']")
    if not 0 < len(texts) <= MOST_STEPS:
        raise QueryError(f"a funnel has from 1 to {MOST_STEPS} steps, not {len(texts)}", fix="name the steps in order")
    return tuple(Step(text, _parse_step(text)) for text in texts)


def _parse_step(text: str) -> Formula:
    if not _CEL.search(text):
        return n.Event(text, "#step")
    query = parse(text)
    if query != n.Query(query.formula) or not all(map(_is_event, _alternatives(query.formula))):
        raise QueryError("a step is a single event", text=text, span=query.formula.span, fix=_FIX)
    check_query(query)
    return query.formula


def _alternatives(formula: Formula) -> tuple[Formula, ...]:
    return formula.parts if isinstance(formula, n.Or) else (formula,)


def _is_event(formula: Formula) -> bool:
    return isinstance(formula, n.Event) or (isinstance(formula, n.Filter) and _is_event_or(formula.body))


def _is_event_or(formula: Formula) -> bool:
    return all(map(_is_event, _alternatives(formula)))


def _rename_variable(formula: Formula, name: str) -> Formula:
    def rename(node: Expr) -> Expr:
        return replace(node, variable=name) if isinstance(node, Attribute) else node

    if isinstance(formula, n.Event):
        return replace(formula, variable=name)
    if isinstance(formula, n.Filter):
        return replace(
            formula, body=_rename_variable(formula.body, name), predicate=transform(formula.predicate, rename)
        )
    return n.rebuild(formula, lambda part: _rename_variable(part, name))
