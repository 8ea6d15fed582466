"""What an XSeq query means, straight from its definition (XSeq paper, section 5), for small documents.

Nothing here is shared with the automata: this is what they are tested against. The axes are in axes.py, the walks
along paths in walks.py, operands and conditions in values.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from ostinato.xseq.semantics.axes import UNKEYED, Axes
from ostinato.xseq.semantics.tree import Node, NodeKind
from ostinato.xseq.semantics.values import Environment, Value, XSeqMatch, aggregate, calculate, references, sides
from ostinato.xseq.semantics.walks import Walk, Walks, all_steps, definitions
from ostinato.xseq.syntax import nodes as n
from ostinato.xseq.syntax.normal_form import normalise

Row = tuple[Value, ...]
Matches = Literal["all", "longest"]


def columns(query: n.Query) -> list[str]:
    """The names of the columns that `evaluate` fills."""
    return ["node"] if query.items is None else [item.name for item in query.items]


def evaluate(query: n.Query, document: Node, matches: Matches = "all", *, limit: int | None = None) -> list[Row]:
    """The rows of the answer, in order. LimitError when more than `limit` walks would have to be kept."""
    query = normalise(query)  # Definition 5.3
    walks = _walks(query, document, limit)
    found = _select_walks(query, walks, document, matches)
    if query.items is None:
        ends = {end for end, _ in found if end.kind is not NodeKind.DOCUMENT}
        return [(_source_text(node),) for node in sorted(ends, key=lambda node: node.position)]
    ordered = sorted(dict.fromkeys(match for _, match in found), key=_order)
    output = _Output(query, walks)
    rows = output.grouped(ordered) if output.summed else [output.row(match) for match in ordered]
    return [row for row in rows if any(value is not None for value in row)]


def find_matches(
    query: n.Query, document: Node, matches: Matches = "all", *, limit: int | None = None
) -> list[tuple[tuple[str, Node], ...]]:
    """What the variables are bound to in each match, in the order of the rows."""
    query = normalise(query)
    walks = _walks(query, document, limit)
    found = {match for _, match in _select_walks(query, walks, document, matches)}
    return list(dict.fromkeys(map(_sequence, sorted(found, key=_order))))


def _walks(query: n.Query, document: Node, limit: int | None) -> Walks:
    axes = Axes({} if query.partition is None else _keys(query.partition, document, limit))
    return Walks(query.path, axes, watched=_counted_variables(query), limit=limit)


def _select_walks(query: n.Query, walks: Walks, document: Node, matches: Matches) -> list[Walk]:
    """The walks whose match fulfils the where clause; if asked for, without those that another one continues."""
    found = [walk for walk in walks.of(query.path, document) if walks.values.fulfilled(query.where, walk[1])]
    if matches == "all":
        return found
    sequences = {_sequence(match) for _, match in found}
    continued = {sequence[:length] for sequence in sequences for length in range(len(sequence))}
    return [walk for walk in found if _sequence(walk[1]) not in continued]


def _sequence(match: XSeqMatch) -> tuple[tuple[str, Node], ...]:
    return tuple((binding.variable, binding.node) for binding in match.bindings)


def _order(match: XSeqMatch) -> tuple[object, ...]:
    """The last bound node, then the earlier ones; then, so that the order is always the same, variables and rounds."""
    places = [binding.node.position for binding in match.bindings]
    variables = [binding.variable for binding in match.bindings]
    rounds = [binding.rounds for binding in match.bindings]
    return places[-1:], places[:-1], variables, rounds, match.entered


def _source_text(node: Node) -> str:
    """An element as it stands in the document, the value of an attribute or text."""
    return node.source if node.kind is NodeKind.ELEMENT else node.value


def _keys(partition: n.Partition, document: Node, limit: int | None) -> dict[Node, str | None]:
    """The key of every node that the path of `partition by` reaches."""
    reached = Walks(partition.path, Axes(), limit=limit).nodes(partition.path, document)
    return {node: node.attribute(partition.attribute) for node in reached}


def _counted_variables(query: n.Query) -> set[str]:
    """The path variables whose rounds are spoken of; only these make two walks with the same bindings differ."""
    spoken = [item.operand for item in query.items or ()]
    spoken += [side for conjunct in n.conjuncts(query.where) for side in sides(conjunct)]
    return {each.within for operand in spoken for each in references(operand, aggregated=True) if each.within}


class _Output:
    """The items of a query, for a match or for a group of matches."""

    def __init__(self, query: n.Query, walks: Walks) -> None:
        self.items = [item.operand for item in query.items or ()]
        self.values, self.axes = walks.values, walks.axes
        self.repeating = repeating_variables(query.path)
        self.summed = any(self._has_sum(operand) for operand in self.items)

    def row(self, match: XSeqMatch) -> Row:
        return tuple(self._item_value(operand, match) for operand in self.items)

    def grouped(self, matches: Sequence[XSeqMatch]) -> list[Row]:
        """A row for all matches of one partition that agree on everything but the sums."""
        groups: dict[tuple[object, ...], list[XSeqMatch]] = {}
        for match in matches:
            agreed = (value for operand in self.items for value in self._grouping_values(operand, match))
            groups.setdefault((self._partition(match), *agreed), []).append(match)
        return [tuple(self._over(operand, group) for operand in self.items) for group in groups.values()]

    def _is_sum(self, operand: n.Operand) -> bool:
        """Whether it aggregates over matches: what it is of is one value in each match."""
        if not isinstance(operand, n.Aggregate):
            return False
        ranging = (each for each in references(operand.operand) if each.alias in (n.Alias.PLAIN, n.Alias.PREV))
        return not any(each.variable in self.repeating for each in ranging)

    def _has_sum(self, operand: n.Operand) -> bool:
        match operand:
            case n.Arithmetic():
                return self._has_sum(operand.left) or self._has_sum(operand.right)
            case n.Negative():
                return self._has_sum(operand.operand)
            case _:
                return self._is_sum(operand)

    def _grouping_values(self, operand: n.Operand, match: XSeqMatch) -> Iterator[Value]:
        """What of an item must be the same in all matches of a group."""
        if not self._has_sum(operand):
            yield self._item_value(operand, match)
        elif isinstance(operand, n.Arithmetic):
            yield from self._grouping_values(operand.left, match)
            yield from self._grouping_values(operand.right, match)
        elif isinstance(operand, n.Negative):
            yield from self._grouping_values(operand.operand, match)

    def _over(self, operand: n.Operand, group: Sequence[XSeqMatch]) -> Value:
        match operand:
            case n.Aggregate() if self._is_sum(operand):
                return aggregate(operand.function, (self._value(operand.operand, match) for match in group))
            case n.Arithmetic() if self._has_sum(operand):
                return calculate(operand.operator, self._over(operand.left, group), self._over(operand.right, group))
            case n.Negative() if self._has_sum(operand):
                return calculate("-", 0, self._over(operand.operand, group))
            case _:
                return self._item_value(operand, group[0])

    def _item_value(self, operand: n.Operand, match: XSeqMatch) -> Value:
        if isinstance(operand, n.Reference) and operand.leaf is n.Leaf.NODE:
            node = self.values.referred(operand, Environment(match))
            return None if node is None else _source_text(node)
        return self._value(operand, match)

    def _value(self, operand: n.Operand, match: XSeqMatch) -> Value:
        return self.values.value(operand, Environment(match))

    def _partition(self, match: XSeqMatch) -> object:
        """The key of the first bound node that has one."""
        keys = (self.axes.key(binding.node) for binding in match.bindings)
        return next((key for key in keys if key is not UNKEYED), None)


def repeating_variables(path: n.Path) -> set[str]:
    """The step variables that may be bound more than once in a match: in a loop, or in several places."""
    bodies = {each.variable: each.body for each in definitions(path)}
    places = Counter(_places(path, bodies, False, ()))
    return {variable for variable, times in places.items() if times > 1}


def _places(path: n.Path, bodies: Mapping[str, n.Path], loop: bool, inside: tuple[str, ...]) -> Iterator[str]:
    """The variable of each step, once for each place where it is bound; in a loop twice."""
    match path:
        case n.Step():
            if path.variable is not None:
                yield from [path.variable] * (2 if loop else 1)
            for predicate in path.predicates:
                if isinstance(predicate, n.Exists):
                    yield from _places(predicate.path, bodies, loop, inside)
        case n.Star():
            yield from _places(path.body, bodies, True, inside)
        case n.Define() | n.Call() if path.variable in inside:  # further rounds, of all that lies on the way back
            again = (bodies[variable] for variable in inside[inside.index(path.variable) :])
            yield from (step.variable for body in again for step in all_steps(body) if step.variable is not None)
        case n.Define() | n.Call():
            yield from _places(bodies[path.variable], bodies, loop, (*inside, path.variable))
        case _:
            for part in n.parts(path):
                yield from _places(part, bodies, loop, inside)
