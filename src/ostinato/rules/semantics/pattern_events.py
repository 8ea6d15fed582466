"""Which events a pattern inside of a rule reads, and in which order: the definition."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Sequence
from typing import Any

from ostinato.rules.terms.data import DataTerm
from ostinato.rules.terms.event import IntervalEvent


def events_read(
    happening: Iterable[IntervalEvent],
    incoming: Container[IntervalEvent],
    labels: Collection[str],
    attributes: Sequence[str],
) -> list[IntervalEvent]:
    """The events of `labels`; without any, those that come in. In order of their end; of those that end together, first
    what comes in, then by begin, label, and the values of `attributes`, where one that is missing comes last."""
    read = [event for event in happening if (event.term.label in labels if labels else event in incoming)]

    def place(event: IntervalEvent) -> tuple[Any, ...]:
        values = attribute_values(event.term)
        shown = [(values.get(name) is None, values.get(name)) for name in attributes]
        return event.end, event not in incoming, event.begin, event.term.label, shown

    return sorted(read, key=place)


def attribute_values(term: DataTerm) -> dict[str, Any]:
    """The plain values of the children of an event."""
    return {
        child.label: child.children[0]
        for child in term.children
        if isinstance(child, DataTerm) and len(child.children) == 1 and not isinstance(child.children[0], DataTerm)
    }
