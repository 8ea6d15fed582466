"""Selection strategies over complete matches (CEL paper, section 4), where no machine can apply them earlier."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ostinato.core.arrays import Int64
from ostinato.patterns.limits import Stopwatch
from ostinato.patterns.syntax.nodes import Strategy

Places = tuple[int, ...]


def select_matches(
    strategy: Strategy, numbers: Int64, groups: Int64, offsets: Int64, places: Int64, clock: Stopwatch | None = None
) -> Int64:
    """The matches among `numbers` that the strategy chooses, group by group: a group has one last event.

    `offsets` cut `places`, the events of each match as places in the stream, in ascending order.
    """
    members: dict[int, dict[Places, list[int]]] = {}
    for number in numbers.tolist():
        event = tuple(places[offsets[number] : offsets[number + 1]].tolist())
        members.setdefault(int(groups[number]), {}).setdefault(event, []).append(number)
    chosen = {
        number
        for events in members.values()
        for event in _CHOOSE[strategy](list(events), clock or Stopwatch(None))
        for number in events[event]
    }
    return np.array([number for number in numbers.tolist() if number in chosen], np.int64)


def parts_of(wholes: Int64, numbers: Int64, groups: Int64, offsets: Int64, places: Int64) -> Int64:
    """The matches among `numbers` whose events are some, but not all, of those of a whole of their group."""
    larger: dict[int, list[frozenset[int]]] = {}
    for whole in wholes.tolist():
        larger.setdefault(int(groups[whole]), []).append(_events_of(whole, offsets, places))
    found = [
        number
        for number in numbers.tolist()
        if any(_events_of(number, offsets, places) < whole for whole in larger.get(int(groups[number]), ()))
    ]
    return np.array(found, np.int64)


def _events_of(number: int, offsets: Int64, places: Int64) -> frozenset[int]:
    return frozenset(places[offsets[number] : offsets[number + 1]].tolist())


def _next(events: list[Places], _: Stopwatch) -> list[Places]:
    """≤next looks at the first place where two differ: the earlier event wins, and any event over none."""
    return [min(events, key=lambda event: (*event, math.inf))]


def _last(events: list[Places], _: Stopwatch) -> list[Places]:
    """≤last looks from the end: the later event wins, and any event over none."""
    return [max(events, key=lambda event: (*reversed(event), -math.inf))]


def _maximal(events: list[Places], clock: Stopwatch) -> list[Places]:
    found: list[tuple[Places, frozenset[int]]] = []
    for event in sorted(events, key=len, reverse=True):
        clock.check()
        own = frozenset(event)
        if not any(own < larger for _, larger in found):
            found.append((event, own))
    return [event for event, _ in found]


_CHOOSE: dict[str, Callable[[list[Places], Stopwatch], list[Places]]] = {"NXT": _next, "LAST": _last, "MAX": _maximal}
