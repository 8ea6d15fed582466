"""XSeq queries back to text: the canonical form, which reads as the same query. Columns are named after it."""

from __future__ import annotations

from enum import Enum

from ostinato.xseq.syntax.nodes import (
    Aggregate,
    Alias,
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
    Intersect,
    Item,
    Kind,
    Leaf,
    Negative,
    NodeTest,
    Not,
    Operand,
    Or,
    Path,
    Predicate,
    Reference,
    Relative,
    Star,
    Step,
    Union,
    XSeqQuery,
)
from ostinato.xseq.syntax.tokens import FUNCTIONS, KEYWORDS, NAME

_SHORT = {
    Axis.CHILD: "/",
    Axis.DESCENDANT: "//",
    Axis.ATTRIBUTE: "@",
    Axis.FIRST_CHILD: "/\\",
    Axis.IMMEDIATE_FOLLOWING_SIBLING: "\\",
}
_AXES = frozenset(map(str, Axis))
_WORDS = {"/": "div", "%": "mod"}
_SUM, _PRODUCT, _VALUE = range(3)  # how tightly an operator binds
_LEVEL = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "%": _PRODUCT}


def query_text(query: XSeqQuery) -> str:
    clauses = [path_text(query.path)]
    if query.items is not None:
        clauses = [f"return {', '.join(map(_item, query.items))}", f"from {clauses[0]}"]
    if query.where is not None:
        clauses.append(f"where {condition_text(query.where)}")
    if query.partition is not None:
        path = query.partition.path
        key = _joined(path.parts if isinstance(path, Concat) else (path,), _At.START)
        clauses.append(f"partition by {key}@{_name(query.partition.attribute)}")
    return " ".join(clauses)


def _item(item: Item) -> str:
    text = operand_text(item.operand)
    return text if item.name == text else f"{text} as {item.name}"


# Paths.


class _At(Enum):
    """Where a path stands, which says how a step to a following sibling is written."""

    START = 1  # of a query or predicate, or after a star: it needs its axis
    ENTRY = 2  # of a definition with an axis before it: it must have none
    INNER = 3  # after another step: it needs none


def path_text(path: Path) -> str:
    return _path(path, _At.START)


def _path(path: Path, at: _At) -> str:
    match path:
        case Step(axis=Axis.SELF, test=NodeTest(kind=Kind.NODE)) if at == _At.START:
            return f".{_predicates(path.predicates)}"
        case Union():
            return " union ".join(_bracketed(part, Union, at) for part in path.parts)
        case Intersect():
            return " intersect ".join(_bracketed(part, Union | Intersect, at) for part in path.parts)
        case Concat():
            return _joined(path.parts, at)
        case _:
            return _piece(path, at)


def _bracketed(path: Path, looser: type | object, at: _At) -> str:
    text = _path(path, at)
    return f"({text})" if isinstance(path, looser) else text  # type: ignore[arg-type]


def _joined(paths: tuple[Path, ...], at: _At) -> str:
    text = ""
    for index, path in enumerate(paths):
        piece = _piece(path, at)
        if index > 0 and isinstance(paths[index - 1], Star) and piece.startswith("@"):
            piece = f"/{piece}"  # (p)* @a could be a product
        text += piece if not text or piece[0] in "/@" else f" {piece}"
        at = _At.START if isinstance(path, Star) else _At.INNER
    return text


def _piece(path: Path, at: _At) -> str:
    match path:
        case Step():
            return _axis(path, at) + _test(path) + _predicates(path.predicates)
        case Star():
            body = _piece(path.body, at) if isinstance(path.body, Define) else f"({_path(path.body, at)})"
            return f"{body}*"
        case Define(entry=None):
            return f"(${path.variable}: {_path(path.body, at)})"
        case Define(entry=axis) if axis is not None:
            return f"{_SHORT.get(axis, f'{axis}::')}(${path.variable}: {_path(path.body, _At.ENTRY)})"
        case Call():
            return f"${path.variable}"
        case _:
            return f"({_path(path, at)})"


