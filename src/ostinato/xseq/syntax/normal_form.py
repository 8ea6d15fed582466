"""Conditions on variables speak of the whole match, so they move from predicates to where (Definition 5.3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ostinato.errors import QueryError
from ostinato.xseq.syntax import nodes as n
from ostinato.xseq.syntax.variables import conditions


def normalise(query: n.Query) -> n.Query:
    """The same query, whose predicates look at nothing but the nodes below them: `\\$X[@a < prev($X)@a]` is
    `\\$X … where $X@a < prev($X)@a`. A moved condition holds for every node of its variables, wherever they stand."""
    moved: list[n.Condition] = []
    path = _without(query.path, moved)
    if not moved:
        return query
    every = (*n.conjuncts(query.where), *moved)
    return replace(query, path=path, where=every[0] if len(every) == 1 else n.And(every))


def _without(path: n.Path, moved: list[n.Condition]) -> n.Path:
    """The path without conditions that mention variables, which are added to `moved`."""
    match path:
        case n.Step():
            kept = tuple(predicate for old in path.predicates for predicate in _predicate(path, old, moved))
            return replace(path, predicates=kept)
        case n.Concat() | n.Union() | n.Intersect():
            return replace(path, parts=tuple(_without(part, moved) for part in path.parts))
        case n.Star() | n.Define():
            return replace(path, body=_without(path.body, moved))
        case _:
            return path


def _predicate(step: n.Step, predicate: n.Predicate, moved: list[n.Condition]) -> Iterator[n.Predicate]:
    if isinstance(predicate, n.Exists):
        yield replace(predicate, path=_without(predicate.path, moved))
        return
    kept = []
    for part in n.conjuncts(predicate.condition):
        if any(isinstance(operand, n.Reference) for operand in n.operands(part)):
            moved.append(_of_match(part, step))
        else:
            _check_nested(part)
            kept.append(part)
    if kept:
        yield replace(predicate, condition=kept[0] if len(kept) == 1 else n.And(tuple(kept), predicate.span))


def _check_nested(condition: n.Condition) -> None:
    """Where a path is compared, what its own predicates say of variables cannot move: there is no node to say it of."""
    for operand in n.operands(condition):
        if isinstance(operand, n.Relative):
            for _, holds in conditions(operand.path):
                _check_holds(holds)


def _check_holds(holds: n.Holds) -> None:
    for operand in n.operands(holds.condition):
        if isinstance(operand, n.Reference):
            fix = "bind the node in a predicate of its own, and compare it in where: //a[/$Y] where $Y@a = $X@a"
            raise QueryError("a path that is compared cannot mention variables", span=operand.span, fix=fix)
    _check_nested(holds.condition)


def _of_match(condition: n.Condition, step: n.Step) -> n.Condition:
    """The condition, with what it says of the step's node said of the step's variable."""
    match condition:
        case n.Comparison():
            return replace(condition, left=_operand(condition.left, step), right=_operand(condition.right, step))
        case n.And() | n.Or():
            return replace(condition, parts=tuple(_of_match(part, step) for part in condition.parts))
        case n.Not():
            return replace(condition, part=_of_match(condition.part, step))


def _operand(operand: n.Operand, step: n.Step) -> n.Operand:
    match operand:
        case n.Relative():
            return _of_variable(operand, step)
        case n.Arithmetic():
            return replace(operand, left=_operand(operand.left, step), right=_operand(operand.right, step))
        case n.Negative() | n.Aggregate():
            return replace(operand, operand=_operand(operand.operand, step))
        case _:
            return operand


def _of_variable(relative: n.Relative, step: n.Step) -> n.Reference:
    """`@a`, `.` or `tag()` of the step's variable: what a node has one of."""
    if step.variable is None:
        fix = "write a variable for the step, and its name as a condition: $X[tag($X) = 'a' and …]"
        raise QueryError("a condition on variables and on this node needs a variable here", span=relative.span, fix=fix)
    path = relative.path
    if isinstance(path, n.Step) and not path.predicates:
        if path.axis == n.Axis.SELF and path.test.kind == n.Kind.NODE:
            return n.Reference(step.variable, leaf=relative.leaf, span=relative.span)
        if path.axis == n.Axis.ATTRIBUTE and path.test.kind == n.Kind.NAME and relative.leaf == n.Leaf.NODE:
            return n.Reference(step.variable, leaf=n.Leaf.ATTRIBUTE, name=path.test.name, span=relative.span)
    fix = f"bind the other node in a predicate: ${step.variable}[/$Y] where …, or write ${step.variable}/a/text()"
    raise QueryError("a condition on variables cannot also follow a path", span=relative.span, fix=fix)
