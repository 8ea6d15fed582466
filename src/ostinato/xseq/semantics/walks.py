"""The walks along a path (XSeq paper, Definition 5.11): where each ends, and what it binds on the way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from ostinato.errors import LimitError
from ostinato.xseq.semantics.axes import Axes
from ostinato.xseq.semantics.tree import Node
from ostinato.xseq.semantics.values import Environment, NodeBinding, OperandValues, XSeqMatch
from ostinato.xseq.syntax import nodes as n
from ostinato.xseq.syntax.variables import endless_variables

Walk = tuple[Node, XSeqMatch]  # where it ends, what it bound


@dataclass(frozen=True)
class _Round:
    """The round of a path variable that a walk is in, and where this and the rounds before it began."""

    number: int
    begun: frozenset[Node]


Rounds = Mapping[str, _Round]


class Walks:
    """Walks in one document. The rounds of the path variables in `watched` are distinguished, others are not."""

    def __init__(self, path: n.Path, axes: Axes, *, watched: Iterable[str] = (), limit: int | None = None) -> None:
        self.axes = axes
        self.values = OperandValues(axes, self.nodes)
        self.watched = frozenset(watched)
        self.limit = limit
        self.bodies = {each.variable: each.body for each in definitions(path)}
        self.endless = endless_variables(self.bodies)

    def of(self, path: n.Path, node: Node) -> list[Walk]:
        """Every walk along `path` from `node`, once."""
        return self._collect(self._along(path, (node, XSeqMatch()), {}))

    def nodes(self, path: n.Path, node: Node) -> list[Node]:
        """Every node on which a walk ends, once, in document order."""
        return sorted({end for end, _ in self.of(path, node)}, key=lambda end: end.position)

    def _along(self, path: n.Path, walk: Walk, rounds: Rounds) -> Iterable[Walk]:
        """`walk` and on along `path`."""
        match path:
            case n.Step():
                return self._step(path, walk, rounds)
            case n.Concat():
                walks: Iterable[Walk] = [walk]
                for part in path.parts:
                    walks = self._collect(longer for each in walks for longer in self._along(part, each, rounds))
                return walks
            case n.Union():
                return self._collect(longer for part in path.parts for longer in self._along(part, walk, rounds))
            case n.Intersect():
                return self._intersect(path.parts, walk, rounds)
            case n.Star(entry=None):
                return self._star(path.body, walk, rounds)
            case n.Star():
                first = self._collect(self._along(n.first_round(path), walk, rounds))
                return self._collect(
                    [walk, *(longer for each in first for longer in self._star(path.body, each, rounds))]
                )
            case n.Define():
                outside = {variable: each for variable, each in rounds.items() if variable != path.variable}
                return self._round(path.variable, n.first_round(path), walk, outside)
            case n.Call():
                return self._call(path.variable, walk, rounds)

    def _step(self, step: n.Step, walk: Walk, rounds: Rounds) -> Iterator[Walk]:
        start, matched = walk
        for node in self.axes.along(step.axis, step.test, start):
            longer = matched
            if step.variable is not None:
                inside = tuple((path, each.number) for path, each in rounds.items() if path in self.watched)
                binding = NodeBinding(step.variable, node, inside)
                longer = replace(matched, bindings=(*matched.bindings, binding))
            for bound in self._predicates(step.predicates, node, longer, rounds):
                yield node, bound

    def _predicates(
        self, predicates: tuple[n.Predicate, ...], node: Node, matched: XSeqMatch, rounds: Rounds
    ) -> Iterable[XSeqMatch]:
        """What is bound when all predicates hold on the node: `matched`, and the variables in the predicates."""
        bound = [matched]
        for predicate in predicates:
            match predicate:
                case n.Holds():
                    if not self.values.holds(predicate.condition, Environment(matched, context=node)):
                        return []
                case n.Exists():
                    walks = (walk for each in bound for walk in self._along(predicate.path, (node, each), rounds))
                    bound = list(dict.fromkeys(longer for _, longer in walks))
        return bound

    def _intersect(self, paths: tuple[n.Path, ...], walk: Walk, rounds: Rounds) -> list[Walk]:
        """All paths from one node to one node; what the first binds comes first."""
        start, _ = walk
        walks = self._collect(self._along(paths[0], walk, rounds))
        for path in paths[1:]:
            both = (
                (end, longer)
                for end, bound in walks
                for other, longer in self._along(path, (start, bound), rounds)
                if other is end
            )
            walks = self._collect(both)
        return walks

    def _star(self, body: n.Path, walk: Walk, rounds: Rounds) -> list[Walk]:
        """Round after round. No two of them begin at the same node: such rounds could go on for ever."""
        nothing_bound = not any(_binds(each) for each in n.subpaths(body))
        found = [walk]
        begins: set[tuple[Walk, frozenset[Node]]] = {(walk, frozenset())}  # of another round, and of those before it
        while begins:
            ended = {
                (further, begun | {each[0]}) for each, begun in begins for further in self._along(body, each, rounds)
            }
            if nothing_bound:  # then one way to a node is as good as another
                ended = {each for each in ended if each[0] not in found}
            found = self._collect([*found, *(each for each, _ in ended)])
            begins = {(each, begun) for each, begun in ended if each[0] not in begun}
        return found

    def _round(self, variable: str, body: n.Path, walk: Walk, rounds: Rounds) -> Iterable[Walk]:
        """One round of a path variable's definition, and those after it."""
        start, matched = walk
        number = matched.rounds(variable) + 1
        if variable in self.watched:
            matched = replace(matched, entered=tuple(sorted({**dict(matched.entered), variable: number}.items())))
        begun = rounds[variable].begun if variable in rounds else frozenset()
        inside = {**rounds, variable: _Round(number, begun | {start})}
        return self._along(body, (start, matched), inside)

    def _call(self, variable: str, walk: Walk, rounds: Rounds) -> Iterable[Walk]:
        """Elsewhere the definition once more; inside the definition another round, as of a star, or, where rounds have
        no other end, none."""
        stays = [walk] if variable in rounds and variable in self.endless else []
        if variable in rounds and walk[0] in rounds[variable].begun:
            return stays
        return [*stays, *self._round(variable, self.bodies[variable], walk, rounds)]

    def _collect(self, walks: Iterable[Walk]) -> list[Walk]:
        """Each walk once."""
        known: dict[Walk, None] = {}
        for walk in walks:
            known[walk] = None
            if self.limit is not None and len(known) > self.limit:
                raise LimitError("limit", self.limit, reason="too many walks", fix="a smaller document or query")
        return list(known)


def definitions(path: n.Path) -> Iterator[n.Define]:
    """Every definition of a path variable, also in predicates and in definitions."""
    return (each for each in n.subpaths(path) if isinstance(each, n.Define))


def all_steps(path: n.Path) -> Iterator[n.Step]:
    """Every step whose variable the path binds, those in predicates among them."""
    return (each for each in n.subpaths(path) if isinstance(each, n.Step))


def _binds(path: n.Path) -> bool:
    return isinstance(path, n.Define | n.Call) or (isinstance(path, n.Step) and path.variable is not None)
