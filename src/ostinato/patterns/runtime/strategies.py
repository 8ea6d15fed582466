"""Selection strategies over complete matches (CEL paper, section 4), where no machine can apply them earlier."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np

from ostinato.core.arrays import Int64
from ostinato.core.stopwatch import Stopwatch
from ostinato.patterns.kernels.maximal import find_maximal
from ostinato.patterns.syntax.nodes import Strategy

Places = tuple[int, ...]
STRATEGY_KERNELS = (find_maximal,)
_STEPS = 1 << 24  # of a kernel at a time, some hundredths of a second


def select_matches(
    strategy: Strategy, numbers: Int64, groups: Int64, offsets: Int64, places: Int64, clock: Stopwatch | None = None
) -> Int64:
    """The matches among `numbers` that the strategy chooses, group by group: a group has one last event.

    `offsets` cut `places`, the events of each match as places in the stream, in ascending order.
    """
    if strategy == "MAX":
        return _maximal(numbers, groups, offsets, places, clock or Stopwatch(None))
    members: dict[int, dict[Places, list[int]]] = {}
    for number in numbers.tolist():
        event = tuple(places[offsets[number] : offsets[number + 1]].tolist())
        members.setdefault(int(groups[number]), {}).setdefault(event, []).append(number)
    chosen = {number for events in members.values() for number in events[_BEST[strategy](events)]}
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


def _maximal(numbers: Int64, groups: Int64, offsets: Int64, places: Int64, clock: Stopwatch) -> Int64:
    in_groups = numbers[np.argsort(groups[numbers], kind="stable")]
    kept, bits = np.zeros(len(numbers), np.uint8), np.zeros(len(numbers), np.int64)
    done = 0
    while done < len(numbers):
        done = find_maximal(in_groups, groups, offsets, places, done, _STEPS, bits, kept)
        clock.check()
    chosen: Int64 = np.sort(in_groups[kept == 1])
    return chosen


def _next(events: Iterable[Places]) -> Places:
    """≤next looks at the first place where two differ: the earlier event wins, and any event over none."""
    return min(events, key=lambda event: (*event, math.inf))


def _last(events: Iterable[Places]) -> Places:
    """≤last looks from the end: the later event wins, and any event over none."""
    return max(events, key=lambda event: (*reversed(event), -math.inf))


_BEST: dict[str, Callable[[Iterable[Places]], Places]] = {"NXT": _next, "LAST": _last}
