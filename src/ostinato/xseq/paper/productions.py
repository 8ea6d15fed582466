"""CXSeq (sections 5 and 6.1 of the XSeq paper): the navigation of a query as productions over five axes.

A production (v, π) says: one way to walk v is π. A document is read as a tree whose nodes are elements, and, before the
elements and texts inside it, the attributes of each; so every axis of XSeq is a star over ↓ (first child), → and ↑ ←.

Where the paper had to be mended:
- va(π ∩ π′) must be va(π) ∪ va(π′), and neither dv nor va holds variables in predicates (nor the production's own):
  with dv(d::a[v]) = {v}, the recursive predicates of B.2.2 would not be safe.
- Theorem B.1 adds (fv, π fv) with the starred path π′, not the whole π; and where π′ is an intersection, `π′ fv` is no
  path of the grammar, so π′ gets a variable of its own.
- Lemma B.3 puts what follows an intersection behind both of its sides: h(π₁ ∩ π₂) = h(π₁) ∩ h(π₂). That lets the sides
  part before they meet again. Intersections of single steps are made one step instead; others cannot be continued.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from ostinato.errors import QueryError
from ostinato.xseq.plan.local_tests import holds, predicate_text
from ostinato.xseq.syntax.nodes import Predicate

Variable = str


class Direction(StrEnum):
    SELF = "⊙"
    FIRST = "↓"  # the first child
    PARENT = "↑"
    NEXT = "→"
    PREVIOUS = "←"


class Sort(StrEnum):
    """What kinds of node a test lets through."""

    NODE = "_"
    ELEMENT = "*"
    NOT_ELEMENT = "not *"
    ATTRIBUTE = "@*"
    TEXT = "text()"
    INSIDE = "node()"  # an element or text
    BELOW = "below"  # anything but the document node


_KINDS = {
    Sort.NODE: {"document", "element", "attribute", "text"},
    Sort.ELEMENT: {"element"},
    Sort.NOT_ELEMENT: {"document", "attribute", "text"},
    Sort.ATTRIBUTE: {"attribute"},
    Sort.TEXT: {"text"},
    Sort.INSIDE: {"element", "text"},
    Sort.BELOW: {"element", "attribute", "text"},
}


@dataclass(frozen=True)
class Label:
    """What the tests of CXSeq see of a node."""

    kind: str  # of xseq/semantics/tree.py: document, element, attribute or text
    name: str = ""
    attributes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class LabelTest:
    """NameTest of Figure 8, with the tests of one element that section 4.1 allows. Several must all hold."""

    sorts: frozenset[Sort] = frozenset({Sort.NODE})
    names: frozenset[str] = frozenset()  # more than one: nothing passes
    guards: tuple[Predicate, ...] = ()

    def passes(self, label: Label) -> bool:
        if not all(label.kind in _KINDS[sort] for sort in self.sorts) or not self.names <= {label.name}:
            return False
        return all(holds(guard, label.name, dict(label.attributes)) for guard in self.guards)

    def __and__(self, other: LabelTest) -> LabelTest:
        guards = dict.fromkeys((*self.guards, *other.guards))
        return LabelTest(self.sorts | other.sorts, self.names | other.names, tuple(guards))

    def __str__(self) -> str:
        sorts = sorted(sort for sort in self.sorts if sort is not Sort.NODE)
        if self.names and set(sorts) <= {Sort.ELEMENT}:
            sorts = []
        text = "∧".join([*sorts, *sorted(self.names)]) or "_"
        return text + "".join(f"[{predicate_text(guard)}]" for guard in self.guards)


ANY = LabelTest()


@dataclass(frozen=True)
class VStep:
    """`axis::test[predicate]v1…vn`: one step, then the variables one after the other."""

    direction: Direction
    test: LabelTest = ANY
    predicate: Variable | None = None
    then: tuple[Variable, ...] = ()

    def __str__(self) -> str:
        tested = f"[{self.predicate}]" if self.predicate is not None else ""
        return f"{self.direction}::{self.test}{tested}" + "".join(f" {variable}" for variable in self.then)


@dataclass(frozen=True)
class Starred:
    path: Walk

    def __str__(self) -> str:
        return f"({self.path})*"


@dataclass(frozen=True)
class Both:
    """`π1 intersect π2`"""

    left: Walk
    right: Walk

    def __str__(self) -> str:
        return f"({self.left}) ∩ ({self.right})"


Walk = VStep | Starred | Both


@dataclass(frozen=True)
class CXSeq:
    """K = (V, v0, ρ); V is what the productions speak of."""

    start: Variable
    productions: tuple[tuple[Variable, Walk], ...]

    def of(self, variable: Variable) -> Iterator[Walk]:
        return (walk for head, walk in self.productions if head == variable)

    @property
    def variables(self) -> tuple[Variable, ...]:
        found = {self.start: None}
        for head, walk in self.productions:
            found[head] = None
            found.update(dict.fromkeys((*va(walk), *predicates(walk))))
        return tuple(found)

    def __str__(self) -> str:
        return "".join(f"{head} := {walk}\n" for head, walk in self.productions)


def vsteps(walk: Walk) -> tuple[VStep, ...]:
    """The single walks that a walk is made of."""
    match walk:
        case Both():
            return vsteps(walk.left) + vsteps(walk.right)
        case Starred():
            return vsteps(walk.path)
        case VStep():
            return (walk,)


def va(walk: Walk) -> tuple[Variable, ...]:
    """The variables of a walk, without those in predicates."""
    return tuple(variable for step in vsteps(walk) for variable in step.then)


def dv(walk: Walk) -> tuple[Variable, ...]:
    """The variables after which a walk goes on."""
    match walk:
        case Both():
            return dv(walk.left) + dv(walk.right)
        case Starred():
            return va(walk)
        case VStep():
            return walk.then[:-1]


def predicates(walk: Walk) -> tuple[Variable, ...]:
    return tuple(step.predicate for step in vsteps(walk) if step.predicate is not None)


def reachable(query: CXSeq, variable: Variable) -> frozenset[Variable]:
    """y^v of section 6.1: v and what is reached from it through productions, predicates left aside."""
    seen, todo = {variable}, [variable]
    while todo:
        for walk in query.of(todo.pop()):
            new = set(va(walk)) - seen
            seen |= new
            todo += new
    return frozenset(seen)


def is_safe(query: CXSeq) -> bool:
    """Definition 6.1: no variable can come back to itself and then go on."""
    return not any(head in reachable(query, inner) for head, walk in query.productions for inner in dv(walk))


# --- the passes of Appendix B


def remove_stars(query: CXSeq) -> CXSeq:
    """Theorem B.1: CXSeqA. A star is a variable that stops, or walks once and comes again."""
    fresh = _Fresh(query)
    done: list[tuple[Variable, Walk]] = []
    todo = list(query.productions)

    def unstarred(walk: Walk) -> Walk:
        match walk:
            case Both():
                return Both(unstarred(walk.left), unstarred(walk.right))
            case Starred():
                again = fresh("star")
                todo.append((again, VStep(Direction.SELF)))
                if isinstance(walk.path, VStep):
                    todo.append((again, replace(walk.path, then=(*walk.path.then, again))))
                else:
                    inner = fresh("round")
                    todo.append((inner, walk.path))
                    todo.append((again, VStep(Direction.SELF, then=(inner, again))))
                return VStep(Direction.SELF, then=(again,))
            case VStep():
                return walk

    while todo:
        head, walk = todo.pop(0)
        done.append((head, unstarred(walk)))
    return CXSeq(query.start, tuple(done))


def merge_productions(query: CXSeq) -> CXSeq:
    """Intersections of single steps as one step: two different axes never lead to one node."""
    done: list[tuple[Variable, Walk]] = []
    for head, walk in query.productions:
        single = _one_step(walk)
        if single is not None:
            done.append((head, single))
        elif not isinstance(walk, Both) or not _apart(walk):
            done.append((head, walk))
    return CXSeq(query.start, tuple(done))


def _one_step(walk: Walk) -> VStep | None:
    if isinstance(walk, VStep):
        return walk
    if not isinstance(walk, Both):
        return None
    left, right = _one_step(walk.left), _one_step(walk.right)
    if left is None or right is None or left.then or right.then or left.direction is not right.direction:
        return None
    if left.predicate is not None and right.predicate is not None:
        return None
    return replace(left, test=left.test & right.test, predicate=left.predicate or right.predicate)


def _apart(walk: Both) -> bool:
    """Single steps along different axes: no node is reached by both."""
    left, right = _one_step(walk.left), _one_step(walk.right)
    return (
        left is not None
        and right is not None
        and not left.then
        and not right.then
        and left.direction is not right.direction
    )


def halve_steps(query: CXSeq) -> CXSeq:
    """Lemma B.2: at most two variables after a step; `v2…vn` becomes a variable of its own."""
    names: dict[tuple[Variable, ...], Variable] = {}
    fresh = _Fresh(query)
    todo, done = list(query.productions), []

    def shorter(walk: Walk) -> Walk:
        match walk:
            case Both():
                return Both(shorter(walk.left), shorter(walk.right))
            case Starred():
                raise AssertionError("stars are taken away first")
            case VStep():
                if len(walk.then) <= 2:
                    return walk
                rest = walk.then[1:]
                if rest not in names:
                    names[rest] = fresh("".join(rest))
                    todo.append((names[rest], VStep(Direction.SELF, then=rest)))
                return replace(walk, then=(walk.then[0], names[rest]))

    while todo:
        head, walk = todo.pop(0)
        done.append((head, shorter(walk)))
    return CXSeq(query.start, tuple(done))


def chain_steps(query: CXSeq) -> CXSeq:
    """Lemma B.3: CXSeqB, at most one variable after a step.

    `v1 v2` becomes a copy v1·v2 of what v1 reaches, in which v2 follows where v1 would end. Safety keeps the copies
    finite: v1 never comes back to itself with more behind it.
    """
    done: list[tuple[Variable, Walk]] = []
    start: tuple[Variable, ...] = (query.start,)
    seen: dict[tuple[Variable, ...], None] = {start: None}
    todo = [start]

    def named(variables: tuple[Variable, ...]) -> tuple[Variable, ...]:
        if not variables:
            return ()
        if variables not in seen:
            seen[variables] = None
            todo.append(variables)
        return ("·".join(variables),)

    def followed(walk: Walk, by: tuple[Variable, ...]) -> Walk:
        match walk:
            case Both():
                if by:
                    raise QueryError(
                        "an intersection of longer paths, with more after it, is beyond the general construction",
                        fix="detect with the query: the engine takes it",
                    )
                return Both(followed(walk.left, by), followed(walk.right, by))
            case Starred():
                raise AssertionError("stars are taken away first")
            case VStep():
                if walk.predicate is not None:
                    named((walk.predicate,))
                return replace(walk, then=named((*walk.then, *by)))

    while todo:
        chain = todo.pop(0)
        head, rest = chain[0], chain[1:]
        for walk in query.of(head):
            done.append(("·".join(chain), followed(walk, rest)))
    return CXSeq(query.start, tuple(done))


PASSES = (remove_stars, merge_productions, halve_steps, chain_steps)


def to_basic(query: CXSeq) -> CXSeq:
    """CXSeqB by all the passes in order (Theorem B.4)."""
    if not is_safe(query):
        raise QueryError("the query is not safe (Definition 6.1): a variable comes back to itself and then goes on")
    for each in PASSES:
        query = each(query)
    return query


class _Fresh:
    """Names that no production uses yet."""

    def __init__(self, query: CXSeq) -> None:
        self._taken = set(query.variables)

    def __call__(self, base: str) -> Variable:
        name, number = base, 1
        while name in self._taken:
            number += 1
            name = f"{base}{number}"
        self._taken.add(name)
        return name
