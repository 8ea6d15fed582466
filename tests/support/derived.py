"""Answers of rule engines and events of the declarative semantics in one form, so that they can be compared."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from ostinato.rules.terms.data import Child, DataTerm, from_canonical, from_row
from ostinato.rules.terms.event import IntervalEvent


def events_in(answer: pa.Table) -> frozenset[IntervalEvent]:
    """The derived events of an answer with times in whole seconds; a term that a variable held comes as its text."""
    return frozenset(
        IntervalEvent(int(row["begin"]), int(row["end"]), _with_terms(from_row(row["type"], row)))
        for row in answer.to_pylist()
    )


def _with_terms(term: DataTerm) -> DataTerm:
    return DataTerm(term.label, tuple(_read(child) for child in term.children))


def _read(child: Child) -> Child:
    if isinstance(child, DataTerm) and len(child.children) == 1:
        (value,) = child.children
        if isinstance(value, str) and value.startswith('{"'):
            return DataTerm(child.label, (from_canonical(value),))
    return child


def comparable_events(events: Iterable[IntervalEvent]) -> set[Any]:
    """Events without what answers do not keep: the order of columns, and several values apart from several elements."""
    return {(event.begin, event.end, _shape(event.term)) for event in events}


def _shape(child: Child) -> Any:
    if not isinstance(child, DataTerm):
        return round(child, 9) if isinstance(child, float) else child
    by_label: dict[str, list[Any]] = {}
    for each in child.children:
        if (
            isinstance(each, DataTerm)
            and len(each.children) > 1
            and not any(isinstance(v, DataTerm) for v in each.children)
        ):
            by_label.setdefault(each.label, []).extend((each.label, (("", (_shape(v),)),)) for v in each.children)
        else:
            by_label.setdefault(each.label if isinstance(each, DataTerm) else "", []).append(_shape(each))
    return child.label, tuple(sorted(((label, tuple(found)) for label, found in by_label.items()), key=repr))
