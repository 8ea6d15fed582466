"""What the conditions of a rule imply about how far its times lie apart: the basis of forgetting and of range joins.

A difference bound matrix over the begin and the end of every event of the rule, and the origin of time for absolute
timers: temporal relevance is determined statically, as Bry and Eckert (2008) do for garbage collection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import inf

from ostinato.rules.algebra import nodes as cera
from ostinato.rules.algebra.time_relations import RELATIONS, TIMERS, absolute_nanoseconds
from ostinato.rules.syntax.nodes import AbsoluteTimer, Condition, Formula, RelativeTimer, Temporal

Time = tuple[str, str] | None  # an identifier and "begin" or "end"; None: the origin of time


class DifferenceBounds:
    """`most(x, y)` is the least c that the rule is known to imply for x - y <= c.

    `longest` says of a stream how long its events last at most.
    """

    def __init__(self, node: cera.Node, where: Iterable[Condition], longest: Callable[[cera.Stream], float]) -> None:
        self._longest = longest
        self.contradictory = False  # whether no times can be as the rule says
        self._most: dict[tuple[Time, Time], float] = {}
        self._times: list[Time] = [None]
        self._read(node)
        for condition in where:
            self._condition(condition)
        self._close()

    def most(self, later: Time, earlier: Time) -> float:
        return 0 if later == earlier else self._most.get((later, earlier), inf)

    def longest(self, merge: cera.Merge) -> float:
        """How long the interval that is made lasts at most."""
        return max(self.most(one, other) for one in merge.times("end") for other in merge.times("begin"))

    def is_last(self, time: Time, events: Iterable[str]) -> bool:
        """Whether all of these events are known to have ended by then."""
        return all(self.most((each, "end"), time) <= 0 for each in events)

    def _read(self, node: cera.Node) -> None:
        for below in cera.inputs(node):
            self._read(below)
        if isinstance(node, cera.TimerStream):
            self._timer(node.timer)
        elif isinstance(node, cera.FixedStream):
            self._fixed(node.timer)
        elif isinstance(node, cera.TemporalJoin | cera.AntiJoin) and node.at:
            self._add((node.ident, "end"), (node.window, "end"), 0)
        elif isinstance(node, cera.TemporalJoin | cera.AntiJoin):
            self._add((node.window, "begin"), (node.ident, "begin"), 0)
            self._add((node.ident, "end"), (node.window, "end"), 0)
        elif isinstance(node, cera.Match):
            self._event(node.ident)
            self._add((node.ident, "end"), (node.ident, "begin"), self._longest(node.stream))

    def _event(self, ident: str) -> None:
        if (ident, "begin") not in self._times:
            self._times += [(ident, "begin"), (ident, "end")]
            self._add((ident, "begin"), (ident, "end"), 0)

    def _timer(self, timer: RelativeTimer) -> None:
        self._event(timer.ident)
        for side, (of, times) in zip(("begin", "end"), TIMERS[timer.kind], strict=True):
            self._equal((timer.ident, side), (timer.anchor, of), times * timer.duration.nanoseconds)

    def _fixed(self, timer: AbsoluteTimer) -> None:
        self._event(timer.ident)
        self._equal((timer.ident, "begin"), None, absolute_nanoseconds(timer.begin))
        self._equal((timer.ident, "end"), None, absolute_nanoseconds(timer.end))

    def _condition(self, condition: Condition) -> None:
        """Only what must hold: nothing follows for certain from disjunctions and negations."""
        if isinstance(condition, Formula) and condition.op == "and":
            for part in condition.parts:
                self._condition(part)
        elif isinstance(condition, Temporal) and condition.relation == "within":
            assert condition.duration is not None
            for one in condition.events:
                for other in condition.events:
                    self._add((one, "end"), (other, "begin"), condition.duration.nanoseconds)
        elif isinstance(condition, Temporal) and condition.relation in RELATIONS:
            left, right = condition.events
            for one, comparison, other in RELATIONS[condition.relation]:
                # Times are whole ticks, of a nanosecond at least.
                apart = 0 if comparison == "=" else -1
                if comparison in "<=":
                    self._add((left, one), (right, other), apart)
                if comparison in ">=":
                    self._add((right, other), (left, one), apart)

    def _equal(self, time: Time, other: Time, offset: int) -> None:
        self._add(time, other, offset)
        self._add(other, time, -offset)

    def _add(self, later: Time, earlier: Time, most: float) -> None:
        if most < inf:
            self._most[later, earlier] = min(most, self._most.get((later, earlier), inf))

    def _close(self) -> None:
        """Shortest paths (Floyd and Warshall): a bound over a bound is a bound."""
        for through in self._times:
            for later in self._times:
                first = self.most(later, through)
                if first < inf:
                    for earlier in self._times:
                        total = first + self.most(through, earlier)
                        if total < self.most(later, earlier):
                            self._most[later, earlier] = total
                            self.contradictory = self.contradictory or later == earlier


def annotate_joins(node: cera.Node, bounds: DifferenceBounds) -> cera.Node:
    """Every join with what is known about the times of its two sides."""
    below = tuple(annotate_joins(each, bounds) for each in cera.inputs(node))
    node = cera.with_inputs(node, below)
    if not isinstance(node, cera.AnyJoin) or isinstance(node.right, cera.AnyTimer):
        return node
    left, right = node.left.schema.times, node.right.schema.times
    if isinstance(node, cera.TemporalJoin | cera.AntiJoin) and node.at:
        return replace(node, keep_right=_keep_rows(node, bounds))
    near = _nearest(left, right, bounds)
    keep_right = _keep(right, left, bounds)
    if isinstance(node, cera.Join):
        return replace(node, near=near, keep_left=_keep(left, right, bounds), keep_right=keep_right)
    return replace(node, near=near, keep_right=keep_right)


def _sides(idents: Sequence[str]) -> list[tuple[str, str]]:
    return [(ident, side) for ident in idents for side in ("begin", "end")]


def _nearest(left: Sequence[str], right: Sequence[str], bounds: DifferenceBounds) -> cera.Near | None:
    """The two times, one of each side, whose distance is known best."""
    best: tuple[float, cera.Near] | None = None
    for one in _sides(left):
        for other in _sides(right):
            low, high = -bounds.most(one, other), bounds.most(other, one)
            if high - low < inf and (best is None or high - low < best[0]):
                best = high - low, cera.Near(one, other, int(low), int(high))
    return None if best is None else best[1]


def _keep_rows(node: cera.TemporalJoin | cera.AntiJoin, bounds: DifferenceBounds) -> tuple[cera.RelevanceBound, ...]:
    """For each event of the left side, how long after a row has been replaced it may end and still read it."""
    kept = []
    for event in node.left.schema.times:
        later = bounds.most((event, "end"), (node.window, "end"))
        until = (((node.ident, cera.UNTIL), int(later)),) if later < inf else ()
        kept.append(cera.RelevanceBound(event, until))
    return tuple(kept)


def _keep(mine: Sequence[str], others: Sequence[str], bounds: DifferenceBounds) -> tuple[cera.RelevanceBound, ...]:
    """For each event of the other side, how long after each of my times it may end."""
    kept = []
    for event in others:
        until: list[tuple[Time, float]] = [(time, bounds.most((event, "end"), time)) for time in (*_sides(mine), None)]
        known = {time: int(most) for time, most in until if most < inf}
        # No event begins after its end: what counts from the end says nothing more.
        for ident in mine:
            if known.get((ident, "begin"), inf) <= known.get((ident, "end"), -inf):
                del known[ident, "end"]
        kept.append(cera.RelevanceBound(event, tuple(known.items())))
    return tuple(kept)
