"""Query plans with materialisation points (section 3.4.2): what is shared is computed and kept once.

A point is made of every relation that later steps need again: what a join looks up, and what waits for a timer. Two
that differ only in the names of events and variables are one point, renamed where it is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from ostinato.rules.algebra import nodes as cera
from ostinato.rules.algebra.canonical_names import Renaming, canonicalise

FORWARD = ("from-end", "from-start", "extend", "shift-forward")  # timers that end after what they are anchored on


def materialise(rules: Iterable[tuple[int, int, cera.Node]], taken: Iterable[str] = ()) -> cera.Plan:
    """The plan of rules in evaluation order, each with its number and that of its deployment. `taken` are names that
    other definitions have."""
    made = _Points(_names={name.lower() for name in taken})
    for number, since, node in rules:
        assert isinstance(node, cera.Construct) and isinstance(node.input, cera.Merge)
        made.since = since
        body = replace(node.input, input=made.visit(node.input.input))
        made.add(f"{node.head.label}_{number}", replace(node, input=body), number)
    return cera.Plan(tuple(made.definitions))


def waits_for_time(node: cera.Node) -> bool:
    """Whether the node's tuples may end after all of what they are made from: a timer, or a time set in advance."""
    if isinstance(node, cera.Join) and isinstance(node.right, cera.TimerStream):
        return node.right.timer.kind in FORWARD or waits_for_time(node.left)
    if isinstance(node, cera.Join) and isinstance(node.right, cera.FixedStream):
        return True
    return isinstance(node, cera.Select | cera.Project) and waits_for_time(node.input)


@dataclass
class _Points:
    """What was deployed later shares no points with what was there."""

    definitions: list[cera.Definition] = field(default_factory=list)
    since: int = 0
    _known: dict[tuple[int, cera.Node], tuple[cera.Point, Renaming]] = field(default_factory=dict)
    _names: set[str] = field(default_factory=set)

    def visit(self, node: cera.Node, *, again: bool = False) -> cera.Node:
        """The node over points; `again`: later steps look at it again, so it must be one itself."""
        if isinstance(node, cera.Match | cera.FixedStream) or waits_for_time(node):
            return self._point(self._over_points(node))
        node = self._over_points(node)
        return self._point(node) if again and not isinstance(node, cera.Point | cera.Rename) else node

    def _over_points(self, node: cera.Node) -> cera.Node:
        if isinstance(node, cera.Join) and isinstance(node.right, cera.AnyTimer):
            # A chain of timers waits once, for the last of them.
            left = self._over_points(node.left) if waits_for_time(node.left) else self.visit(node.left)
            return replace(node, left=left)
        if isinstance(node, cera.Join):
            return replace(node, left=self.visit(node.left, again=True), right=self.visit(node.right, again=True))
        if isinstance(node, cera.TemporalJoin | cera.AntiJoin):
            return replace(node, left=self.visit(node.left), right=self.visit(node.right, again=True))
        if isinstance(node, cera.Rows):
            return cera.Rows(self.visit(node.left), self.visit(node.versions))
        if isinstance(node, cera.Select | cera.Project | cera.Stamp):
            below = self._over_points(node.input) if waits_for_time(node.input) else self.visit(node.input)
            return replace(node, input=below)
        return node

    def _point(self, node: cera.Node) -> cera.Node:
        plain, mine = canonicalise(node)
        if (self.since, plain) in self._known:
            point, theirs = self._known[self.since, plain]
            events = _pairs(mine.events, theirs.events, point.schema.times)
            data = _pairs(mine.data, theirs.data, point.schema.data)
            return cera.Rename(events, data, point) if events or data else point
        point = cera.Point(self._name(node), node.schema)
        self._known[self.since, plain] = point, mine
        self.definitions.append(cera.Definition(point.name, node, since=self.since))
        return point

    def add(self, name: str, node: cera.Node, rule: int) -> None:
        name = self._unique(name)
        self.definitions.append(cera.Definition(name, node, rule, self.since))

    def _name(self, node: cera.Node) -> str:
        """After the paper: Temp_t for the matches of event t, B_n,i for what is made of them. With the number of the
        deployment, it is the same whatever else is deployed: snapshots have names."""
        if isinstance(node, cera.Match):
            label = node.stream.label if isinstance(node.stream, cera.TableStream) else node.stream
            is_name = isinstance(label, str) and label.isidentifier()
            kind = str(label) if is_name else "timer" if isinstance(label, cera.PeriodicStream) else "pattern"
        elif isinstance(node, cera.FixedStream):
            kind = "timer"
        elif isinstance(node, cera.Rows):
            kind = "rows"
        else:
            kind = "B" if any(isinstance(each, cera.AnyJoin) for each in cera.walk(node)) else "A"
        name = f"{kind}_{','.join(node.schema.times)}"
        return self._unique(f"{name}@{self.since}" if self.since else name)

    def _unique(self, name: str) -> str:
        found, number = name, 1
        while found.lower() in self._names:
            number += 1
            found = f"{name}{number}"
        self._names.add(found.lower())
        return found


def _pairs(mine: Sequence[str], theirs: Sequence[str], kept: Sequence[str]) -> tuple[tuple[str, str], ...]:
    return tuple((new, old) for new, old in zip(mine, theirs, strict=True) if new != old and old in kept)
