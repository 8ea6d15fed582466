"""A predicate path that binds nothing only has to lead somewhere: it becomes a condition on the node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ostinato.xseq.syntax import nodes as n

EXISTS = "exists"  # a comparison with this operator holds when its left side, behind `self::node()`, reaches a node

Definitions = Mapping[str, n.Define]


def close_conditions(query: n.Query) -> n.Query:
    """The query with every predicate `[p]` that binds nothing as a condition."""
    defined = {each.variable: each for each in n.subpaths(query.path) if isinstance(each, n.Define)}
    return replace(query, path=_open(query.path, defined))


def close_path(path: n.Path, defined: Definitions, inside: frozenset[str] = frozenset()) -> n.Path:
    """A path without variables, whose calls are answered by definitions in it, and whose predicates are conditions."""
    match path:
        case n.Step():
            found = tuple(n.Holds(_plain_predicate(each, defined)) for each in path.predicates)
            return replace(path, variable=None, predicates=found)
        case n.Concat() | n.Union() | n.Intersect():
            return replace(path, parts=tuple(close_path(part, defined, inside) for part in path.parts))
        case n.Star():
            return replace(path, body=close_path(path.body, defined, inside))
        case n.Define():
            return replace(path, body=close_path(path.body, defined, inside | {path.variable}))
        case n.Call():
            if path.variable in inside:
                return path
            return close_path(replace(defined[path.variable], entry=None), defined, inside)


def _open(path: n.Path, defined: Definitions) -> n.Path:
    match path:
        case n.Step():
            return replace(path, predicates=tuple(_predicate(each, defined) for each in path.predicates))
        case n.Concat() | n.Union() | n.Intersect():
            return replace(path, parts=tuple(_open(part, defined) for part in path.parts))
        case n.Star() | n.Define():
            return replace(path, body=_open(path.body, defined))
        case n.Call():
            return path


def _predicate(predicate: n.Predicate, defined: Definitions) -> n.Predicate:
    if isinstance(predicate, n.Holds):
        return n.Holds(_plain_condition(predicate.condition, defined), predicate.span)
    if _binds(predicate.path, defined):
        return replace(predicate, path=_open(predicate.path, defined))
    return n.Holds(_plain_predicate(predicate, defined), predicate.span)


def _plain_predicate(predicate: n.Predicate, defined: Definitions) -> n.Condition:
    if isinstance(predicate, n.Holds):
        return _plain_condition(predicate.condition, defined)
    here = n.Step(n.Axis.SELF, n.NodeTest(n.Kind.NODE))
    return n.Comparison(EXISTS, n.Relative(n.Concat((here, close_path(predicate.path, defined)))), n.Constant(""))


def _plain_condition(condition: n.Condition, defined: Definitions) -> n.Condition:
    match condition:
        case n.Comparison():
            left, right = _plain_operand(condition.left, defined), _plain_operand(condition.right, defined)
            if condition.operator == "=" and left == right and isinstance(left, n.Relative):  # a path among conditions
                here = n.Step(n.Axis.SELF, n.NodeTest(n.Kind.NODE))
                return n.Comparison(EXISTS, n.Relative(n.Concat((here, left.path))), n.Constant(""))
            return replace(condition, left=left, right=right)
        case n.And() | n.Or():
            return replace(condition, parts=tuple(_plain_condition(part, defined) for part in condition.parts))
        case n.Not():
            return replace(condition, part=_plain_condition(condition.part, defined))


def _plain_operand(operand: n.Operand, defined: Definitions) -> n.Operand:
    match operand:
        case n.Relative():
            return replace(operand, path=close_path(operand.path, defined))
        case n.Arithmetic():
            return replace(
                operand, left=_plain_operand(operand.left, defined), right=_plain_operand(operand.right, defined)
            )
        case n.Negative():
            return replace(operand, operand=_plain_operand(operand.operand, defined))
        case _:
            return operand


def _binds(path: n.Path, defined: Definitions, inside: frozenset[str] = frozenset()) -> bool:
    if isinstance(path, n.Step):
        paths = [each.path for each in path.predicates if isinstance(each, n.Exists)]
        return path.variable is not None or any(_binds(each, defined, inside) for each in paths)
    if isinstance(path, n.Call):
        name = path.variable
        return name not in inside and _binds(defined[name].body, defined, inside | {name})
    return any(_binds(part, defined, inside) for part in n.parts(path))


def readable_predicate(condition: n.Condition) -> n.Predicate:
    """A condition as a predicate that a query could have, for `explain`."""
    match condition:
        case n.Comparison(operator="exists", left=n.Relative(path=n.Concat(parts=(_, path)))):
            return n.Exists(path)
        case _:
            return n.Holds(_readable(condition))


def _readable(condition: n.Condition) -> n.Condition:
    match condition:
        case n.Comparison(operator="exists", left=n.Relative(path=n.Concat(parts=(_, path)))):
            return n.Comparison("=", n.Relative(path), n.Relative(path))
        case n.And() | n.Or():
            return replace(condition, parts=tuple(map(_readable, condition.parts)))
        case n.Not():
            return replace(condition, part=_readable(condition.part))
        case _:
            return condition
