"""From lark's tree of an XSeq query to nodes: clauses and paths. Values and conditions are in operands.py."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ostinato.core.text.grammar import MAX_DEPTH, nesting_error, token_span, unquote
from ostinato.errors import QueryError, Span, did_you_mean
from ostinato.xseq.syntax import nodes as n
from ostinato.xseq.syntax.format import operand_text
from ostinato.xseq.syntax.operands import Operands, is_path, kind_of, misplaced_error, span_in

if TYPE_CHECKING:
    from lark import Token, Tree

_SHORT = {
    ".": n.Axis.SELF,
    "/": n.Axis.CHILD,
    "//": n.Axis.DESCENDANT,
    "@": n.Axis.ATTRIBUTE,
    "/\\": n.Axis.FIRST_CHILD,
    "\\": n.Axis.IMMEDIATE_FOLLOWING_SIBLING,
}
_ANY = n.NodeTest(n.Kind.ANY)
_AXES = frozenset(map(str, n.Axis))
_ELSEWHERE = {  # axes of XPath that are not of XSeq
    "following": "write (. union ancestor::*) following_sibling::* (self::a union //a)",
    "preceding": "write (. union ancestor::*) preceding_sibling::* (self::a union //a)",
    "descendant_or_self": "write (self::a union //a)",
    "ancestor_or_self": "write (self::a union ancestor::a)",
    "namespace": "namespaces are not followed: a name is compared as it is written, prefix included",
}


class Builder(Operands):
    """One method per kind of clause and path. A step without an axis is told from others by its place in the text."""

    def __init__(self, path_variables: frozenset[str]) -> None:
        self.path_variables = path_variables
        self.bare: set[int] = set()  # where steps without an axis start

    def build(self, tree: Tree[Any]) -> n.Query:
        _check_depth(tree)
        items, path, where, partition = tree.children
        walked = self.pattern(path)
        return n.Query(
            path=walked,
            items=None if items is None else tuple(map(self._item, items.children)),
            where=None if where is None else self.condition(where, inside=False),
            partition=None if partition is None else self._partition(partition),
        )

    def _item(self, tree: Tree[Any]) -> n.Item:
        operand = self.operand(tree.children[0], inside=False)
        name = operand_text(operand) if tree.children[1] is None else str(tree.children[1])
        return n.Item(operand, name, span_in(tree))

    def _partition(self, tree: Tree[Any]) -> n.Partition:
        path = self.pattern(tree)
        *rest, last = list(path.parts) if isinstance(path, n.Concat) else [path]
        named = isinstance(last, n.Step) and last.axis == n.Axis.ATTRIBUTE and last.test.kind == n.Kind.NAME
        if not isinstance(last, n.Step) or not named or last.predicates or not rest:
            reason = "a document is partitioned by one attribute of the nodes on a path"
            raise QueryError(reason, span=path.span, fix="write a path and an attribute: partition by //a @id")
        return n.Partition(_concat(rest, path.span), last.test.name, span_in(tree))

    # Paths.

    def pattern(self, node: Any) -> n.Path:
        """A path that starts at the document node: its first step without an axis goes to any descendant."""
        if kind_of(node) == "doc":
            raise QueryError("this path goes nowhere", span=span_in(node), fix="write a step after doc(): doc() /a")
        if kind_of(node) == "concat" and kind_of(node.children[0]) == "doc":
            path = _concat(map(self.path, node.children[1:]), span_in(node))
        else:
            path = self.path(node)
        return self.lead(path, n.Axis.DESCENDANT)

    def path(self, node: Any) -> n.Path:
        kind, span = kind_of(node), span_in(node)
        match kind:
            case "step":
                return self._step(node, span)
            case "here":
                return n.Step(n.Axis.SELF, n.NodeTest(n.Kind.NODE), None, self._predicates(node.children[1:]), span)
            case "concat":
                return _concat(map(self.path, node.children), span)
            case "union":
                return n.Union(tuple(map(self.path, node.children)), span)
            case "intersect":
                return n.Intersect(tuple(map(self.path, node.children)), span)
            case "star":
                return self._star(node.children[0], span)
            case "group":
                return self.path(node.children[0])
            case "define":
                return n.Define(str(node.children[0])[1:], self.path(node.children[1]), None, span)
            case "under":
                return self._under(node, self.path)
        raise misplaced_error(node, "a path", "write a condition in brackets, or after where")

    def lead(self, path: n.Path, axis: n.Axis) -> n.Path:
        """The path, whose first steps go along that axis where they have none of their own."""
        match path:
            case n.Step() if path.span.start in self.bare:
                self.bare.remove(path.span.start)
                return replace(path, axis=axis)
            case n.Concat():
                return replace(path, parts=(self.lead(path.parts[0], axis), *path.parts[1:]))
            case n.Union() | n.Intersect():
                return replace(path, parts=tuple(self.lead(part, axis) for part in path.parts))
            case n.Star(n.Step() as body) if path.span.start == body.span.start:  # a step without a bracket: `a*`
                return replace(path, body=self.lead(body, axis))
            case n.Star(entry=None) | n.Define(entry=None) if self._starts_bare(path.body):
                return replace(path, entry=axis)
            case _:
                return path

    def _starts_bare(self, path: n.Path) -> bool:
        match path:
            case n.Step():
                return path.span.start in self.bare
            case n.Concat():
                return self._starts_bare(path.parts[0])
            case n.Star() | n.Define():
                return path.entry is None and self._starts_bare(path.body)
            case _:
                return any(map(self._starts_bare, n.parts(path)))

    def _star(self, node: Any, span: Span) -> n.Path:
        """`// (…)*`: the axis is that of the first round only."""
        if kind_of(node) == "under":
            return self._under(node, lambda bracket: n.Star(self.path(bracket), span=span))
        return n.Star(self.path(node), span=span)

    def _under(self, node: Any, build: Callable[[Any], n.Path]) -> n.Path:
        """`// (…)`: the axis is that of the first step in the bracket; of a definition or star, of its first round."""
        axes, bracket = node.children
        axis = self._axis(axes)
        path = build(bracket)
        if axis is None or not self._starts_bare(path):
            fix = f"remove `{axes.children[-1]}`, or the axis inside the bracket"
            raise QueryError("the path in this bracket starts with an axis of its own", span=span_in(axes), fix=fix)
        return self.lead(path, axis)

    def _step(self, node: Any, span: Span) -> n.Path:
        axes, token, *predicates = node.children
        test, variable = _test(token)
        if axes is None:
            if variable is not None and variable in self.path_variables and not predicates:
                return n.Call(variable, span)
            _check_separator(token)
            self.bare.add(span.start)
            return n.Step(n.Axis.FOLLOWING_SIBLING, test, variable, self._predicates(predicates), span)
        if variable is not None and variable in self.path_variables:
            raise QueryError(
                f"${variable} stands for a path, which has its own first axis",
                span=span,
                fix=f"write ${variable} without an axis, and the axis in its definition: (${variable}: /a …)",
            )
        axis = self._axis(axes)
        step = n.Step(axis or n.Axis.ATTRIBUTE, test, variable, self._predicates(predicates), span)
        if axis is None:  # `//@a`: an attribute of any descendant
            return n.Concat((n.Step(n.Axis.DESCENDANT, _ANY, None, (), span_in(axes)), step), span)
        return step

    def _axis(self, axes: Any) -> n.Axis | None:
        """The one axis that is written; `/axis::a` is `axis::a`, as in XPath. None for `//@`."""
        tokens = axes.children
        found = [_axis_of(token) for token in tokens]
        if len(found) == 1:
            return found[0]
        if len(found) == 2 and tokens[0] == "/" and (tokens[1] == "@" or "::" in tokens[1]):
            return found[1]
        if len(found) == 2 and tokens[0] == "//" and found[1] == n.Axis.ATTRIBUTE:
            return None
        fix = f"remove one, or say of which node: {tokens[0]}* {tokens[1]}…"
        raise QueryError("a step has one axis", span=span_in(axes), fix=fix)

    def _predicates(self, nodes: list[Any]) -> tuple[n.Predicate, ...]:
        return tuple(predicate for node in nodes for predicate in self._predicate(node))

    def _predicate(self, node: Any) -> list[n.Predicate]:
        """One predicate, or several where paths and conditions are joined by `and`."""
        found: list[n.Predicate] = []
        conditions: list[Any] = []
        children = node.children if kind_of(node) == "conjunction" else [node]
        if not any(map(is_path, children)):
            return [n.Holds(self.condition(node, inside=True), span_in(node))]
        for child in [*children, None]:
            if conditions and (child is None or is_path(child)):
                found.append(self._holds(conditions))
                conditions = []
            if child is not None and is_path(child):
                found.append(n.Exists(self.lead(self.path(child), n.Axis.CHILD), span_in(child)))
            elif child is not None:
                conditions.append(child)
        return found

    def _holds(self, nodes: list[Any]) -> n.Holds:
        span = span_in(nodes[0]).to(span_in(nodes[-1]))
        conditions = tuple(self.condition(node, inside=True) for node in nodes)
        return n.Holds(conditions[0] if len(conditions) == 1 else n.And(conditions, span), span)


def _concat(paths: Iterable[n.Path], span: Span) -> n.Path:
    """Paths one after the other; `//@a` is two steps of them."""
    flat = [inner for path in paths for inner in (path.parts if isinstance(path, n.Concat) else (path,))]
    return flat[0] if len(flat) == 1 else n.Concat(tuple(flat), span)


def _test(token: Token) -> tuple[n.NodeTest, str | None]:
    """What a step asks for, and the variable that it binds."""
    if token.type == "VARIABLE":
        return _ANY, str(token)[1:]
    if token.type == "ANY":
        return _ANY, None
    if token.type == "KIND":
        return n.NodeTest(n.Kind.TEXT if token.startswith("text") else n.Kind.NODE), None
    if token.type == "QUOTED" and not unquote(token):
        raise QueryError("this name is empty", span=token_span(token), fix="write a name between the quotes")
    return n.NodeTest(n.Kind.NAME, unquote(token) if token.type == "QUOTED" else str(token)), None


def _axis_of(token: Token) -> n.Axis:
    if token in _SHORT:
        return _SHORT[str(token)]
    name = token.rstrip(": \t\r\n").lower().replace("-", "_")
    if name in _AXES:
        return n.Axis(name)
    fix = _ELSEWHERE.get(name) or did_you_mean(name, _AXES)
    raise QueryError(f"there is no axis `{token.rstrip(': ')}`", span=token_span(token), fix=fix)


def _check_separator(token: Token) -> None:
    axis, colon, rest = token.partition(":")
    if token.type == "NAME" and colon and axis.replace("-", "_") in _AXES:
        reason = f"`{token}` is a name with a prefix"
        raise QueryError(reason, span=token_span(token), fix=f"an axis ends with two colons: {axis}::{rest}")


def _check_depth(tree: Tree[Any]) -> None:
    """Later stages recurse, so the depth is bounded here, without recursion."""
    depth: dict[int, int] = {}
    for node in tree.iter_subtrees():
        depth[id(node)] = 1 + max((depth.get(id(child), 0) for child in node.children), default=0)
        if depth[id(node)] > MAX_DEPTH:
            raise nesting_error(Span(span_in(node).start, span_in(node).start + 1))
