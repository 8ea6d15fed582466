"""A node with its events and variables numbered in order of appearance: equal up to names means equal then."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ostinato.core.expressions import Expr, Literal, Variable, transform
from ostinato.rules.algebra.nodes import (
    AntiJoin,
    Bound,
    FixedStream,
    Join,
    Match,
    Near,
    Node,
    Point,
    Project,
    Rename,
    Select,
    TemporalJoin,
    TimerStream,
    inputs,
    with_inputs,
)
from ostinato.rules.syntax.nodes import Bind, Condition, Const, Data, Desc, Element, Optional, QueryTerm, Temporal


@dataclass
class Renaming:
    """The names met, in order; their numbers are their new names."""

    events: list[str] = field(default_factory=list)
    data: list[str] = field(default_factory=list)

    def event(self, name: str) -> str:
        return _numbered(name, self.events)

    def variable(self, name: str) -> str:
        return _numbered(name, self.data)

    def node(self, node: Node) -> Node:
        if isinstance(node, Point):
            return self._renamed(Rename((), (), node))
        if isinstance(node, Rename):
            return self._renamed(node)
        if isinstance(node, Project):
            below = self.node(node.input)
            return Project(tuple(map(self.variable, node.data)), below)
        node = with_inputs(node, tuple(self.node(below) for below in inputs(node)))
        if isinstance(node, Match):
            ident = self.event(node.ident)
            bound = None if node.bound is None else self.variable(node.bound)
            term = self.term(node.term)
            assert isinstance(term, Element)
            return replace(node, ident=ident, bound=bound, term=term)
        if isinstance(node, TimerStream):
            timer = node.timer
            return TimerStream(replace(timer, anchor=self.event(timer.anchor), ident=self.event(timer.ident)))
        if isinstance(node, FixedStream):
            return FixedStream(replace(node.timer, ident=self.event(node.timer.ident)))
        if isinstance(node, Select):
            return replace(node, conditions=tuple(map(self.condition, node.conditions)))
        if isinstance(node, Join):
            left, right = self.bounds(node.keep_left), self.bounds(node.keep_right)
            return replace(node, near=self.near(node.near), keep_left=left, keep_right=right)
        if isinstance(node, TemporalJoin | AntiJoin):
            window, ident = self.event(node.window), self.event(node.ident)
            near, keep = self.near(node.near), self.bounds(node.keep_right)
            return replace(node, window=window, ident=ident, near=near, keep_right=keep)
        return node

    def _renamed(self, node: Rename) -> Node:
        """Every name of a point spelt out: only the new ones count from here on."""
        was, now = node.input.schema, node.schema
        events = tuple((self.event(new), old) for new, old in zip(now.times, was.times, strict=True))
        data = tuple((self.variable(new), old) for new, old in zip(now.data, was.data, strict=True))
        return Rename(events, data, node.input)

    def near(self, near: Near | None) -> Near | None:
        if near is None:
            return None
        (left, one), (right, other) = near.left, near.right
        return replace(near, left=(self.event(left), one), right=(self.event(right), other))

    def bounds(self, bounds: tuple[Bound, ...]) -> tuple[Bound, ...]:
        return tuple(
            Bound(
                self.event(bound.event),
                tuple((None if time is None else (self.event(time[0]), time[1]), most) for time, most in bound.until),
            )
            for bound in bounds
        )

    def term(self, term: QueryTerm) -> QueryTerm:
        if isinstance(term, Bind):
            return Bind(self.variable(term.name), None if term.term is None else self.term(term.term))
        if isinstance(term, Desc | Optional):
            return replace(term, term=self.term(term.term))
        if isinstance(term, Element):
            return replace(term, children=tuple(map(self.term, term.children)))
        return Const(_told_apart(term.value))

    def condition(self, condition: Condition) -> Condition:
        if isinstance(condition, Temporal):
            return replace(condition, events=tuple(map(self.event, condition.events)))
        if isinstance(condition, Data):
            return replace(condition, expr=transform(condition.expr, self._leaf))
        return replace(condition, parts=tuple(map(self.condition, condition.parts)))

    def _leaf(self, expr: Expr) -> Expr:
        if isinstance(expr, Literal):
            return Literal(_told_apart(expr.value))
        return replace(expr, name=self.variable(expr.name)) if isinstance(expr, Variable) else expr


def renamed(node: Node) -> tuple[Node, Renaming]:
    """The node with numbers for names, and the names."""
    renaming = Renaming()
    return renaming.node(node), renaming


def _told_apart(value: object) -> str:
    """To Python 1, 1.0 and True are equal."""
    return f"{type(value).__name__} {value!r}"


def _numbered(name: str, met: list[str]) -> str:
    if name not in met:
        met.append(name)
    return str(met.index(name))
