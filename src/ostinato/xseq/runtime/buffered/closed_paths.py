"""Paths that bind nothing are asked only whether they lead somewhere: such predicates become conditions on a node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from ostinato.xseq.syntax.nodes import (
    And,
    Arithmetic,
    Axis,
    Call,
    Comparison,
    Concat,
    Condition,
    Constant,
    Define,
    Exists,
    Holds,
    Intersect,
    Kind,
    Negative,
    NodeTest,
    Not,
    Operand,
    Or,
    Path,
    Predicate,
    Relative,
    Star,
    Step,
    Union,
    XSeqQuery,
    parts,
)

EXISTS = "exists"  # a comparison with this operator holds when its left side, behind `self::node()`, reaches a node

Definitions = Mapping[str, Define]


def with_conditions(query: XSeqQuery) -> XSeqQuery:
    """The query with every predicate `[p]` that binds nothing as a condition."""
    defined = {each.variable: each for each in _definitions(query.path)}
    return replace(query, path=_open(query.path, defined))


def plain(path: Path, defined: Definitions, inside: frozenset[str] = frozenset()) -> Path:
    """A path without variables, whose calls are answered by definitions in it, and whose predicates are conditions."""
    match path:
        case Step():
            found = tuple(Holds(_plain_predicate(each, defined)) for each in path.predicates)
            return replace(path, variable=None, predicates=found)
        case Concat() | Union() | Intersect():
            return replace(path, parts=tuple(plain(part, defined, inside) for part in path.parts))
        case Star():
            return replace(path, body=plain(path.body, defined, inside))
        case Define():
            return replace(path, body=plain(path.body, defined, inside | {path.variable}))
        case Call():
            if path.variable in inside:
                return path
            return plain(replace(defined[path.variable], entry=None), defined, inside)


def _open(path: Path, defined: Definitions) -> Path:
    match path:
        case Step():
            return replace(path, predicates=tuple(_predicate(each, defined) for each in path.predicates))
        case Concat() | Union() | Intersect():
            return replace(path, parts=tuple(_open(part, defined) for part in path.parts))
        case Star() | Define():
            return replace(path, body=_open(path.body, defined))
        case Call():
            return path


def _predicate(predicate: Predicate, defined: Definitions) -> Predicate:
    if isinstance(predicate, Holds):
        return Holds(_plain_condition(predicate.condition, defined), predicate.span)
    if _binds(predicate.path, defined):
        return replace(predicate, path=_open(predicate.path, defined))
    return Holds(_plain_predicate(predicate, defined), predicate.span)


def _plain_predicate(predicate: Predicate, defined: Definitions) -> Condition:
    if isinstance(predicate, Holds):
        return _plain_condition(predicate.condition, defined)
    here = Step(Axis.SELF, NodeTest(Kind.NODE))
    return Comparison(EXISTS, Relative(Concat((here, plain(predicate.path, defined)))), Constant(""))


def _plain_condition(condition: Condition, defined: Definitions) -> Condition:
    match condition:
        case Comparison():
            left, right = _plain_operand(condition.left, defined), _plain_operand(condition.right, defined)
            if condition.operator == "=" and left == right and isinstance(left, Relative):  # a path among conditions
                here = Step(Axis.SELF, NodeTest(Kind.NODE))
                return Comparison(EXISTS, Relative(Concat((here, left.path))), Constant(""))
            return replace(condition, left=left, right=right)
        case And() | Or():
            return replace(condition, parts=tuple(_plain_condition(part, defined) for part in condition.parts))
        case Not():
            return replace(condition, part=_plain_condition(condition.part, defined))


def _plain_operand(operand: Operand, defined: Definitions) -> Operand:
    match operand:
        case Relative():
            return replace(operand, path=plain(operand.path, defined))
        case Arithmetic():
            return replace(
                operand, left=_plain_operand(operand.left, defined), right=_plain_operand(operand.right, defined)
            )
        case Negative():
            return replace(operand, operand=_plain_operand(operand.operand, defined))
        case _:
            return operand


def _binds(path: Path, defined: Definitions, inside: frozenset[str] = frozenset()) -> bool:
    if isinstance(path, Step):
        paths = [each.path for each in path.predicates if isinstance(each, Exists)]
        return path.variable is not None or any(_binds(each, defined, inside) for each in paths)
    if isinstance(path, Call):
        name = path.variable
        return name not in inside and _binds(defined[name].body, defined, inside | {name})
    return any(_binds(part, defined, inside) for part in parts(path))


def _definitions(path: Path) -> Iterator[Define]:
    if isinstance(path, Define):
        yield path
    if isinstance(path, Step):
        for predicate in path.predicates:
            if isinstance(predicate, Exists):
                yield from _definitions(predicate.path)
    for part in parts(path):
        yield from _definitions(part)
