"""Random XSeq queries that often find something in the documents of generators_trees.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import reject
from hypothesis import strategies as st

from ostinato.documents.tree import Node
from ostinato.errors import LimitError
from ostinato.xseq.semantics.query import Matches, Row, evaluate, repeating
from ostinato.xseq.semantics.walks import all_steps
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
    Holds,
    Intersect,
    Item,
    Kind,
    Leaf,
    Negative,
    NodeTest,
    Not,
    Operand,
    Or,
    Partition,
    Path,
    Predicate,
    Reference,
    Relative,
    Star,
    Step,
    Union,
    XSeqQuery,
)
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


def answer(query: XSeqQuery, document: Node, matches: Matches = "all") -> list[Row]:
    """What `evaluate` says; a case with too many walks is not counted."""
    try:
        return evaluate(query, document, matches, limit=WALKS)
    except LimitError:
        reject()


# --- paths

_FORWARD = (
    Axis.CHILD,
    Axis.CHILD,
    Axis.IMMEDIATE_FOLLOWING_SIBLING,
    Axis.IMMEDIATE_FOLLOWING_SIBLING,
    Axis.FOLLOWING_SIBLING,
    Axis.FOLLOWING_SIBLING,
    Axis.DESCENDANT,
    Axis.FIRST_CHILD,
)
_BACKWARD = (Axis.PARENT, Axis.ANCESTOR, Axis.PRECEDING_SIBLING)
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

    def whole(self) -> Path:
        """A path from the document node."""
        leading = self.pick("descendant", "child", "descendant", "descendant", "descendant", "star", "define", "group")
        first: list[Path]
        if leading == "star":
            first = [Star(self.step(self.pick(Axis.CHILD, Axis.DESCENDANT))), self.step(Axis.CHILD)]
        elif leading == "define":
            first = [self.define(Axis.DESCENDANT)]
        elif leading == "group":
            first = [Union((self.step(Axis.CHILD), self.step(Axis.DESCENDANT)))]
        elif leading == "child":
            first = [self.step(Axis.CHILD, names=("a", "a", "b")), self.step(self.pick(Axis.CHILD, Axis.FIRST_CHILD))]
        else:
            first = [self.step(Axis.DESCENDANT)]
        pieces = [piece for _ in range(self.pick(1, 2, 1, 2, 3, 0)) for piece in self.pieces(2)]
        return _concat(*first, *pieces)

    def pieces(self, depth: int) -> list[Path]:
        """A few steps that follow others."""
        kinds = ["step", "star", "star", "step", "plus", "union", "define", "call", "group star"]
        if self.everything:
            kinds += ["intersect", "backward", "backward star", "there and back"]
        kind = self.pick(*kinds) if depth else "step"
        axis = self.pick(*_FORWARD)
        match kind:
            case "star":
                return [Star(self.step(axis))]
            case "plus":  # the same variable in two places
                step = self.step(axis)
                return [step, Star(step)]
            case "group star":
                return [Star(_concat(self.step(axis), *self.pieces(depth - 1)))]
            case "union":
                return [Union((_concat(*self.pieces(depth - 1)), _concat(*self.pieces(depth - 1))))]
            case "define" if self.path_variables:
                return [self.define(None)]
            case "call" if self.defined:
                return [Call(self.pick(*self.defined))]
            case "intersect":
                return [
                    Intersect((self.step(Axis.DESCENDANT), _concat(self.step(Axis.CHILD), *self.pieces(depth - 1))))
                ]
            case "backward":
                return [self.step(self.pick(*_BACKWARD))]
            case "backward star":
                return [Star(self.step(self.pick(*_BACKWARD)))]
            case "there and back":  # rounds may end where they began
                back = {Axis.CHILD: Axis.PARENT, Axis.DESCENDANT: Axis.ANCESTOR}.get(axis, Axis.PRECEDING_SIBLING)
                return [Star(_concat(self.step(axis), self.step(back)))]
            case _:
                return [self.step(Axis.SELF if self.rarely() else axis)]

    def define(self, entry: Axis | None) -> Path:
        """`($Z: $X … $Z)` or `($Z: $Y union $X … $Z)`, with the axis before it or inside."""
        if not self.path_variables:
            return self.step(entry or Axis.CHILD)
        variable = self.path_variables.pop(0)
        axis = Axis.FOLLOWING_SIBLING if entry is not None else self.pick(*_FORWARD)
        body = [self.step(axis), *(self.pieces(1) if self.pick(True, False) else [])]
        if self.pick(True, True, False):
            body.append(Call(variable))
        self.defined.append(variable)
        whole = Union((self.step(axis), _concat(*body))) if self.rarely() else _concat(*body)
        self.rounds += [(variable, step.variable) for step in all_steps(whole) if step.variable is not None]
        return Define(variable, whole, entry)

    def step(self, axis: Axis, names: tuple[str, ...] = ("a", "b", "a", "b", "c", "d")) -> Step:
        kind = self.pick("variable", "variable", "variable", "name", "any", "variable", "variable", "any")
        # A step to the node itself that binds could be repeated for ever.
        variable = self.pick("X", "Y", "X", "Y", "V", "W") if kind == "variable" and axis is not Axis.SELF else None
        test = NodeTest(Kind.NAME, self.pick(*names)) if kind == "name" else NodeTest(Kind.ANY)
        predicates = tuple(self.predicate() for _ in range(self.pick(0, 0, 0, 0, 0, 1, 0, 2, 0, 1)))
        return Step(axis, test, variable, predicates)

    def ending(self) -> list[Path]:
        """What a bare path may end with."""
        if self.everything and self.rarely():
            return [Step(self.pick(Axis.CHILD, Axis.DESCENDANT), NodeTest(self.pick(Kind.TEXT, Kind.NODE)))]
        test = NodeTest(Kind.NAME, self.pick(*ATTRIBUTES)) if self.pick(True, True, False) else NodeTest(Kind.ANY)
        return self.pick([Step(Axis.ATTRIBUTE, test)], [])

    # Predicates.

    def predicate(self) -> Predicate:
        if self.everything and self.pick(False, True):
            return self.pattern() if self.pick(True, False) else self.relative_condition()
        if self.pick(False, False, True):
            return Exists(_attribute_step(self.pick(*ATTRIBUTES)))
        return Holds(self.local(2))

    def local(self, depth: int) -> Condition:
        """A condition on the attributes of one node."""
        if depth and self.rarely():
            return self.joined(lambda: self.local(depth - 1))
        name = self.pick("p", "p", "k", "n")
        return Comparison(self.pick(*_OPERATORS), Relative(_attribute_step(name)), self.constant())

    def pattern(self) -> Predicate:
        first = self.step(
            self.pick(Axis.CHILD, Axis.CHILD, Axis.DESCENDANT, Axis.IMMEDIATE_FOLLOWING_SIBLING, *_BACKWARD)
        )
        return Exists(_concat(first, *(self.pieces(1) if self.rarely() else [])))

    def relative_condition(self) -> Predicate:
        sides = (self.relative(), self.pick(self.relative, self.constant)())
        comparison = Comparison(self.pick(*_OPERATORS), *sides)
        return Holds(Not(comparison) if self.rarely() else comparison)

    def relative(self) -> Operand:
        there = Step(
            self.pick(Axis.CHILD, Axis.DESCENDANT, Axis.FOLLOWING_SIBLING), NodeTest(Kind.NAME, self.pick(*NAMES))
        )
        text = Step(Axis.CHILD, NodeTest(Kind.TEXT))
        here = Step(Axis.SELF, NodeTest(Kind.NODE))
        kind = self.pick("text", "child", "child text", "child attribute", "attribute", "tag", "sum")
        match kind:
            case "text":
                return Relative(text)
            case "child":
                return Relative(there)
            case "child text":
                return Relative(_concat(there, text))
            case "child attribute":
                return Relative(_concat(there, _attribute_step("p")))
            case "tag":
                return Relative(here, Leaf.TAG)
            case "sum":
                return Arithmetic(self.pick("+", "*"), Relative(_attribute_step("p")), Constant(1))
            case _:
                return Relative(_attribute_step(self.pick(*ATTRIBUTES)))

    # Values and conditions on variables.

    def constant(self) -> Constant:
        return Constant(self.pick(2, 1, 3, "x", 2, 1.5, "2"))

    def joined(self, part: Callable[[], Condition]) -> Condition:
        kind = self.pick("or", "and", "not")
        return Not(part()) if kind == "not" else (Or if kind == "or" else And)((part(), part()))

    def reference(self, many: set[str], variable: str | None = None, alias: Alias | None = None) -> Reference:
        variable = variable or self.pick(*self.variables)
        if alias is None:
            alias = self.pick(Alias.PLAIN, Alias.FIRST, Alias.LAST) if variable in many else Alias.PLAIN
        kind = self.pick("attribute", "attribute", "attribute", "attribute", "tag", "text", "node", "steps")
        if kind == "attribute" or (not self.everything and kind != "tag"):
            return Reference(variable, alias, leaf=Leaf.ATTRIBUTE, name=self.pick("p", "p", "k", "n"))
        if kind == "tag":
            return Reference(variable, alias, leaf=Leaf.TAG)
        if kind == "steps":
            steps = ((self.pick(Axis.CHILD, Axis.CHILD, Axis.DESCENDANT), self.pick(*NAMES)),)
            leaf = self.pick(Leaf.ATTRIBUTE, Leaf.TEXT)
            return Reference(variable, alias, None, steps, leaf, "p" if leaf is Leaf.ATTRIBUTE else "")
        return Reference(variable, alias, leaf=Leaf.TEXT if kind == "text" else Leaf.NODE)

    def conjunct(self, many: set[str]) -> Condition:
        """Something that tells matches apart: first of all, what rises, falls or stays."""
        if self.rarely():
            return self.joined(lambda: self.conjunct(many))
        kinds = ["tag", "constant", "other"]
        if many:
            kinds += ["previous", "previous", "sequence", "aggregate"]
        variable, operator = self.pick(*self.variables), self.pick(*_OPERATORS)
        kind = self.pick(*kinds)
        if kind == "tag":
            tag = Reference(variable, leaf=Leaf.TAG)
            return Comparison(self.pick("=", "!="), tag, Constant(self.pick("a", "b", *NAMES)))
        if kind in ("previous", "sequence", "aggregate"):
            variable = self.pick(*sorted(many))
        value = _attribute(variable)
        match kind:
            case "previous":
                return Comparison(operator, value, _attribute(variable, Alias.PREV))
            case "sequence":
                side = _attribute(variable, self.pick(Alias.FIRST, Alias.LAST))
                return Comparison(operator, side, self.reference(many))
            case "aggregate":
                return Comparison(operator, self.aggregate(variable), self.pick(self.constant(), value))
            case "other":
                left: Operand = Arithmetic(self.pick("+", "-"), value, Constant(1)) if self.rarely() else value
                return Comparison(operator, left, self.reference(many))
            case _:
                return Comparison(operator, value, self.constant())

    def aggregate(self, variable: str) -> Operand:
        function = self.pick("count", "sum", "min", "max", "avg")
        bare = function == "count" and self.pick(True, False)
        return Aggregate(function, Reference(variable) if bare else _attribute(variable))

    def item(self, many: set[str]) -> Operand:
        kind = self.pick("reference", "reference", "last", "aggregate", "calculated", "over all", "round")
        variable = self.pick(*self.variables)
        match kind:
            case "aggregate" if many:
                return self.aggregate(self.pick(*sorted(many)))
            case "last" if many:
                return self.reference(many, self.pick(*sorted(many)), self.pick(Alias.LAST, Alias.FIRST))
            case "calculated":
                other = self.pick(Constant(2), _attribute(self.pick(*self.variables)))
                return Arithmetic(self.pick("+", "-", "*", "/", "%"), _attribute(variable), other)
            case "over all" if self.rarely():
                alias = Alias.LAST if variable in many else Alias.PLAIN
                summed: Operand = _attribute(variable, alias)
                summed = Negative(summed) if self.rarely() else summed
                return Aggregate(self.pick("max", "sum", "count", "min", "avg"), summed)
            case "round" if self.rounds:
                defined, inside = self.pick(*self.rounds)
                return Reference(inside, self.pick(Alias.FIRST, Alias.LAST), defined, leaf=Leaf.ATTRIBUTE, name="p")
            case _:
                return self.reference(many, variable)


def _concat(*pieces: Path) -> Path:
    flat = [part for piece in pieces for part in (piece.parts if isinstance(piece, Concat) else (piece,))]
    return flat[0] if len(flat) == 1 else Concat(tuple(flat))


def _attribute_step(name: str) -> Step:
    return Step(Axis.ATTRIBUTE, NodeTest(Kind.NAME, name))


def _attribute(variable: str, alias: Alias = Alias.PLAIN) -> Reference:
    return Reference(variable, alias, leaf=Leaf.ATTRIBUTE, name="p")


# --- queries


def forward_queries() -> st.SearchStrategy[XSeqQuery]:
    """Queries without backward axes, intersect and text; predicates look at attributes of the node only."""
    return _queries(False)


def queries() -> st.SearchStrategy[XSeqQuery]:
    """Queries of every kind."""
    return _queries(True)


@st.composite
def _queries(draw: Draw, everything: bool) -> XSeqQuery:
    maker = _Maker(draw, everything)
    partition = pick(draw, False, False, True)
    path = _sequence(maker) if partition or pick(draw, False, True) else maker.whole()
    bound = dict.fromkeys(step.variable for step in all_steps(path) if step.variable is not None)
    maker.variables = list(bound)
    returned = bool(bound) and pick(draw, True, True, True, False)
    if not returned:
        path = _concat(path, *maker.ending())
    many = repeating(path)
    conjuncts = [maker.conjunct(many) for _ in range(pick(draw, 1, 0, 2, 1, 0, 1))] if maker.variables else []
    items = tuple(Item(maker.item(many), f"c{n}") for n in range(pick(draw, 1, 2, 3))) if returned else None
    where = None if not conjuncts else conjuncts[0] if len(conjuncts) == 1 else And(tuple(conjuncts))
    return XSeqQuery(path, items, where, _partition(draw, path) if partition else None)


def _sequence(maker: _Maker) -> Path:
    """What most queries of the paper are: a node, and siblings after it."""
    deep = maker.pick(False, True)
    begin = [maker.step(Axis.DESCENDANT)] if deep else [maker.step(Axis.CHILD, ("a",)), maker.step(Axis.CHILD)]
    after: list[Path] = []
    for _ in range(maker.pick(1, 1, 2)):
        step = maker.step(maker.pick(Axis.IMMEDIATE_FOLLOWING_SIBLING, Axis.IMMEDIATE_FOLLOWING_SIBLING, *_FORWARD))
        after += maker.pick([Star(step)], [step], [step, Star(step)])
    return _concat(*begin, *after)


def _partition(draw: Draw, path: Path) -> Partition:
    """The axes that the path begins with, up to the nodes whose siblings it looks at."""
    assert isinstance(path, Concat)
    length = 1 if isinstance(path.parts[0], Step) and path.parts[0].axis is Axis.DESCENDANT else 2
    prefix = []
    for step in path.parts[:length]:
        assert isinstance(step, Step)
        named = step.test if step.test.kind is Kind.NAME else NodeTest(Kind.NAME, pick(draw, "a", "b"))
        prefix.append(Step(step.axis, pick(draw, NodeTest(Kind.ANY), named)))
    return Partition(_concat(*prefix), "k")
