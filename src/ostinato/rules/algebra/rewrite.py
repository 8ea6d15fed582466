"""Rewrites that make a rule's expression cheaper and keep what it means: each is a pass that can be looked at."""

from __future__ import annotations

from dataclasses import replace

from ostinato.core.expressions import Call
from ostinato.rules.algebra.nodes import (
    AntiJoin,
    Construct,
    Join,
    Match,
    Merge,
    Node,
    Project,
    Select,
    TemporalJoin,
    TimerStream,
    condition_events,
    inputs,
    walk,
    with_inputs,
)
from ostinato.rules.syntax.heads import groups
from ostinato.rules.syntax.nodes import Condition, Data, Formula
from ostinato.rules.syntax.variables import used


def early_negation(node: Node) -> Node:
    """L ⋈ R ▷ S = L ▷ S ⋈ R where S shares nothing with what R adds: fewer tuples collect."""
    node = with_inputs(node, tuple(map(early_negation, inputs(node))))
    if isinstance(node, AntiJoin) and isinstance(node.left, TemporalJoin):
        collect = node.left
        added = set(collect.right.schema.data) - set(collect.left.schema.data)
        if not added & set(node.right.schema.data):
            return replace(collect, left=early_negation(replace(node, left=collect.left)))
    return node


def push_selections(node: Node) -> Node:
    """σ as near to its relations as it can be (section 3.4.2)."""
    if isinstance(node, Select):
        below = push_selections(node.input)
        for condition in node.conditions:
            for part in _conjuncts(condition):
                below = _push(part, below)
        return below
    return with_inputs(node, tuple(map(push_selections, inputs(node))))


def _conjuncts(condition: Condition) -> list[Condition]:
    if isinstance(condition, Formula) and condition.op == "and":
        return [each for part in condition.parts for each in _conjuncts(part)]
    if isinstance(condition, Data) and isinstance(condition.expr, Call) and condition.expr.op == "and":
        return [each for part in condition.expr.args for each in _conjuncts(Data(part, part.span))]
    return [condition]


def _push(condition: Condition, node: Node) -> Node:
    if isinstance(node, Select):
        below = _push(condition, node.input)
        if below == Select((condition,), node.input):  # it can go no deeper
            return Select((*node.conditions, condition), node.input)
        return replace(node, input=below)
    if isinstance(node, AntiJoin):
        return replace(node, left=_push(condition, node.left))
    if isinstance(node, Join | TemporalJoin):
        # A condition on shared variables goes to both sides. What is collected has lost its times.
        # When a timer goes off is known where it is joined with its event.
        left = _covers(node.left, condition)
        right = _covers(node.right, condition) and (isinstance(node, Join) or not condition_events(condition))
        right = right and not isinstance(node.right, TimerStream)
        if left or right:
            return replace(
                node,
                left=_push(condition, node.left) if left else node.left,
                right=_push(condition, node.right) if right else node.right,
            )
    return Select((condition,), node)


def _covers(node: Node, condition: Condition) -> bool:
    schema = node.schema
    read = frozenset(used(condition))
    # A condition without variables (1 = 1) has no better place than where it is.
    return (
        condition_events(condition) <= set(schema.times)
        and read <= set(schema.data)
        and bool(read or condition_events(condition))
    )


def narrow(node: Node, wanted: frozenset[str] = frozenset()) -> Node:
    """π: variables that nobody above reads are not kept."""
    if isinstance(node, Construct):
        wanted = frozenset(used(node.head))
        if groups(node.head):
            wanted |= _decisive(node.input) & node.trace
        return replace(node, input=narrow(node.input, wanted))
    if isinstance(node, Merge):
        return replace(node, input=narrow(node.input, wanted))
    if isinstance(node, Select):
        read = frozenset().union(*map(used, node.conditions))
        return _project(replace(node, input=narrow(node.input, wanted | read)), wanted)
    if isinstance(node, AntiJoin):
        shared = frozenset(node.right.schema.data) & frozenset(node.left.schema.data)
        left = narrow(node.left, wanted | shared)
        return replace(node, left=left, right=narrow(node.right, shared))
    if isinstance(node, Join | TemporalJoin):
        shared = frozenset(node.right.schema.data) & frozenset(node.left.schema.data)
        return replace(node, left=narrow(node.left, wanted | shared), right=narrow(node.right, wanted | shared))
    return _project(node, wanted) if isinstance(node, Match) else node


def _decisive(node: Node) -> frozenset[str]:
    """What decides, beside the times, about what is collected: where these differ, so do the groups."""
    found: frozenset[str] = frozenset()
    if not any(isinstance(below, TemporalJoin) for below in walk(node)):
        return found
    if isinstance(node, Select):
        found = frozenset().union(*map(used, node.conditions))
    elif isinstance(node, TemporalJoin | AntiJoin):
        found = frozenset(node.right.schema.data) & frozenset(node.left.schema.data)
    return found.union(*map(_decisive, inputs(node)))


def _project(node: Node, wanted: frozenset[str]) -> Node:
    kept = tuple(name for name in node.schema.data if name in wanted)
    return node if kept == node.schema.data else Project(kept, node)
