"""Random XSeq queries that often find something in the documents of trees.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import reject
from hypothesis import strategies as st

from ostinato.errors import LimitError
from ostinato.xseq.semantics.query import Matches, Row, evaluate, repeating_variables
from ostinato.xseq.semantics.tree import Node
from ostinato.xseq.semantics.walks import all_steps
from ostinato.xseq.syntax import nodes as n
from support.generators.trees import (
    ATTRIBUTES,
    NAMES,
    Draw,
    Tree,
    json_documents,
    pick,
    to_json,
    to_xml,
    trees,
    xml_documents,
)

__all__ = [
    "Draw",
    "Tree",
    "answer",
    "forward_queries",
    "json_documents",
    "pick",
    "queries",
    "to_json",
    "to_xml",
    "trees",
    "xml_documents",
]

WALKS = 600  # a query with more walks than that on some document is not tried


def answer(query: n.Query, document: Node, matches: Matches = "all") -> list[Row]:
    """What `evaluate` says; a case with too many walks is not counted."""
    try:
        return evaluate(query, document, matches, limit=WALKS)
    except LimitError:
        reject()


# --- paths

_FORWARD = (
    n.Axis.CHILD,
    n.Axis.CHILD,
    n.Axis.IMMEDIATE_FOLLOWING_SIBLING,
    n.Axis.IMMEDIATE_FOLLOWING_SIBLING,
    n.Axis.FOLLOWING_SIBLING,
    n.Axis.FOLLOWING_SIBLING,
    n.Axis.DESCENDANT,
    n.Axis.FIRST_CHILD,
)
_BACKWARD = (n.Axis.PARENT, n.Axis.ANCESTOR, n.Axis.PRECEDING_SIBLING)
_OPERATORS = ("<", ">", "<=", "!=", ">=", "=", "<=", ">=", "!=")


class _Maker:
    """One query in the making: which variables it has so far, and what it may use."""

    def __init__(self, draw: Draw, everything: bool) -> None:
        self.draw = draw
        self.everything = everything
        self.variables: list[str] = []  # that the path binds, once it is made
        self.defined: list[str] = []  # path variables
        self.rounds: list[tuple[str, str]] = []  # path variables, and what is bound in them
        self.path_variables = ["Z", "Q"]

    def pick(self, *options: Any) -> Any:
        return pick(self.draw, *options)

    def rarely(self) -> bool:
        return self.pick(False, False, False, False, False, False, True)

    # Paths.

    def whole(self) -> n.Path:
        """A path from the document node."""
        leading = self.pick("descendant", "child", "descendant", "descendant", "descendant", "star", "define", "group")
        first: list[n.Path]
        if leading == "star":
            first = [n.Star(self.step(self.pick(n.Axis.CHILD, n.Axis.DESCENDANT))), self.step(n.Axis.CHILD)]
        elif leading == "define":
            first = [self.define(n.Axis.DESCENDANT)]
        elif leading == "group":
            first = [n.Union((self.step(n.Axis.CHILD), self.step(n.Axis.DESCENDANT)))]
        elif leading == "child":
            first = [
                self.step(n.Axis.CHILD, names=("a", "a", "b")),
                self.step(self.pick(n.Axis.CHILD, n.Axis.FIRST_CHILD)),
            ]
        else:
            first = [self.step(n.Axis.DESCENDANT)]
        pieces = [piece for _ in range(self.pick(1, 2, 1, 2, 3, 0)) for piece in self.pieces(2)]
        return _concat(*first, *pieces)

    def pieces(self, depth: int) -> list[n.Path]:
        """A few steps that follow others."""
        kinds = ["step", "star", "star", "step", "plus", "union", "define", "call", "group star", "entered star"]
        if self.everything:
            kinds += ["intersect", "backward", "backward star", "there and back"]
        kind = self.pick(*kinds) if depth else "step"
        axis = self.pick(*_FORWARD)
        match kind:
            case "star":
                return [n.Star(self.step(axis))]
            case "plus":  # the same variable in two places
                step = self.step(axis)
                return [step, n.Star(step)]
            case "group star":
                return [n.Star(_concat(self.step(axis), *self.pieces(depth - 1)))]
            case "entered star":  # whose first round goes another way
                body = _concat(self.step(n.Axis.FOLLOWING_SIBLING), *self.pieces(depth - 1))
                return [n.Star(body, self.pick(n.Axis.CHILD, n.Axis.DESCENDANT, n.Axis.FIRST_CHILD))]
            case "union":
                return [n.Union((_concat(*self.pieces(depth - 1)), _concat(*self.pieces(depth - 1))))]
            case "define" if self.path_variables:
                return [self.define(None)]
            case "call" if self.defined:
                return [n.Call(self.pick(*self.defined))]
            case "intersect":
                return [
                    n.Intersect(
                        (self.step(n.Axis.DESCENDANT), _concat(self.step(n.Axis.CHILD), *self.pieces(depth - 1)))
                    )
                ]
            case "backward":
                return [self.step(self.pick(*_BACKWARD))]
            case "backward star":
                return [n.Star(self.step(self.pick(*_BACKWARD)))]
            case "there and back":  # rounds may end where they began
                back = {n.Axis.CHILD: n.Axis.PARENT, n.Axis.DESCENDANT: n.Axis.ANCESTOR}.get(
                    axis, n.Axis.PRECEDING_SIBLING
                )
                return [n.Star(_concat(self.step(axis), self.step(back)))]
            case _:
                return [self.step(n.Axis.SELF if self.rarely() else axis)]

    def define(self, entry: n.Axis | None) -> n.Path:
        """`($Z: $X … $Z)` or `($Z: $Y union $X … $Z)`, with the axis before it or inside."""
        if not self.path_variables:
            return self.step(entry or n.Axis.CHILD)
        variable = self.path_variables.pop(0)
        axis = n.Axis.FOLLOWING_SIBLING if entry is not None else self.pick(*_FORWARD)
        body = [self.step(axis), *(self.pieces(1) if self.pick(True, False) else [])]
        if self.pick(True, True, False):
            body.append(n.Call(variable))
        self.defined.append(variable)
        whole = n.Union((self.step(axis), _concat(*body))) if self.rarely() else _concat(*body)
        self.rounds += [(variable, step.variable) for step in all_steps(whole) if step.variable is not None]
        return n.Define(variable, whole, entry)

    def step(self, axis: n.Axis, names: tuple[str, ...] = ("a", "b", "a", "b", "c", "d")) -> n.Step:
        kind = self.pick("variable", "variable", "variable", "name", "any", "variable", "variable", "any")
        # A step to the node itself that binds could be repeated for ever.
        variable = self.pick("X", "Y", "X", "Y", "V", "W") if kind == "variable" and axis is not n.Axis.SELF else None
        test = n.NodeTest(n.Kind.NAME, self.pick(*names)) if kind == "name" else n.NodeTest(n.Kind.ANY)
        predicates = tuple(self.predicate() for _ in range(self.pick(0, 0, 0, 0, 0, 1, 0, 2, 0, 1)))
        return n.Step(axis, test, variable, predicates)

    def ending(self) -> list[n.Path]:
        """What a bare path may end with."""
        if self.everything and self.rarely():
            return [n.Step(self.pick(n.Axis.CHILD, n.Axis.DESCENDANT), n.NodeTest(self.pick(n.Kind.TEXT, n.Kind.NODE)))]
        test = (
            n.NodeTest(n.Kind.NAME, self.pick(*ATTRIBUTES)) if self.pick(True, True, False) else n.NodeTest(n.Kind.ANY)
        )
        return self.pick([n.Step(n.Axis.ATTRIBUTE, test)], [])

    # Predicates.

    def predicate(self) -> n.Predicate:
        if self.everything and self.pick(False, True):
            return self.pattern() if self.pick(True, False) else self.relative_condition()
        if self.pick(False, False, True):
            return n.Exists(_attribute_step(self.pick(*ATTRIBUTES)))
        return n.Holds(self.local(2))

    def local(self, depth: int) -> n.Condition:
        """A condition on the attributes of one node."""
        if depth and self.rarely():
            return self.joined(lambda: self.local(depth - 1))
        name = self.pick("p", "p", "k", "n")
        return n.Comparison(self.pick(*_OPERATORS), n.Relative(_attribute_step(name)), self.constant())

    def pattern(self) -> n.Predicate:
        first = self.step(
            self.pick(n.Axis.CHILD, n.Axis.CHILD, n.Axis.DESCENDANT, n.Axis.IMMEDIATE_FOLLOWING_SIBLING, *_BACKWARD)
        )
        return n.Exists(_concat(first, *(self.pieces(1) if self.rarely() else [])))

    def relative_condition(self) -> n.Predicate:
        sides = (self.relative(), self.pick(self.relative, self.constant)())
        comparison = n.Comparison(self.pick(*_OPERATORS), *sides)
        return n.Holds(n.Not(comparison) if self.rarely() else comparison)

    def relative(self) -> n.Operand:
        there = n.Step(
            self.pick(n.Axis.CHILD, n.Axis.DESCENDANT, n.Axis.FOLLOWING_SIBLING),
            n.NodeTest(n.Kind.NAME, self.pick(*NAMES)),
        )
        text = n.Step(n.Axis.CHILD, n.NodeTest(n.Kind.TEXT))
        here = n.Step(n.Axis.SELF, n.NodeTest(n.Kind.NODE))
        kind = self.pick("text", "child", "child text", "child attribute", "attribute", "tag", "sum")
        match kind:
            case "text":
                return n.Relative(text)
            case "child":
                return n.Relative(there)
            case "child text":
                return n.Relative(_concat(there, text))
            case "child attribute":
                return n.Relative(_concat(there, _attribute_step("p")))
            case "tag":
                return n.Relative(here, n.Leaf.TAG)
            case "sum":
                return n.Arithmetic(self.pick("+", "*"), n.Relative(_attribute_step("p")), n.Constant(1))
            case _:
                return n.Relative(_attribute_step(self.pick(*ATTRIBUTES)))

    # Values and conditions on variables.

    def constant(self) -> n.Constant:
        return n.Constant(self.pick(2, 1, 3, "x", 2, 1.5, "2"))

    def joined(self, part: Callable[[], n.Condition]) -> n.Condition:
        kind = self.pick("or", "and", "not")
        return n.Not(part()) if kind == "not" else (n.Or if kind == "or" else n.And)((part(), part()))

    def reference(self, many: set[str], variable: str | None = None, alias: n.Alias | None = None) -> n.Reference:
        variable = variable or self.pick(*self.variables)
        if alias is None:
            alias = self.pick(n.Alias.PLAIN, n.Alias.FIRST, n.Alias.LAST) if variable in many else n.Alias.PLAIN
        kind = self.pick("attribute", "attribute", "attribute", "attribute", "tag", "text", "node", "steps")
        if kind == "attribute" or (not self.everything and kind != "tag"):
            return n.Reference(variable, alias, leaf=n.Leaf.ATTRIBUTE, name=self.pick("p", "p", "k", "n"))
        if kind == "tag":
            return n.Reference(variable, alias, leaf=n.Leaf.TAG)
        if kind == "steps":
            steps = ((self.pick(n.Axis.CHILD, n.Axis.CHILD, n.Axis.DESCENDANT), self.pick(*NAMES)),)
            leaf = self.pick(n.Leaf.ATTRIBUTE, n.Leaf.TEXT)
            return n.Reference(variable, alias, None, steps, leaf, "p" if leaf is n.Leaf.ATTRIBUTE else "")
        return n.Reference(variable, alias, leaf=n.Leaf.TEXT if kind == "text" else n.Leaf.NODE)

    def conjunct(self, many: set[str]) -> n.Condition:
        """Something that tells matches apart: first of all, what rises, falls or stays."""
        if self.rarely():
            return self.joined(lambda: self.conjunct(many))
        kinds = ["tag", "constant", "other"]
        if many:
            kinds += ["previous", "previous", "sequence", "aggregate"]
        variable, operator = self.pick(*self.variables), self.pick(*_OPERATORS)
        kind = self.pick(*kinds)
        if kind == "tag":
            tag = n.Reference(variable, leaf=n.Leaf.TAG)
            return n.Comparison(self.pick("=", "!="), tag, n.Constant(self.pick("a", "b", *NAMES)))
        if kind in ("previous", "sequence", "aggregate"):
            variable = self.pick(*sorted(many))
        value = _attribute(variable)
        match kind:
            case "previous":
                return n.Comparison(operator, value, _attribute(variable, n.Alias.PREV))
            case "sequence":
                side = _attribute(variable, self.pick(n.Alias.FIRST, n.Alias.LAST))
                return n.Comparison(operator, side, self.reference(many))
            case "aggregate":
                return n.Comparison(operator, self.aggregate(variable), self.pick(self.constant(), value))
            case "other":
                left: n.Operand = n.Arithmetic(self.pick("+", "-"), value, n.Constant(1)) if self.rarely() else value
                return n.Comparison(operator, left, self.reference(many))
            case _:
                return n.Comparison(operator, value, self.constant())

    def aggregate(self, variable: str) -> n.Operand:
        function = self.pick("count", "sum", "min", "max", "avg")
        bare = function == "count" and self.pick(True, False)
        return n.Aggregate(function, n.Reference(variable) if bare else _attribute(variable))

    def item(self, many: set[str]) -> n.Operand:
        kind = self.pick("reference", "reference", "last", "aggregate", "calculated", "over all", "round")
        variable = self.pick(*self.variables)
        match kind:
            case "aggregate" if many:
                return self.aggregate(self.pick(*sorted(many)))
            case "last" if many:
                return self.reference(many, self.pick(*sorted(many)), self.pick(n.Alias.LAST, n.Alias.FIRST))
            case "calculated":
                other = self.pick(n.Constant(2), _attribute(self.pick(*self.variables)))
                return n.Arithmetic(self.pick("+", "-", "*", "/", "%"), _attribute(variable), other)
            case "over all" if self.rarely():
                alias = n.Alias.LAST if variable in many else n.Alias.PLAIN
                summed: n.Operand = _attribute(variable, alias)
                summed = n.Negative(summed) if self.rarely() else summed
                return n.Aggregate(self.pick("max", "sum", "count", "min", "avg"), summed)
            case "round" if self.rounds:
                defined, inside = self.pick(*self.rounds)
                return n.Reference(
                    inside, self.pick(n.Alias.FIRST, n.Alias.LAST), defined, leaf=n.Leaf.ATTRIBUTE, name="p"
                )
            case _:
                return self.reference(many, variable)


def _concat(*pieces: n.Path) -> n.Path:
    flat = [part for piece in pieces for part in (piece.parts if isinstance(piece, n.Concat) else (piece,))]
    return flat[0] if len(flat) == 1 else n.Concat(tuple(flat))


def _attribute_step(name: str) -> n.Step:
    return n.Step(n.Axis.ATTRIBUTE, n.NodeTest(n.Kind.NAME, name))


def _attribute(variable: str, alias: n.Alias = n.Alias.PLAIN) -> n.Reference:
    return n.Reference(variable, alias, leaf=n.Leaf.ATTRIBUTE, name="p")


# --- queries


def forward_queries() -> st.SearchStrategy[n.Query]:
    """Queries without backward axes, intersect and text; predicates look at attributes of the node only."""
    return _queries(False)


def queries() -> st.SearchStrategy[n.Query]:
    """Queries of every kind."""
    return _queries(True)


@st.composite
def _queries(draw: Draw, everything: bool) -> n.Query:
    maker = _Maker(draw, everything)
    partition = pick(draw, False, False, True)
    path = _sequence(maker) if partition or pick(draw, False, True) else maker.whole()
    bound = dict.fromkeys(step.variable for step in all_steps(path) if step.variable is not None)
    maker.variables = list(bound)
    returned = bool(bound) and pick(draw, True, True, True, False)
    if not returned:
        path = _concat(path, *maker.ending())
    many = repeating_variables(path)
    conjuncts = [maker.conjunct(many) for _ in range(pick(draw, 1, 0, 2, 1, 0, 1))] if maker.variables else []
    items = tuple(n.Item(maker.item(many), f"c{place}") for place in range(pick(draw, 1, 2, 3))) if returned else None
    where = None if not conjuncts else conjuncts[0] if len(conjuncts) == 1 else n.And(tuple(conjuncts))
    return n.Query(path, items, where, _partition(draw, path) if partition else None)


def _sequence(maker: _Maker) -> n.Path:
    """What most queries of the paper are: a node, and siblings after it."""
    deep = maker.pick(False, True)
    begin = [maker.step(n.Axis.DESCENDANT)] if deep else [maker.step(n.Axis.CHILD, ("a",)), maker.step(n.Axis.CHILD)]
    after: list[n.Path] = []
    for _ in range(maker.pick(1, 1, 2)):
        step = maker.step(maker.pick(n.Axis.IMMEDIATE_FOLLOWING_SIBLING, n.Axis.IMMEDIATE_FOLLOWING_SIBLING, *_FORWARD))
        after += maker.pick([n.Star(step)], [step], [step, n.Star(step)])
    return _concat(*begin, *after)


def _partition(draw: Draw, path: n.Path) -> n.Partition:
    """The axes that the path begins with, up to the nodes whose siblings it looks at."""
    assert isinstance(path, n.Concat)
    length = 1 if isinstance(path.parts[0], n.Step) and path.parts[0].axis is n.Axis.DESCENDANT else 2
    prefix = []
    for step in path.parts[:length]:
        assert isinstance(step, n.Step)
        named = step.test if step.test.kind is n.Kind.NAME else n.NodeTest(n.Kind.NAME, pick(draw, "a", "b"))
        prefix.append(n.Step(step.axis, pick(draw, n.NodeTest(n.Kind.ANY), named)))
    return n.Partition(_concat(*prefix), "k")
