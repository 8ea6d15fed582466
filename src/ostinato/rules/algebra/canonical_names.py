"""Numbers in place of the names of events and variables: nodes that are equal up to names become equal."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ostinato.core.expressions import Expr, Literal, Variable, transform
from ostinato.rules.algebra import nodes as cera
from ostinato.rules.syntax import nodes as n


@dataclass
class Renaming:
    """The names met, in order; their numbers are their new names."""

    events: list[str] = field(default_factory=list)
    data: list[str] = field(default_factory=list)

    def event(self, name: str) -> str:
        return _number(name, self.events)

    def variable(self, name: str) -> str:
        return _number(name, self.data)

    def node(self, node: cera.Node) -> cera.Node:
        if isinstance(node, cera.Point):
            return self._rename(cera.Rename((), (), node))
        if isinstance(node, cera.Rename):
            return self._rename(node)
        if isinstance(node, cera.Project):
            below = self.node(node.input)
            return cera.Project(tuple(map(self.variable, node.data)), below)
        node = cera.with_inputs(node, tuple(self.node(below) for below in cera.inputs(node)))
        if isinstance(node, cera.Match):
            ident = self.event(node.ident)
            bound = None if node.bound is None else self.variable(node.bound)
            term = self.term(node.term)
            key = None if node.key is None else self.term(node.key)
            assert isinstance(term, n.Element)
            assert key is None or isinstance(key, n.Element)
            return replace(node, ident=ident, bound=bound, term=term, key=key)
        if isinstance(node, cera.TimerStream):
            timer = node.timer
            return cera.TimerStream(replace(timer, anchor=self.event(timer.anchor), ident=self.event(timer.ident)))
        if isinstance(node, cera.FixedStream):
            return cera.FixedStream(replace(node.timer, ident=self.event(node.timer.ident)))
        if isinstance(node, cera.Select):
            return replace(node, conditions=tuple(map(self.condition, node.conditions)))
        if isinstance(node, cera.Join):
            left, right = self.bounds(node.keep_left), self.bounds(node.keep_right)
            return replace(node, near=self.near(node.near), keep_left=left, keep_right=right)
        if isinstance(node, cera.TemporalJoin | cera.AntiJoin):
            window, ident = self.event(node.window), self.event(node.ident)
            near, keep = self.near(node.near), self.bounds(node.keep_right)
            return replace(node, window=window, ident=ident, near=near, keep_right=keep)
        return node

    def _rename(self, node: cera.Rename) -> cera.Node:
        """Every name of a point, old and new: only the new ones count from here on."""
        was, now = node.input.schema, node.schema
        events = tuple((self.event(new), old) for new, old in zip(now.times, was.times, strict=True))
        data = tuple((self.variable(new), old) for new, old in zip(now.data, was.data, strict=True))
        return cera.Rename(events, data, node.input)

    def near(self, near: cera.Near | None) -> cera.Near | None:
        if near is None:
            return None
        (left, one), (right, other) = near.left, near.right
        return replace(near, left=(self.event(left), one), right=(self.event(right), other))

    def bounds(self, bounds: tuple[cera.RelevanceBound, ...]) -> tuple[cera.RelevanceBound, ...]:
        return tuple(
            cera.RelevanceBound(
                self.event(bound.event),
                tuple((None if time is None else (self.event(time[0]), time[1]), most) for time, most in bound.until),
            )
            for bound in bounds
        )

    def child(self, term: n.ChildQuery) -> n.ChildQuery:
        if isinstance(term, n.Without):
            return n.Without(self.term(term.term))
        if isinstance(term, n.Position):
            place = self.variable(term.place) if isinstance(term.place, str) else term.place
            return n.Position(place, self.term(term.term))
        return self.term(term)

    def term(self, term: n.QueryTerm) -> n.QueryTerm:
        if isinstance(term, n.Bind):
            return n.Bind(self.variable(term.name), None if term.term is None else self.term(term.term))
        if isinstance(term, n.Desc | n.Optional):
            return replace(term, term=self.term(term.term))
        if isinstance(term, n.Element):
            return replace(term, children=tuple(map(self.child, term.children)))
        if isinstance(term, n.Fitting):
            return term
        return n.Const(_typed_text(term.value))

    def condition(self, condition: n.Condition) -> n.Condition:
        if isinstance(condition, n.Temporal):
            return replace(condition, events=tuple(map(self.event, condition.events)))
        if isinstance(condition, n.Data):
            return replace(condition, expr=transform(condition.expr, self._leaf))
        assert isinstance(condition, n.Formula), "conditions on groups stand in no point"
        return replace(condition, parts=tuple(map(self.condition, condition.parts)))

    def _leaf(self, expr: Expr) -> Expr:
        if isinstance(expr, Literal):
            return Literal(_typed_text(expr.value))
        return replace(expr, name=self.variable(expr.name)) if isinstance(expr, Variable) else expr


def canonicalise(node: cera.Node) -> tuple[cera.Node, Renaming]:
    """The node with numbers for names, and the names."""
    renaming = Renaming()
    return renaming.node(node), renaming


def _typed_text(value: object) -> str:
    """Differs for values that differ: to Python 1, 1.0 and True are equal."""
    return f"{type(value).__name__} {value!r}"


def _number(name: str, met: list[str]) -> str:
    if name not in met:
        met.append(name)
    return str(met.index(name))