def _axis(step: Step, at: _At) -> str:
    if step.axis != Axis.FOLLOWING_SIBLING:
        return _SHORT.get(step.axis, f"{step.axis}::")
    return "" if at != _At.START and _alone(step, at) else f"{step.axis}::"


def _alone(step: Step, at: _At) -> bool:
    """Whether the test reads as one without an axis: a keyword does not, nor does * after another step."""
    if step.test.kind == Kind.NAME:
        word = step.test.name.lower()
        prefix, colon, _ = word.partition(":")
        axis = bool(colon) and prefix.replace("-", "_") in _AXES
        return bool(NAME.fullmatch(word)) and word not in KEYWORDS and word not in FUNCTIONS and not axis
    return step.variable is not None or step.test.kind != Kind.ANY or at == _At.ENTRY


def _test(step: Step) -> str:
    if step.variable is not None:
        return f"${step.variable}"
    if step.test.kind == Kind.NAME:
        return _name(step.test.name)
    return {Kind.ANY: "*", Kind.NODE: "node()", Kind.TEXT: "text()"}[step.test.kind]


def _name(name: str) -> str:
    return name if NAME.fullmatch(name) else _quoted(name)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _predicates(predicates: tuple[Predicate, ...]) -> str:
    return "".join(
        f"[{path_text(predicate.path)}]"
        if isinstance(predicate, Exists)
        else f"[{condition_text(predicate.condition, inside=True)}]"
        for predicate in predicates
    )


# Values and conditions. `inside` of a predicate, where * may repeat a path, × multiplies.


def condition_text(condition: Condition, *, inside: bool = False) -> str:
    match condition:
        case Comparison():
            left, right = operand_text(condition.left, inside=inside), operand_text(condition.right, inside=inside)
            return f"{left} {condition.operator} {right}"
        case Not():
            return f"not({condition_text(condition.part, inside=inside)})"
        case And():
            return " and ".join(_part(part, And | Or, inside) for part in condition.parts)
        case Or():
            return " or ".join(_part(part, Or, inside) for part in condition.parts)


def _part(condition: Condition, looser: type | object, inside: bool) -> str:
    text = condition_text(condition, inside=inside)
    return f"({text})" if isinstance(condition, looser) else text  # type: ignore[arg-type]


def operand_text(operand: Operand, *, inside: bool = False) -> str:
    match operand:
        case Constant(value=str(value)):
            return _quoted(value)
        case Constant():
            return repr(operand.value)
        case Reference():
            return _reference(operand)
        case Relative(leaf=Leaf.TAG):
            return f"tag({path_text(operand.path)})"
        case Relative():
            return path_text(operand.path)
        case Arithmetic():
            level = _LEVEL[operand.operator]
            left = _operand(operand.left, level, inside)
            right = _operand(operand.right, level + 1, inside)
            product = operand.operator == "*" and inside and not isinstance(operand.right, Constant)
            return f"{left} {'×' if product else _WORDS.get(operand.operator, operand.operator)} {right}"
        case Negative():
            return f"-{_operand(operand.operand, _VALUE, inside)}"
        case Aggregate():
            return f"{operand.function}({operand_text(operand.operand, inside=inside)})"


def _operand(operand: Operand, level: int, inside: bool) -> str:
    text = operand_text(operand, inside=inside)
    return f"({text})" if isinstance(operand, Arithmetic) and _LEVEL[operand.operator] < level else text


def _reference(reference: Reference) -> str:
    owner = reference.variable if reference.within is None else reference.within
    text = f"${owner}" if reference.alias == Alias.PLAIN else f"{reference.alias}(${owner})"
    if reference.within is not None:
        text += f" ${reference.variable}"
    for axis, name in reference.steps:
        plain = axis in _SHORT and NAME.fullmatch(name)
        text += f"{_SHORT[axis]}{name}" if plain else f" {axis}::{_name(name)}"
    match reference.leaf:
        case Leaf.ATTRIBUTE:
            return f"{text}@{_name(reference.name)}"
        case Leaf.TEXT:
            return f"{text}/text()"
        case Leaf.TAG:
            return f"tag({text})"
        case Leaf.NODE:
            return text
