"""Rewrites that make a rule's expression cheaper and keep its meaning, one pass each."""

from __future__ import annotations

from dataclasses import replace

from ostinato.core.expressions import Call
from ostinato.rules.algebra import nodes as cera
from ostinato.rules.syntax.grouping import aggregates_in
from ostinato.rules.syntax.nodes import Condition, Data, Formula
from ostinato.rules.syntax.variables import used_variables


def push_antijoins(node: cera.Node) -> cera.Node:
    """L ⋈ R ▷ S = L ▷ S ⋈ R where S shares nothing with what R adds: negate first, so that fewer tuples collect."""
    node = cera.with_inputs(node, tuple(map(push_antijoins, cera.inputs(node))))
    if isinstance(node, cera.AntiJoin) and isinstance(node.left, cera.TemporalJoin):
        collect = node.left
        added = set(collect.right.schema.data) - set(collect.left.schema.data)
        if not added & set(node.right.schema.data):
            return replace(collect, left=push_antijoins(replace(node, left=collect.left)))
    return node


def push_selections(node: cera.Node) -> cera.Node:
    """σ as near to its relations as it can be (section 3.4.2)."""
    if isinstance(node, cera.Select):
        below = push_selections(node.input)
        for condition in node.conditions:
            for part in _conjuncts(condition):
                below = _push(part, below)
        return below
    return cera.with_inputs(node, tuple(map(push_selections, cera.inputs(node))))


def _conjuncts(condition: Condition) -> list[Condition]:
    if isinstance(condition, Formula) and condition.op == "and":
        return [each for part in condition.parts for each in _conjuncts(part)]
    if isinstance(condition, Data) and isinstance(condition.expr, Call) and condition.expr.op == "and":
        return [each for part in condition.expr.args for each in _conjuncts(Data(part, part.span))]
    return [condition]


def _push(condition: Condition, node: cera.Node) -> cera.Node:
    if isinstance(node, cera.Select):
        below = _push(condition, node.input)
        if below == cera.Select((condition,), node.input):  # it can go no deeper
            return cera.Select((*node.conditions, condition), node.input)
        return replace(node, input=below)
    if isinstance(node, cera.Rows):  # a row that does not match has its versions all the same
        return replace(node, left=_push(condition, node.left))
    if isinstance(node, cera.Stamp) and _covers(node.input, condition):
        return replace(node, input=_push(condition, node.input))
    if isinstance(node, cera.AntiJoin):
        return replace(node, left=_push(condition, node.left))
    if isinstance(node, cera.Join | cera.TemporalJoin):
        # A condition on shared variables goes to both sides. What is collected has lost its times.
        # When a timer goes off is known where it is joined with its event.
        left = _covers(node.left, condition)
        right = _covers(node.right, condition) and (isinstance(node, cera.Join) or not cera.condition_events(condition))
        right = right and not isinstance(node.right, cera.TimerStream)
        if left or right:
            return replace(
                node,
                left=_push(condition, node.left) if left else node.left,
                right=_push(condition, node.right) if right else node.right,
            )
    return cera.Select((condition,), node)


def _covers(node: cera.Node, condition: Condition) -> bool:
    schema = node.schema
    read = frozenset(used_variables(condition))
    # A condition without variables (1 = 1) has no better place than where it is.
    return (
        cera.condition_events(condition) <= set(schema.times)
        and read <= set(schema.data)
        and bool(read or cera.condition_events(condition))
    )


def push_projections(node: cera.Node, wanted: frozenset[str] = frozenset()) -> cera.Node:
    """π as near to its relations as it can be: variables that nothing above reads are dropped."""
    if isinstance(node, cera.Construct):
        wanted = frozenset().union(*map(used_variables, node.parts))
        wanted = wanted.union(*(node.counted(each)[0] for part in node.parts for each in aggregates_in(part)))
        if node.is_grouped:
            wanted |= _decisive(node.input) & node.trace
        return replace(node, input=push_projections(node.input, wanted))
    if isinstance(node, cera.Merge):
        return replace(node, input=push_projections(node.input, wanted))
    if isinstance(node, cera.Select):
        read = frozenset().union(*map(used_variables, node.conditions))
        return _project(replace(node, input=push_projections(node.input, wanted | read)), wanted)
    if isinstance(node, cera.Stamp):
        return replace(node, input=push_projections(node.input, wanted))
    if isinstance(node, cera.Rows):
        return replace(node, left=push_projections(node.left, wanted | frozenset(node.versions.schema.data)))
    if isinstance(node, cera.AntiJoin):
        shared = frozenset(node.right.schema.data) & frozenset(node.left.schema.data)
        left = push_projections(node.left, wanted | shared)
        return replace(node, left=left, right=push_projections(node.right, shared))
    if isinstance(node, cera.Join | cera.TemporalJoin):
        shared = frozenset(node.right.schema.data) & frozenset(node.left.schema.data)
        return replace(
            node, left=push_projections(node.left, wanted | shared), right=push_projections(node.right, wanted | shared)
        )
    return _project(node, wanted) if isinstance(node, cera.Match) else node


def _decisive(node: cera.Node) -> frozenset[str]:
    """What decides, beside the times, about what is collected: where these differ, so do the groups."""
    found: frozenset[str] = frozenset()
    if not any(isinstance(below, cera.TemporalJoin) for below in cera.walk(node)):
        return found
    if isinstance(node, cera.Select):
        found = frozenset().union(*map(used_variables, node.conditions))
    elif isinstance(node, cera.TemporalJoin | cera.AntiJoin):
        found = frozenset(node.right.schema.data) & frozenset(node.left.schema.data)
    return found.union(*map(_decisive, cera.inputs(node)))


def _project(node: cera.Node, wanted: frozenset[str]) -> cera.Node:
    kept = tuple(name for name in node.schema.data if name in wanted)
    return node if kept == node.schema.data else cera.Project(kept, node)
