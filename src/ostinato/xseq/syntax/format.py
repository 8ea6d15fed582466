"""XSeq queries back to text: the canonical form, which reads as the same query. Columns are named after it."""

from __future__ import annotations

from enum import Enum

from ostinato.xseq.syntax import nodes as n
from ostinato.xseq.syntax.tokens import FUNCTIONS, KEYWORDS, NAME

_SHORT = {
    n.Axis.CHILD: "/",
    n.Axis.DESCENDANT: "//",
    n.Axis.ATTRIBUTE: "@",
    n.Axis.FIRST_CHILD: "/\\",
    n.Axis.IMMEDIATE_FOLLOWING_SIBLING: "\\",
}
_AXES = frozenset(map(str, n.Axis))
_WORDS = {"/": "div", "%": "mod"}
_SUM, _PRODUCT, _VALUE = range(3)  # how tightly an operator binds
_LEVEL = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT, "%": _PRODUCT}


def query_text(query: n.Query) -> str:
    clauses = [path_text(query.path)]
    if query.items is not None:
        clauses = [f"return {', '.join(map(_item, query.items))}", f"from {clauses[0]}"]
    if query.where is not None:
        clauses.append(f"where {condition_text(query.where)}")
    if query.partition is not None:
        path = query.partition.path
        key = _join(path.parts if isinstance(path, n.Concat) else (path,), _At.START)
        clauses.append(f"partition by {key}@{_name(query.partition.attribute)}")
    return " ".join(clauses)


def _item(item: n.Item) -> str:
    text = operand_text(item.operand)
    return text if item.name == text else f"{text} as {item.name}"


# Paths.


class _At(Enum):
    """Where a path stands, which says how a step to a following sibling is written."""

    START = 1  # of a query or predicate, or after a star: it needs its axis
    ENTRY = 2  # of a definition with an axis before it: it must have none
    INNER = 3  # after another step: it needs none


def path_text(path: n.Path) -> str:
    return _path(path, _At.START)


def _path(path: n.Path, at: _At) -> str:
    match path:
        case n.Step(axis=n.Axis.SELF, test=n.NodeTest(kind=n.Kind.NODE)) if at == _At.START:
            return f".{_predicates(path.predicates)}"
        case n.Union():
            return " union ".join(_bracket(part, n.Union, at) for part in path.parts)
        case n.Intersect():
            return " intersect ".join(_bracket(part, n.Union | n.Intersect, at) for part in path.parts)
        case n.Concat():
            return _join(path.parts, at)
        case _:
            return _piece(path, at)


def _bracket(path: n.Path, looser: type | object, at: _At) -> str:
    text = _path(path, at)
    return f"({text})" if isinstance(path, looser) else text  # type: ignore[arg-type]


def _join(paths: tuple[n.Path, ...], at: _At) -> str:
    text = ""
    for index, path in enumerate(paths):
        piece = _piece(path, at)
        if index > 0 and isinstance(paths[index - 1], n.Star) and piece.startswith("@"):
            piece = f"/{piece}"  # (p)* @a could be a product
        text += piece if not text or piece[0] in "/@" else f" {piece}"
        at = _At.START if isinstance(path, n.Star) else _At.INNER
    return text


def _piece(path: n.Path, at: _At) -> str:
    match path:
        case n.Step():
            return _axis(path, at) + _test(path) + _predicates(path.predicates)
        case n.Star():
            inner = at if path.entry is None else _At.ENTRY
            body = _piece(path.body, inner) if isinstance(path.body, n.Define) else f"({_path(path.body, inner)})"
            return f"{_entry(path.entry)}{body}*"
        case n.Define():
            inner = at if path.entry is None else _At.ENTRY
            return f"{_entry(path.entry)}(${path.variable}: {_path(path.body, inner)})"
        case n.Call():
            return f"${path.variable}"
        case _:
            return f"({_path(path, at)})"


def _entry(axis: n.Axis | None) -> str:
    return "" if axis is None else _SHORT.get(axis, f"{axis}::")


def _axis(step: n.Step, at: _At) -> str:
    if step.axis != n.Axis.FOLLOWING_SIBLING:
        return _entry(step.axis)
    return "" if at != _At.START and _alone(step, at) else f"{step.axis}::"


