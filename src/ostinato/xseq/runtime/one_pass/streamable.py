"""Which queries one pass over the document answers, and why another has to be kept in memory."""

from __future__ import annotations

from ostinato.xseq.syntax.nodes import Axis, Kind, Leaf
from ostinato.xseq.walk.automaton import Jump
from ostinato.xseq.walk.program import AnswerKind, WalkProgram
from ostinato.xseq.walk.tables import WalkTables

MOST_LOCAL = 60


def find_obstacle(tables: WalkTables, *, longest: bool) -> str | None:
    """Why a query cannot be answered in one pass with its runs alone; None if it can."""
    program = tables.program
    walks = [walk for walk in (program.walk, program.keyed) if walk is not None]
    for move in (move for walk in walks for move in walk.moves):
        if isinstance(move.axis, Axis) and move.axis.backward:
            return f"the axis {move.axis} leads back to nodes that have passed"
    for walk in walks:
        for move in walk.moves:
            if move.axis in (Jump.BEGIN, Jump.AGAIN):
                return "a round of a repetition may end where it began"
            if isinstance(move.axis, Jump):
                return "a predicate with a path, or an intersection, may need nodes that come later"
            if move.checks:
                return "a predicate asks for more than a node's own attributes"
            if move.axis is Axis.ATTRIBUTE and move.local:
                return "a condition on an attribute itself"
            leaf = move.axis is Axis.ATTRIBUTE or (move.test is not None and move.test.kind in (Kind.TEXT, Kind.NODE))
            if leaf and walk.leaving[move.target]:
                return "a step leads on from an attribute or a text"
    for move in program.walk.leaving[0]:
        if move.axis is Axis.SELF:
            return "a step stays at the document node"
    if longest and program.answer is AnswerKind.NODES and any(move.binds for move in program.walk.moves):
        return "the longest matches of a path without `return`"
    if program.for_each:
        return "a condition compares every binding of a variable with what is known only at the end of a match"
    if len(tables.local) > MOST_LOCAL:
        return f"more than {MOST_LOCAL} conditions on single nodes"
    for source in tables.sources:
        if source.steps or source.leaf is Leaf.TEXT:
            return "a value below the bound node is needed"
        if source.leaf is Leaf.NODE and not _only_attributes(program):
            return "an element itself is needed as a value"
    return None


def _only_attributes(program: WalkProgram) -> bool:
    """Whether every variable whose node itself is needed is bound to attributes only."""
    bound = {slot.variable for slot in program.slots if slot.source is not None and slot.source.leaf is Leaf.NODE}
    return all(move.axis is Axis.ATTRIBUTE for move in program.walk.moves if move.binds in bound)
