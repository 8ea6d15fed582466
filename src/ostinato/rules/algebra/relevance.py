"""Garbage collection by temporal relevance: until when a tuple of a point can still take part in something new."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ostinato.rules.algebra import nodes as cera
from ostinato.rules.algebra.materialise import waits_for_time


@dataclass(frozen=True)
class PointUse:
    """One join that looks a point up again: in which definition, and for how long a tuple matters to it."""

    user: str
    bounds: tuple[cera.RelevanceBound, ...]  # each in the names of the point


@dataclass(frozen=True)
class Relevance:
    """What a point is kept for. Without a use, its tuples only wait for their own end."""

    uses: tuple[PointUse, ...]
    waits: bool

    @property
    def stored(self) -> bool:
        return bool(self.uses) or self.waits

    @property
    def unbounded(self) -> tuple[tuple[str, str], ...]:
        """(user, event): joins of `user` may wait for `event` for ever."""
        found = [(use.user, bound.event) for use in self.uses for bound in use.bounds if not bound.until]
        return tuple(dict.fromkeys(found))


def temporal_relevance(plan: cera.Plan) -> dict[str, Relevance]:
    """For every point of the plan that is not the result of a rule."""
    uses: dict[str, list[PointUse]] = {
        definition.name: [] for definition in plan.definitions if definition.rule is None
    }
    for definition in plan.definitions:
        for node in cera.walk(definition.node):
            if isinstance(node, cera.Join) and not isinstance(node.right, cera.AnyTimer):
                _note(definition, node.left, node.keep_left, uses)
            if isinstance(node, cera.AnyJoin) and not isinstance(node.right, cera.AnyTimer):
                _note(definition, node.right, node.keep_right, uses)
    return {
        name: Relevance(
            tuple(found),
            waits_for_time(plan.by_name[name].node) or isinstance(plan.by_name[name].node, cera.FixedStream),
        )
        for name, found in uses.items()
    }


def _note(
    definition: cera.Definition,
    node: cera.Node,
    bounds: tuple[cera.RelevanceBound, ...],
    uses: dict[str, list[PointUse]],
) -> None:
    names: dict[str, str] = {}
    if isinstance(node, cera.Rename):
        names, node = dict(node.events), node.input
    assert isinstance(node, cera.Point), "what is looked up again is materialised"
    mine = tuple(
        replace(
            bound,
            until=tuple((time and (names.get(time[0], time[0]), time[1]), most) for time, most in bound.until),
        )
        for bound in bounds
    )
    uses[node.name].append(PointUse(definition.name, mine))