def _alone(step: n.Step, at: _At) -> bool:
    """Whether the test reads as one without an axis: a keyword does not, nor does * after another step."""
    if step.test.kind == n.Kind.NAME:
        word = step.test.name.lower()
        prefix, colon, _ = word.partition(":")
        axis = bool(colon) and prefix.replace("-", "_") in _AXES
        return bool(NAME.fullmatch(word)) and word not in KEYWORDS and word not in FUNCTIONS and not axis
    return step.variable is not None or step.test.kind != n.Kind.ANY or at == _At.ENTRY


def _test(step: n.Step) -> str:
    if step.variable is not None:
        return f"${step.variable}"
    if step.test.kind == n.Kind.NAME:
        return _name(step.test.name)
    return {n.Kind.ANY: "*", n.Kind.NODE: "node()", n.Kind.TEXT: "text()"}[step.test.kind]


def _name(name: str) -> str:
    return name if NAME.fullmatch(name) else _quote(name)


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _predicates(predicates: tuple[n.Predicate, ...]) -> str:
    return "".join(
        f"[{path_text(predicate.path)}]"
        if isinstance(predicate, n.Exists)
        else f"[{condition_text(predicate.condition, inside=True)}]"
        for predicate in predicates
    )


# Values and conditions. `inside` of a predicate, where * may repeat a path, × multiplies.


def condition_text(condition: n.Condition, *, inside: bool = False) -> str:
    match condition:
        case n.Comparison():
            left, right = operand_text(condition.left, inside=inside), operand_text(condition.right, inside=inside)
            return f"{left} {condition.operator} {right}"
        case n.Not():
            return f"not({condition_text(condition.part, inside=inside)})"
        case n.And():
            return " and ".join(_part(part, n.And | n.Or, inside) for part in condition.parts)
        case n.Or():
            return " or ".join(_part(part, n.Or, inside) for part in condition.parts)


def _part(condition: n.Condition, looser: type | object, inside: bool) -> str:
    text = condition_text(condition, inside=inside)
    return f"({text})" if isinstance(condition, looser) else text  # type: ignore[arg-type]


def operand_text(operand: n.Operand, *, inside: bool = False) -> str:
    match operand:
        case n.Constant(value=str(value)):
            return _quote(value)
        case n.Constant():
            return repr(operand.value)
        case n.Reference():
            return _reference(operand)
        case n.Relative(leaf=n.Leaf.TAG):
            return f"tag({path_text(operand.path)})"
        case n.Relative():
            return path_text(operand.path)
        case n.Arithmetic():
            level = _LEVEL[operand.operator]
            left = _operand(operand.left, level, inside)
            right = _operand(operand.right, level + 1, inside)
            product = operand.operator == "*" and inside and not isinstance(operand.right, n.Constant)
            return f"{left} {'×' if product else _WORDS.get(operand.operator, operand.operator)} {right}"
        case n.Negative():
            return f"-{_operand(operand.operand, _VALUE, inside)}"
        case n.Aggregate():
            return f"{operand.function}({operand_text(operand.operand, inside=inside)})"


def _operand(operand: n.Operand, level: int, inside: bool) -> str:
    text = operand_text(operand, inside=inside)
    return f"({text})" if isinstance(operand, n.Arithmetic) and _LEVEL[operand.operator] < level else text


def _reference(reference: n.Reference) -> str:
    owner = reference.variable if reference.within is None else reference.within
    text = f"${owner}" if reference.alias == n.Alias.PLAIN else f"{reference.alias}(${owner})"
    if reference.within is not None:
        text += f" ${reference.variable}"
    for axis, name in reference.steps:
        plain = axis in _SHORT and NAME.fullmatch(name)
        text += f"{_SHORT[axis]}{name}" if plain else f" {axis}::{_name(name)}"
    match reference.leaf:
        case n.Leaf.ATTRIBUTE:
            return f"{text}@{_name(reference.name)}"
        case n.Leaf.TEXT:
            return f"{text}/text()"
        case n.Leaf.TAG:
            return f"tag({text})"
        case n.Leaf.NODE:
            return text
