"""Where a path can lead in documents that fit a schema: the names of the nodes each step may reach."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ostinato.documents.schema.model import DOCUMENT, Schema, is_reserved_attribute
from ostinato.xseq.syntax import nodes as n
from ostinato.xseq.syntax.variables import endless_variables

TEXT = "#text"
# A place is the name of an element, DOCUMENT, an attribute's name with @ before it, or TEXT.
Places = frozenset[str]
NOWHERE_TO: Places = frozenset()
_RESERVED = "@xmlns"  # stands for every attribute that need not be declared


def is_element(place: str) -> bool:
    return place not in (DOCUMENT, TEXT) and not place.startswith("@")


class ReachableNames:
    """Follows paths through a schema. What it says is never too little."""

    def __init__(self, schema: Schema, path: n.Path) -> None:
        self.schema = schema
        self._definitions = {each.variable: each for each in n.subpaths(path) if isinstance(each, n.Define)}
        self._endless = endless_variables({name: define.body for name, define in self._definitions.items()})
        self._again: dict[str, Places] = {}  # inside a definition: where its variable stands again

    def along(self, path: n.Path, places: Places) -> Places:
        """Where a walk along the path can end that starts in one of the places."""
        match path:
            case n.Step():
                reached = self.step(path.axis, path.test, places)
                return frozenset(place for place in reached if self.passes(path.predicates, place))
            case n.Concat():
                for part in path.parts:
                    places = self.along(part, places)
                return places
            case n.Union():
                return NOWHERE_TO.union(*(self.along(part, places) for part in path.parts))
            case n.Intersect():
                return frozenset.intersection(*(self.along(part, places) for part in path.parts))
            case n.Star():
                return places | self.rounds(path.body, self.along(n.first_round(path), places))
            case n.Define():
                return self._define(path.variable, n.first_round(path), path.body, places)
            case n.Call():
                if path.variable in self._again:
                    self._again[path.variable] |= places
                    return places if path.variable in self._endless else NOWHERE_TO
                body = self._definitions[path.variable].body
                return self._define(path.variable, body, body, places)

    def rounds(self, body: n.Path, places: Places) -> Places:
        """Where any number of rounds of the body can end."""
        while not (further := self.along(body, places)) <= places:
            places |= further
        return places

    def _define(self, variable: str, first: n.Path, body: n.Path, places: Places) -> Places:
        self._again[variable] = NOWHERE_TO
        ends = self.along(first, places)
        done: Places | None = None
        while done != self._again[variable]:
            done = self._again[variable]
            ends |= self.along(body, done)
        del self._again[variable]
        return ends

    def passes(self, predicates: Iterable[n.Predicate], place: str) -> bool:
        """Whether paths in predicates can lead anywhere from that place; conditions are taken to hold."""
        return all(self.along(each.path, frozenset({place})) for each in predicates if isinstance(each, n.Exists))

    def step(self, axis: n.Axis, test: n.NodeTest, places: Places) -> Places:
        """The places along an axis that pass the test."""
        reached = NOWHERE_TO.union(*(self._follow_axis(axis, place) for place in places))
        return frozenset(place for place in reached if _passes(test, axis, place))

    def _follow_axis(self, axis: n.Axis, place: str) -> Iterator[str]:
        schema = self.schema
        holder = is_element(place) or place == DOCUMENT
        match axis:
            case n.Axis.SELF:
                yield place
            case n.Axis.PARENT:
                yield from self._parents(place)
            case n.Axis.ANCESTOR:
                near = self._parents(place)
                yield from near | schema.above(near - {DOCUMENT})
            case n.Axis.CHILD if holder:
                yield from schema.of(place).children
                if schema.of(place).text:
                    yield TEXT
            case n.Axis.DESCENDANT if holder:
                below = schema.below([place])
                yield from below
                if any(schema.of(name).text for name in (place, *below)):
                    yield TEXT
            case n.Axis.FIRST_CHILD if holder:
                # The order in a sample is no promise; see documents/schema/model.py.
                yield from schema.of(place).children if schema.assumed else schema.of(place).first
            case n.Axis.ATTRIBUTE if is_element(place):
                yield from (f"@{name}" for name in schema.of(place).attributes)
                yield _RESERVED
            case n.Axis.FOLLOWING_SIBLING | n.Axis.PRECEDING_SIBLING | n.Axis.IMMEDIATE_FOLLOWING_SIBLING if is_element(
                place
            ):
                for parent in schema.parents(place) - {DOCUMENT}:
                    yield from self._siblings(axis, parent, place)

    def _siblings(self, axis: n.Axis, parent: str, child: str) -> Iterable[str]:
        kind = self.schema.of(parent)
        if self.schema.assumed:
            return kind.children
        if axis is n.Axis.IMMEDIATE_FOLLOWING_SIBLING:
            return kind.follows.get(child, NOWHERE_TO)
        if axis is n.Axis.FOLLOWING_SIBLING:
            return kind.after(child)
        return (other for other in kind.children if child in kind.after(other))

    def _parents(self, place: str) -> Places:
        if place == DOCUMENT:
            return NOWHERE_TO
        if is_element(place):
            return self.schema.parents(place)
        kinds: Mapping[str, object] = self.schema.elements
        if place == TEXT:
            return frozenset(name for name in kinds if self.schema.of(name).text)
        return frozenset(name for name in kinds if place == _RESERVED or place[1:] in self.schema.of(name).attributes)


def _passes(test: n.NodeTest, axis: n.Axis, place: str) -> bool:
    if axis is n.Axis.ATTRIBUTE:
        named = f"@{test.name}" == place or (place == _RESERVED and is_reserved_attribute(test.name))
        return test.kind in (n.Kind.ANY, n.Kind.NODE) or (test.kind is n.Kind.NAME and named)
    match test.kind:
        case n.Kind.TEXT:
            return place == TEXT
        case n.Kind.NODE:
            return axis is n.Axis.SELF or place == TEXT or is_element(place)
        case n.Kind.ANY:
            return is_element(place)
        case n.Kind.NAME:
            return place == test.name and is_element(place)
