"""From lark's tree of an XSeq query to nodes: values and conditions.

Inside of a predicate a path is walked from the node that the predicate stands on; in `where` and `return` a value
starts with a variable. A path or value that stands for a condition means that it is there: at least the empty string.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

from ostinato.core.expressions import NOWHERE
from ostinato.core.text.grammar import token_span, unquote
from ostinato.core.units import LARGEST
from ostinato.errors import QueryError, Span
from ostinato.xseq.syntax import nodes as n
from ostinato.xseq.syntax.tokens import AGGREGATES, ALIASES

_PATHS = ("step", "here", "doc", "concat", "union", "intersect", "star", "define", "under")
_WRITTEN = {"≠": "!=", "<>": "!=", "≤": "<=", "≥": ">="}
_OPERATORS = {"×": "*", "div": "/", "mod": "%"}
_WORDS = {
    "disjunction": "`or`",
    "conjunction": "`and`",
    "comparison": "a comparison",
    "arithmetic": "arithmetic",
    "minus": "`-`",
    "number": "a number",
    "string": "a string",
    "doc": "doc()",
}


class Operands(ABC):
    """What is computed of a match, and what must hold."""

    @abstractmethod
    def path(self, node: Any) -> n.Path: ...

    @abstractmethod
    def lead(self, path: n.Path, axis: n.Axis) -> n.Path: ...

    def condition(self, node: Any, *, inside: bool) -> n.Condition:
        span = span_in(node)
        match kind_of(node):
            case "disjunction":
                return n.Or(tuple(self.condition(child, inside=inside) for child in node.children), span)
            case "conjunction":
                return n.And(tuple(self.condition(child, inside=inside) for child in node.children), span)
            case "group" if not is_path(node):
                return self.condition(node.children[0], inside=inside)
            case "comparison":
                left, operator, right = node.children
                written = _WRITTEN.get(operator, str(operator))
                return n.Comparison(
                    written, self.operand(left, inside=inside), self.operand(right, inside=inside), span
                )
            case "call" if node.children[0].lower() == "not":
                return n.Not(self.condition(_argument(node), inside=inside), span)
            case "number":
                fix = "step to it: /\\ is the first child, \\ the next sibling"
                raise QueryError("a number is not a condition, and there are no positions", span=span, fix=fix)
        operand = self.operand(node, inside=inside)
        if not isinstance(operand, n.Reference | n.Relative):
            raise QueryError("this is not a condition", span=span, fix="compare it with something: $X@a > 3")
        return n.Comparison(">=", operand, n.Constant("", span), span)

    def operand(self, node: Any, *, inside: bool) -> n.Operand:
        span = span_in(node)
        match kind_of(node):
            case "number":
                return n.Constant(_number(node.children[0], span), span)
            case "string":
                return n.Constant(unquote(node.children[0]), span)
            case "arithmetic":
                left, sign, right = node.children
                operator = _OPERATORS.get(sign.lower(), str(sign))
                return n.Arithmetic(
                    operator, self.operand(left, inside=inside), self.operand(right, inside=inside), span
                )
            case "minus":
                return n.Negative(self.operand(node.children[1], inside=inside), span)
            case "group" if not (inside and is_path(node)):
                return self.operand(node.children[0], inside=inside)
            case "call" if node.children[0].lower() not in ALIASES:
                return self._call(node, inside, span)
            case "disjunction" | "conjunction" | "comparison":
                raise misplaced_error(
                    node, "a value", "write conditions after where, and values on both sides of = < >"
                )
        pieces = node.children if kind_of(node) == "concat" else [node]
        if _is_variable(pieces[0]) or kind_of(pieces[0]) == "call":
            return self._reference(pieces, inside, span)
        return self._relative(node, inside, span)

    def _call(self, node: Any, inside: bool, span: Span) -> n.Operand:
        name = node.children[0].lower()
        if name in AGGREGATES:
            return n.Aggregate(name, self.operand(_argument(node), inside=inside), span)
        if name == "not":
            raise misplaced_error(node, "a value", "compare values with each other")
        if inside and name == "tag" and node.children[1] is None:
            return n.Relative(n.Step(n.Axis.SELF, n.NodeTest(n.Kind.NODE), span=span), n.Leaf.TAG, span)
        value = self.operand(_argument(node), inside=inside)
        if isinstance(value, n.Reference) and value.leaf == n.Leaf.NODE:
            return replace(value, leaf=n.Leaf.TAG if name == "tag" else n.Leaf.TEXT, span=span)
        if isinstance(value, n.Relative) and value.leaf == n.Leaf.NODE and name == "tag":
            return replace(value, leaf=n.Leaf.TAG, span=span)
        if isinstance(value, n.Relative) and value.leaf == n.Leaf.NODE:
            first = value.path.parts if isinstance(value.path, n.Concat) else (value.path,)
            return n.Relative(
                n.Concat((*first, n.Step(n.Axis.CHILD, n.NodeTest(n.Kind.TEXT), span=span)), span), n.Leaf.NODE, span
            )
        raise QueryError(f"{name}() takes a node", span=span, fix=f"write {name}($X)")

    def _relative(self, node: Any, inside: bool, span: Span) -> n.Operand:
        if not inside:
            raise _no_variable(node)
        path = self.lead(self.path(node), n.Axis.CHILD)
        for bound in _bindings(path):
            raise QueryError(
                "a path that is compared binds no variables",
                span=bound,
                fix="bind it in a predicate of its own, and compare it in where: //a[/$X] where $X > 3",
            )
        return n.Relative(path, n.Leaf.NODE, span)

    def _reference(self, pieces: list[Any], inside: bool, span: Span) -> n.Reference:
        """`$X`, `last($X)` or `first($Z) $X`, plain steps, then perhaps an attribute or text()."""
        head, *rest = pieces
        alias, within = n.Alias.PLAIN, None
        if kind_of(head) == "call":
            alias, variable = self._alias(head)
        else:
            variable = str(head.children[1])[1:]
        if alias != n.Alias.PLAIN and rest and _is_variable(rest[0]):
            within, variable = variable, str(rest[0].children[1])[1:]
            rest = rest[1:]
        reference = n.Reference(variable, alias, within, span=span)
        for piece in rest:
            path = _single(self.path(piece)) if kind_of(piece) == "step" else None
            if path is None or reference.leaf != n.Leaf.NODE:
                raise _no_step(piece, reference)
            reference = _further(reference, path, piece)
        return reference

    def _alias(self, call: Any) -> tuple[n.Alias, str]:
        name = call.children[0].lower()
        if name not in ALIASES:
            raise QueryError(f"nothing can follow {name}(…)", span=span_in(call), fix="remove what follows it")
        argument = _argument(call)
        if not _is_variable(argument):
            raise QueryError(f"{name}() takes a variable", span=span_in(call), fix=f"write {name}($X)@a")
        return n.Alias(name), str(argument.children[1])[1:]


def kind_of(node: Any) -> str:
    return str(node.data)


def span_in(node: Any) -> Span:
    return NOWHERE if node.meta.empty else Span(node.meta.start_pos, node.meta.end_pos)


def is_path(node: Any) -> bool:
    """Whether it can only be a path: a bracket is what is in it, and what starts with a function is a value."""
    if kind_of(node) == "group":
        return is_path(node.children[0])
    if kind_of(node) == "concat":
        return kind_of(node.children[0]) not in ("call", "number", "string")
    return kind_of(node) in _PATHS


def misplaced_error(node: Any, wanted: str, fix: str) -> QueryError:
    kind = kind_of(node)
    found = f"{node.children[0].lower()}()" if kind == "call" else _WORDS.get(kind, "this")
    if kind == "arithmetic" and node.children[1] == "+":
        fix = "for one or more, write the path and then its repetition: \\$X (\\$X)*"
    elif kind == "call" and wanted == "a path":
        name = node.children[0]
        value = f"a value is returned: return {name}($X) from //$X; " if name.lower() in AGGREGATES else ""
        fix = f"{value}an element of that name has an axis: following_sibling::{name}"
    elif kind == "string" and wanted == "a path":
        name = node.children[0]
        fix = f"a name in quotes has an axis before it: //{name}, child::{name}, following_sibling::{name}"
    elif kind == "doc":
        fix = "doc() may only start the whole path"
    return QueryError(f"expected {wanted}, found {found}", span=span_in(node), fix=fix)


def _argument(call: Any) -> Any:
    name, *arguments = call.children
    if len(arguments) != 1 or arguments[0] is None:
        example = "not($X@a = 3)" if name.lower() == "not" else f"{name}($X)"
        if name.lower() in ALIASES:
            example += "; there are no positions: /\\ is the first child, \\ the next sibling"
        raise QueryError(f"{name}() takes one argument", span=span_in(call), fix=f"write {example}")
    return arguments[0]


def _number(token: str, span: Span) -> int | float:
    value = float(token)
    if math.isinf(value):
        raise QueryError("this number is too large", span=span, fix="write a number below 1.8e308")
    return int(token) if token.isdecimal() and len(token) < 20 and int(token) <= LARGEST else value


def _is_variable(node: Any) -> bool:
    if kind_of(node) != "step":
        return False
    axes, token, *predicates = node.children
    return axes is None and token.type == "VARIABLE" and not predicates


def _single(path: n.Path) -> n.Step | None:
    return path if isinstance(path, n.Step) and path.variable is None and not path.predicates else None


def _further(reference: n.Reference, step: n.Step, piece: Any) -> n.Reference:
    """The reference, one step further."""
    if step.axis == n.Axis.ATTRIBUTE and step.test.kind == n.Kind.NAME:
        return replace(reference, leaf=n.Leaf.ATTRIBUTE, name=step.test.name)
    if step.axis == n.Axis.CHILD and step.test.kind == n.Kind.TEXT:
        return replace(reference, leaf=n.Leaf.TEXT)
    if step.axis not in (n.Axis.ATTRIBUTE, n.Axis.SELF) and step.test.kind == n.Kind.NAME:
        return replace(reference, steps=(*reference.steps, (step.axis, step.test.name)))
    raise _no_step(piece, reference)


def _no_step(piece: Any, reference: n.Reference) -> QueryError:
    shown, kind = f"${reference.variable}", kind_of(piece)
    if reference.leaf != n.Leaf.NODE:
        what = "an attribute" if reference.leaf == n.Leaf.ATTRIBUTE else "text()"
        fix = "put `and`, `,` or an operator between two values"
        return QueryError(f"nothing can follow {what}", span=span_in(piece), fix=fix)
    if kind in ("string", "number", "call"):
        reason = f"an operator is missing between {shown} and this"
        return QueryError(reason, span=span_in(piece), fix=f"compare them: {shown}@a = …")
    if kind == "step" and piece.children[1].type == "KIND":
        return QueryError(f"text() is a child of {shown}", span=span_in(piece), fix=f"write {shown}/text()")
    if kind == "step" and piece.children[1].type == "VARIABLE":
        fix = f"put `and`, `,` or an operator between {shown} and {piece.children[1]}"
        return QueryError(f"{shown} is followed by another variable", span=span_in(piece), fix=fix)
    if kind == "step" and piece.children[0] is not None and piece.children[0].children[0] == ".":
        reason = "an attribute has @ before it"
        return QueryError(reason, span=span_in(piece), fix=f"write {shown}@{piece.children[1]}")
    fix = f"plain steps to named elements lead on: {shown}/a/b@c, {shown}/a/text(); bind other nodes in the path"
    return QueryError(f"this cannot follow {shown}", span=span_in(piece), fix=fix)


def _no_variable(node: Any) -> QueryError:
    first = node.children[0] if kind_of(node) == "concat" else node
    token = first.children[1] if kind_of(first) == "step" else None
    if token is not None and token.type == "NAME" and first.children[0] is None:
        following = node.children[1] if kind_of(node) == "concat" else None
        if following is not None and kind_of(following) == "group":
            fix = "there are tag, text, prev, first, last, max, min, count, sum, avg and not"
            return QueryError(f"there is no function `{token}`", span=token_span(token), fix=fix)
        fix = f"variables start with $: ${token}"
        return QueryError(f"`{token}` is not a variable", span=token_span(token), fix=fix)
    fix = "bind the node in the path, and start with its variable: return $X@a from //$X"
    return QueryError("a value starts with a variable of the path", span=span_in(node), fix=fix)


def _bindings(path: n.Path) -> list[Span]:
    """Where a path binds variables, predicates left out."""
    own = isinstance(path, n.Define | n.Call) or (isinstance(path, n.Step) and path.variable is not None)
    return [path.span] if own else [span for part in n.parts(path) for span in _bindings(part)]
