"""Whether a query has a match, decided in one pass: Theorem B.5 of the XSeq paper, mended and explored lazily.

The proof of the paper guesses at each node which variables hold at the node and its neighbours, and checks that each is
supported by a production. Two things are wrong with that. Variables may support each other in a circle (X := ↓::a Y,
Y := ↑::b X), so more is accepted than the least fixpoint of section 6.1 holds. And f(π₁ ∩ π₂) only asks that both sides
lead somewhere, not to one node. (Also f(↑::s) is printed with next sibling's entries, an open tag's new state has its
first child and current node exchanged, and the bit of a state is not checked by F.)

Instead of guesses, a state here says what follows from what: for the children of a node read so far, which variables of
the first and of the last child hold if which variables of the parent and of the next sibling do. Such implications
compose without circles. The automaton is deterministic; its states are made when the word first needs them, and are
never more than the implications that can be told apart. The stack holds one state per open element.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ostinato.documents.nested_words import Letter, Mark
from ostinato.errors import LimitError, QueryError
from ostinato.xseq.paper.path_productions import productions
from ostinato.xseq.paper.productions import Both, CXSeq, Direction, Label, LabelTest, Sort, VStep, to_basic
from ostinato.xseq.syntax import nodes as n

_T = TypeVar("_T")
STATES = 100_000
WAYS = 5_000  # ways in which one variable may come to hold

# One way is a set of assumptions, as bits; the ways of a variable are the least such sets.
Ways = frozenset[int]
_NEVER: Ways = frozenset()
_ALWAYS: Ways = frozenset({0})
Table = tuple[Ways, ...]  # the ways of each variable


def to_basic_or_none(path: n.Path) -> CXSeq | None:
    """CXSeqB without intersections; None where one is left, which only the forward construction takes, and where a
    predicate asks for more than CXSeq can."""
    try:
        walks = productions(path)
    except QueryError:
        return None
    if any(isinstance(walk, Both) for _, walk in walks.productions):
        return None
    # A walk that never left the document node, or came back to it, is no match.
    whole = ("match", VStep(Direction.SELF, then=(walks.start, "ends")))
    below = ("ends", VStep(Direction.SELF, LabelTest(frozenset({Sort.BELOW}))))
    return to_basic(CXSeq("match", (whole, below, *walks.productions)))


@dataclass(frozen=True)
class _Clause:
    """`head` holds at a node if `needed` all hold at its neighbour in that direction."""

    head: int
    direction: Direction
    needed: tuple[int, ...]


@dataclass(frozen=True)
class _Prefix:
    """The children of an open element read so far: when the first's and the last's variables hold."""

    first: Table
    last: Table


class Recogniser:
    """The automaton of a CXSeqB query. Variables are numbers; the tests of the query are variables too."""

    def __init__(self, query: CXSeq, *, limit: int = STATES) -> None:
        index: dict[str | LabelTest, int] = {}

        def number(item: str | LabelTest) -> int:
            return index.setdefault(item, len(index))

        self._start = number(query.start)
        self._clauses: list[_Clause] = []
        for head, walk in query.productions:
            assert isinstance(walk, VStep) and len(walk.then) <= 1, "a query of CXSeqB without intersections"
            needed = [number(walk.test), *map(number, walk.then)]
            if walk.predicate is not None:
                needed.append(number(walk.predicate))
            self._clauses.append(_Clause(number(head), walk.direction, tuple(needed)))
        self._tests = [(item, at) for item, at in index.items() if isinstance(item, LabelTest)]
        self._count = len(index)
        self._nothing: Table = (_NEVER,) * self._count
        self._mask = (1 << self._count) - 1
        self._needed = {
            direction: {need for clause in self._clauses if clause.direction is direction for need in clause.needed}
            for direction in Direction
        }
        self._limit = limit
        self._prefixes: dict[_Prefix, int] = {}
        self._prefix_of: list[_Prefix] = []
        self._tables: dict[Table, int] = {}
        self._table_of: list[Table] = []
        self._closed: dict[tuple[int, int], int] = {}
        self._added: dict[tuple[int, int], int] = {}
        self._labels: dict[Label, int] = {}

    @property
    def states(self) -> int:
        """How many states the words read so far needed."""
        return len(self._prefix_of)

    def run(self, word: Iterable[Letter]) -> bool:
        stack: list[tuple[int, int]] = []
        current = -1  # no child yet
        for letter in word:
            if letter.mark is Mark.OPEN:
                kind = Label("element", letter.name, tuple(letter.attributes.items()))
                stack.append((current, self._passing(kind)))
                current = -1
            elif letter.mark is Mark.CLOSE:
                below, passing = stack.pop()
                current = self._add(below, self._close(passing, current))
            else:
                leaf = Label("attribute" if letter.mark is Mark.ATTRIBUTE else "text", letter.name)
                current = self._add(current, self._close(self._passing(leaf), -1))
        return 0 in self._solve(self._passing(Label("document")), current, alone=True)[self._start]

    def _passing(self, label: Label) -> int:
        """Which tests of the query the node passes, as bits."""
        known = self._labels.get(label)
        if known is None:
            known = sum(1 << at for test, at in self._tests if test.passes(label))
            if len(self._labels) < self._limit:
                self._labels[label] = known
        return known

    # --- a node when it closes

    def _close(self, passing: int, prefix: int) -> int:
        """When the variables of a node hold, told in those of its parent, next and previous sibling."""
        known = self._closed.get((passing, prefix))
        if known is None:
            table = self._solve(passing, prefix, alone=False)
            wanted = self._needed[Direction.FIRST] | self._needed[Direction.NEXT] | self._needed[Direction.PREVIOUS]
            kept = tuple(ways if at in wanted else _NEVER for at, ways in enumerate(table))
            known = self._closed[passing, prefix] = self._number(self._tables, self._table_of, kept)
        return known

    def _solve(self, passing: int, prefix: int, *, alone: bool) -> Table:
        count, mask = self._count, self._mask
        # The last child has no next sibling, so what would need one does not hold.
        first = [_without(ways, mask << count) for ways in self._prefix_of[prefix].first] if prefix >= 0 else None
        own = [_ALWAYS if passing >> at & 1 else _NEVER for at in range(count)]
        outside = {Direction.PARENT: 0, Direction.NEXT: count, Direction.PREVIOUS: 2 * count}
        changed = True
        while changed:
            changed = False
            below: dict[int, Ways] = {}
            for clause in self._clauses:
                if clause.direction is Direction.SELF:
                    ways = _all([own[need] for need in clause.needed])
                elif clause.direction is Direction.FIRST:
                    if first is None:
                        continue
                    for need in clause.needed:
                        if need not in below:
                            below[need] = _replace(first[need], 0, own)
                    ways = _all([below[need] for need in clause.needed])
                elif alone:
                    continue
                else:
                    shift = outside[clause.direction]
                    ways = frozenset({sum(1 << need + shift for need in set(clause.needed))})
                larger = _either(own[clause.head], ways)
                if larger != own[clause.head]:
                    own[clause.head] = larger
                    changed = True
        return tuple(own)

    # --- a node beside those before it

    def _add(self, prefix: int, table: int) -> int:
        known = self._added.get((prefix, table))
        if known is None:
            joined = self._join(None if prefix < 0 else self._prefix_of[prefix], self._table_of[table])
            known = self._added[prefix, table] = self._number(self._prefixes, self._prefix_of, joined)
        return known

    def _join(self, prefix: _Prefix | None, node: Table) -> _Prefix:
        count, mask = self._count, self._mask
        if prefix is None:
            alone = tuple(_without(ways, mask << 2 * count) for ways in node)
            return _Prefix(self._only(Direction.FIRST, alone), self._only(Direction.PREVIOUS, alone))
        own: list[Ways] = [_NEVER] * count
        while True:
            before = [_replace(ways, count, own) for ways in prefix.last]
            larger = [_replace(ways, 2 * count, before) for ways in node]
            if larger == own:
                break
            own = larger
        first = tuple(_replace(ways, count, own) for ways in prefix.first)
        return _Prefix(first, self._only(Direction.PREVIOUS, tuple(own)))

    def _only(self, direction: Direction, table: Table) -> Table:
        needed = self._needed[direction]
        return tuple(ways if at in needed else _NEVER for at, ways in enumerate(table))

    def _number(self, known: dict[_T, int], order: list[_T], item: _T) -> int:
        if item not in known:
            if len(order) >= self._limit:
                raise LimitError(
                    "states",
                    self._limit,
                    reason="the automaton of the query needs too many states for this document",
                    fix="use a query with fewer backward axes and predicates, or raise the limit",
                )
            known[item] = len(order)
            order.append(item)
        return known[item]


# --- ways: sets of assumptions, kept least


def _least(ways: Iterable[int]) -> Ways:
    kept: list[int] = []
    for way in sorted(set(ways), key=int.bit_count):
        if not any(other & way == other for other in kept):
            kept.append(way)
    if len(kept) > WAYS:
        raise LimitError(
            "ways",
            WAYS,
            reason="one variable of the query may come to hold in too many ways",
            fix="use a query with fewer predicates on backward axes",
        )
    return frozenset(kept)


def _either(left: Ways, right: Ways) -> Ways:
    return left if right <= left else _least(left | right)


def _all(parts: Sequence[Ways]) -> Ways:
    """Every one of the parts holds."""
    whole = _ALWAYS
    for part in parts:
        if part == _ALWAYS:
            continue
        whole = part if whole == _ALWAYS else _least(one | two for one in whole for two in part)
        if not whole:
            break
    return whole


def _without(ways: Ways, assumptions: int) -> Ways:
    """The ways that need none of the assumptions."""
    return frozenset(way for way in ways if not way & assumptions)


def _replace(ways: Ways, shift: int, by: Sequence[Ways]) -> Ways:
    """The ways with each assumption in the field at `shift` replaced by the ways in which it holds itself.

    What `by` gives is told in the fields of the new place, so it is put in after the old field is taken out.
    """
    count = len(by)
    field = ((1 << count) - 1) << shift
    found: list[int] = []
    for way in ways:
        inner = (way & field) >> shift
        partial: Ways = frozenset({way & ~field})
        while inner and partial:
            low = inner & -inner
            partial = _all([partial, by[low.bit_length() - 1]]) if by[low.bit_length() - 1] else _NEVER
            inner ^= low
        found += partial
    return _least(found)
