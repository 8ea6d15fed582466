"""What an answer shows of the events that rules derive: PRIVATE and `at most … per …`, straight from the definition."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ostinato.core.expressions import Variable
from ostinato.rules.semantics.fixpoint import SECOND
from ostinato.rules.syntax import nodes as n
from ostinato.rules.terms.data import Child, DataTerm, sort_key
from ostinato.rules.terms.event import IntervalEvent


def shown_events(
    rules: Sequence[n.NormalRule], derived: Iterable[IntervalEvent], ticks_per_second: int = SECOND
) -> frozenset[IntervalEvent]:
    """Of each label what its rules say, in the order of time; a label without PRIVATE or a limit is shown whole."""
    of_label = {rule.head.label: rule for rule in rules}
    shown: list[IntervalEvent] = []
    for event in sorted(derived, key=lambda each: (each.end, each.begin, _values(each.term))):
        rule = of_label[event.term.label]
        if rule.private:
            continue
        if rule.limit is not None:
            per = rule.limit.per.nanoseconds * ticks_per_second // SECOND
            before = [each for each in shown if each.term.label == event.term.label and each.end > event.end - per]
            if sum(_key(each, rule) == _key(event, rule) for each in before) >= rule.limit.most:
                continue
        shown.append(event)
    return frozenset(shown)


def _key(event: IntervalEvent, rule: n.NormalRule) -> list[Any]:
    """The children of the event that show the variables which the limit goes by."""
    assert rule.limit is not None
    labels = {
        child.label
        for child in rule.head.children
        if isinstance(child, n.Make)
        and any(
            isinstance(value, n.Value) and isinstance(value.expr, Variable) and value.expr.name in rule.limit.by
            for value in child.children
        )
    }
    return sorted((child for child in _elements(event.term) if child.label in labels), key=sort_key)


def _values(term: DataTerm) -> tuple[Any, ...]:
    """Child by child in the order of labels, as a row of the answer has them."""
    return tuple(map(sort_key, sorted(_elements(term), key=lambda child: child.label)))


def _elements(term: DataTerm) -> list[DataTerm]:
    """An element with several values is several elements."""
    found: list[DataTerm] = []
    for child in term.children:
        assert isinstance(child, DataTerm)
        plain: tuple[Child, ...] = tuple(each for each in child.children if not isinstance(each, DataTerm))
        found += [DataTerm(child.label, (each,)) for each in plain] if len(plain) > 1 else [child]
    return found
