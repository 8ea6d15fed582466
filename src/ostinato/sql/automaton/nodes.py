"""A pattern as instructions, in the manner of Thompson and Pike: choices are ordered, and each symbol is one row.

Built from the end: every part is given what follows it. Counted repetitions are unrolled, so that a state says how many
rounds there were; the orders of PERMUTE share what follows the same set of parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import permutations
from typing import Literal

from ostinato.errors import QueryError
from ostinato.sql.syntax import nodes as n
from ostinato.sql.syntax.format import pattern_text

MAX_SYMBOLS = 20_000  # of an unrolled pattern
MAX_NODES = 8 * MAX_SYMBOLS
MAX_SHARED = 14  # parts of a PERMUTE


@dataclass(eq=False)
class Node:
    """An instruction; the kinds use what they need of the rest.

    `symbol` reads a row of `variable` and goes on with `then`; `choice` prefers its earlier targets; `begin` and `end`
    stand around a round of a repetition; `end` goes on with `then` after a round with rows in it, and with `out` after
    one without (Perl's rule); `^` and `$` hold where the partition begins and ends.
    """

    kind: Literal["symbol", "choice", "begin", "end", "^", "$", "accept"]
    then: Node | None = None
    targets: list[Node] = field(default_factory=list)
    round: int = -1
    out: Node | None = None
    variable: str = ""
    excluded: bool = False
    number: int = -1  # of a symbol


@dataclass
class Instructions:
    start: Node
    symbols: list[Node]


def build(pattern: n.Pattern) -> Instructions:
    """The instructions of a pattern. Raises QueryError where it is too large when unrolled."""
    builder = _Builder()
    start = builder.build(pattern, Node("accept"), False)
    return Instructions(start, builder.symbols)


def check_size(pattern: n.Pattern) -> None:
    """Raise QueryError where a pattern is too large when unrolled, at the innermost part that is so by itself."""
    found = _fault(pattern)
    if found is None:
        return
    for part in n.walk(pattern):
        if isinstance(part, n.Repeat | n.Permute):
            found = _fault(part) or found
    raise found


def _fault(pattern: n.Pattern) -> QueryError | None:
    try:
        build(pattern)
    except QueryError as error:
        return error
    return None


class _Builder:
    def __init__(self) -> None:
        self.symbols: list[Node] = []
        self.rounds = 0
        self.made = 0
        self.largest: n.Pattern | None = None  # the outermost part to blame when there are too many symbols

    def build(self, pattern: n.Pattern, then: Node, excluded: bool) -> Node:
        if isinstance(pattern, n.Symbol):
            return self._symbol(pattern, then, excluded)
        if isinstance(pattern, n.Sequence):
            for part in reversed(pattern.parts):
                then = self.build(part, then, excluded)
            return then
        if isinstance(pattern, n.Alternation):
            return self._node("choice", targets=[self.build(part, then, excluded) for part in pattern.parts])
        if isinstance(pattern, n.Permute):
            return self._permute(pattern, then, excluded)
        if isinstance(pattern, n.Repeat):
            return self._repeat(pattern, then, excluded)
        if isinstance(pattern, n.Exclude):
            return self.build(pattern.body, then, True)
        return self._node(pattern.at, then=then)

    def _node(self, *fields: object, **named: object) -> Node:
        self.made += 1
        if self.made > MAX_NODES:
            raise self._too_large()
        return Node(*fields, **named)  # type: ignore[arg-type]

    def _symbol(self, pattern: n.Symbol, then: Node, excluded: bool) -> Node:
        if len(self.symbols) == MAX_SYMBOLS:
            raise self._too_large()
        symbol = self._node("symbol", then=then, variable=pattern.name, excluded=excluded, number=len(self.symbols))
        self.symbols.append(symbol)
        return symbol

    def _permute(self, pattern: n.Permute, then: Node, excluded: bool) -> Node:
        """All orders of all parts before any other way to match a part: only parts that match in one way can share
        what follows the same set of them."""
        outer, self.largest = self.largest, self.largest or pattern
        count = len(pattern.parts)
        if all(map(_has_one_way, pattern.parts)):
            if count > MAX_SHARED:
                raise self._too_large()
            entry = self._in_any_order(pattern.parts, then, excluded)
        else:
            after: dict[tuple[int, ...], Node] = {(): then}
            targets = []
            for order in permutations(range(count)):
                for first in range(count - 1, -1, -1):
                    rest = order[first:]
                    if rest not in after:
                        after[rest] = self.build(pattern.parts[rest[0]], after[rest[1:]], excluded)
                targets.append(after[order])
            entry = self._node("choice", targets=targets)
        self.largest = outer
        return entry

    def _in_any_order(self, parts: tuple[n.Pattern, ...], then: Node, excluded: bool) -> Node:
        """What follows a set of parts does not depend on their order."""
        count = len(parts)
        after = {(1 << count) - 1: then}
        for done in range((1 << count) - 2, -1, -1):
            left = [place for place in range(count) if not done >> place & 1]
            targets = [self.build(parts[place], after[done | 1 << place], excluded) for place in left]
            after[done] = targets[0] if len(targets) == 1 else self._node("choice", targets=targets)
        return after[0]

    def _repeat(self, pattern: n.Repeat, then: Node, excluded: bool) -> Node:
        outer, self.largest = self.largest, self.largest or pattern
        entry = then if pattern.most == 0 else self._rounds(pattern, then, excluded)
        self.largest = outer
        return entry

    def _rounds(self, pattern: n.Repeat, then: Node, excluded: bool) -> Node:
        least, most = pattern.least, pattern.most
        if most is None:
            # The last round that must be is the first of the loop.
            head = self._node("choice")
            body = self._round(pattern, head, then, excluded)
            head.targets = [body, then] if pattern.greedy else [then, body]
            entry, plain = (head, 0) if least == 0 else (body, least - 1)
        else:
            entry = then
            for _ in range(most - least):
                body = self._round(pattern, entry, then, excluded)
                entry = self._node("choice", targets=[body, then] if pattern.greedy else [then, body])
            plain = least
            if least > 0 and most > least:
                entry, plain = self._round(pattern, entry, then, excluded), least - 1
        for _ in range(plain):
            entry = self.build(pattern.body, entry, excluded)
        return entry

    def _round(self, pattern: n.Repeat, then: Node, out: Node, excluded: bool) -> Node:
        """A round after which there may be another."""
        if not nullable(pattern.body):
            return self.build(pattern.body, then, excluded)
        number, self.rounds = self.rounds, self.rounds + 1
        end = self._node("end", then=then, out=out, round=number)
        return self._node("begin", then=self.build(pattern.body, end, excluded), round=number)

    def _too_large(self) -> QueryError:
        blamed = self.largest
        fix = "permute fewer parts" if isinstance(blamed, n.Permute) else "write a shorter pattern"
        if isinstance(blamed, n.Repeat):
            fix = f"repeat less often, or without bounds: {pattern_text(n.Repeat(blamed.body, 1, None))}"
        reason = f"the pattern is too large: written out it has more than {MAX_SYMBOLS:,} variables"
        return QueryError(reason, span=None if blamed is None else blamed.span, fix=fix)


def _has_one_way(pattern: n.Pattern) -> bool:
    """Whether rows can be mapped by the pattern in one way only."""
    if isinstance(pattern, n.Repeat):
        return pattern.least == pattern.most and _has_one_way(pattern.body)
    return isinstance(pattern, n.Symbol | n.Sequence | n.Exclude) and all(map(_has_one_way, n.children(pattern)))


def nullable(pattern: n.Pattern) -> bool:
    """Whether the pattern can match without rows."""
    if isinstance(pattern, n.Symbol):
        return False
    if isinstance(pattern, n.Alternation):
        return any(map(nullable, pattern.parts))
    if isinstance(pattern, n.Sequence | n.Permute):
        return all(map(nullable, pattern.parts))
    if isinstance(pattern, n.Repeat):
        return pattern.least == 0 or nullable(pattern.body)
    return nullable(pattern.body) if isinstance(pattern, n.Exclude) else True


def successors(start: Node, at_first: bool) -> Iterator[tuple[Node, bool]]:
    """The symbols and ends that can follow without a row between, preferred ones first, each once; whether the
    partition must end there. Nothing follows an end that is reached in any case."""
    seen: set[tuple[int, frozenset[int], bool]] = set()
    given: set[tuple[int, bool]] = set()
    stack: list[tuple[Node, frozenset[int], bool]] = [(start, frozenset(), False)]
    while stack:
        node, begun, at_end = stack.pop()
        key = (id(node), begun, at_end)
        if key in seen:
            continue
        seen.add(key)
        if node.kind == "accept" or (node.kind == "symbol" and not at_end):
            if (id(node), at_end) not in given:
                given.add((id(node), at_end))
                yield node, at_end
                if node.kind == "accept" and not at_end:
                    return
        elif node.kind == "choice":
            stack.extend((target, begun, at_end) for target in reversed(node.targets))
        elif node.kind == "begin":
            assert node.then is not None
            stack.append((node.then, begun | {node.round}, at_end))
        elif node.kind == "end":
            following = node.out if node.round in begun else node.then
            assert following is not None
            stack.append((following, begun - {node.round}, at_end))
        elif node.kind == "$" or (node.kind == "^" and at_first):
            assert node.then is not None
            stack.append((node.then, begun, at_end or node.kind == "$"))
