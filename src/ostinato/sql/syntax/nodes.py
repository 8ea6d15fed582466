"""The syntax tree of MATCH_RECOGNIZE (ISO/IEC 19075-5), frozen, with the place of each node in the text.

Names of pattern variables are resolved: a node holds the name as PATTERN or SUBSET writes it, in capitals where it is
not quoted, so that equal names are equal texts. What else an expression says is SQL of the engine that runs the query,
and stays text: an expression is that text with terms in it, the terms being what only a match can give a value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from ostinato.core.expressions import NOWHERE
from ostinato.errors import Span

ALL = ""  # the universal row pattern variable: every row of the match

Mode = Literal["RUNNING", "FINAL"]
End = Literal["FIRST", "LAST"]


# Expressions ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Navigation:
    """`PREV(FIRST(A.price, 1), 2)`: the value of an expression at one row; NULL where there is no such row.

    The row is found in two steps. Among the rows mapped to `variable`, the first or last one, `skip` rows further
    inwards (logical); from there `step` rows on in the partition, back where negative (physical). RUNNING knows rows up
    to the current one, FINAL those of the whole match. `A.price` is LAST(A.price); `PREV(price)` steps from the last
    row so far.
    """

    variable: str
    value: Sql  # over the columns of that row
    end: End = "LAST"
    skip: int = 0
    step: int = 0
    mode: Mode = "RUNNING"
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Aggregate:
    """`sum(A.price)`: an aggregate function of the engine over the rows mapped to `variable`, in their order."""

    variable: str
    function: str  # in small letters
    call: Sql  # the whole call over the columns of those rows, with DISTINCT, ORDER BY and FILTER
    arguments: tuple[Sql, ...] = ()  # of `call`; none for count(*)
    plain: bool = True  # without DISTINCT, ORDER BY and FILTER
    mode: Mode = "RUNNING"
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Classifier:
    """The pattern variable that the row at hand is mapped to; stands inside Navigation and Aggregate alone.

    `CLASSIFIER(A)` is the navigation to the last row of A that reads it.
    """

    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class MatchNumber:
    """`MATCH_NUMBER()`: 1 for the first match of a partition."""

    span: Span = field(default=NOWHERE, compare=False)


Term = Navigation | Aggregate | Classifier | MatchNumber


@dataclass(frozen=True)
class Sql:
    """An expression of the engine: its text, with terms in it. Columns in the text are those of the row at hand: of the
    current row in DEFINE, of the last row so far in MEASURES, of the row that is read in a navigation or aggregate."""

    parts: tuple[str | Term, ...]
    span: Span = field(default=NOWHERE, compare=False)

    def render(self, write: Callable[[Term], str]) -> str:
        return "".join(part if isinstance(part, str) else write(part) for part in self.parts)

    @property
    def terms(self) -> tuple[Term, ...]:
        """The terms, each once, outermost only."""
        return tuple(dict.fromkeys(part for part in self.parts if not isinstance(part, str)))


# Patterns -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Symbol:
    """One row, mapped to a pattern variable."""

    name: str
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Sequence:
    """`A B C`; of no parts, `()`: the empty pattern."""

    parts: tuple[Pattern, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Alternation:
    """`A | B | C`: the earlier alternative is preferred."""

    parts: tuple[Pattern, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Permute:
    """`PERMUTE(A, B, C)`: all orders, preferred as written: ABC, ACB, BAC, BCA, CAB, CBA."""

    parts: tuple[Pattern, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Repeat:
    """`A{2,5}`, as many rounds as possible preferred; reluctant, `A{2,5}?`: as few."""

    body: Pattern
    least: int
    most: int | None
    greedy: bool = True
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Exclude:
    """`{- A -}`: matched, but its rows are not output with ALL ROWS PER MATCH."""

    body: Pattern
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Anchor:
    """`^`: before the first row of the partition; `$`: after the last."""

    at: Literal["^", "$"]
    span: Span = field(default=NOWHERE, compare=False)


Pattern = Symbol | Sequence | Alternation | Permute | Repeat | Exclude | Anchor


def walk(pattern: Pattern) -> Iterator[Pattern]:
    """The pattern and all below it, outermost first."""
    yield pattern
    for part in children(pattern):
        yield from walk(part)


def children(pattern: Pattern) -> tuple[Pattern, ...]:
    if isinstance(pattern, Sequence | Alternation | Permute):
        return pattern.parts
    return (pattern.body,) if isinstance(pattern, Repeat | Exclude) else ()


def symbols(pattern: Pattern) -> tuple[str, ...]:
    """The pattern variables, each once, as they first appear."""
    return tuple(dict.fromkeys(node.name for node in walk(pattern) if isinstance(node, Symbol)))


# The clause -----------------------------------------------------------------------------------------------------------

Rows = Literal["ONE ROW", "ALL ROWS SHOW EMPTY", "ALL ROWS OMIT EMPTY", "ALL ROWS WITH UNMATCHED"]


@dataclass(frozen=True)
class Key:
    """An item of PARTITION BY or ORDER BY. What it does not say about order is the engine's to choose."""

    value: Sql
    descending: bool = False
    nulls: Literal["FIRST", "LAST"] | None = None
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Measure:
    name: str
    value: Sql
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Skip:
    """Where the search goes on after a match: past its last row, after its first row, or at a row of a variable."""

    to: Literal["PAST LAST ROW", "NEXT ROW", "FIRST", "LAST"] = "PAST LAST ROW"
    variable: str | None = None
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Subset:
    """A union variable: the rows of several."""

    name: str
    members: tuple[str, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Definition:
    name: str
    condition: Sql
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class MatchRecognize:
    """One clause. A pattern variable without a definition takes any row."""

    pattern: Pattern
    partition_by: tuple[Key, ...] = ()
    order_by: tuple[Key, ...] = ()
    measures: tuple[Measure, ...] = ()
    rows: Rows = "ONE ROW"
    skip: Skip = Skip()
    within: Sql | None = None  # the time from the first row of a match that its rows may be from
    subsets: tuple[Subset, ...] = ()
    definitions: tuple[Definition, ...] = ()
    span: Span = field(default=NOWHERE, compare=False)  # from MATCH_RECOGNIZE to the closing bracket

    @property
    def variables(self) -> tuple[str, ...]:
        """Pattern variables, then unions."""
        return (*symbols(self.pattern), *(subset.name for subset in self.subsets))

    @cached_property
    def _every(self) -> frozenset[str]:
        return frozenset(symbols(self.pattern))

    def members(self, variable: str) -> frozenset[str]:
        """The pattern variables that a variable stands for: all, those of a union, or itself."""
        if variable == ALL:
            return self._every
        return next((frozenset(each.members) for each in self.subsets if each.name == variable), frozenset((variable,)))


@dataclass(frozen=True)
class Scope:
    """Common table expressions that a place in the query can name: `WITH` and their text."""

    definitions: Span
    recursive: bool = False


@dataclass(frozen=True)
class Clause:
    """A clause and where it stands in the query: what it reads, and what its rows replace."""

    match: MatchRecognize
    input: Span  # a table, subquery or join, with its alias
    place: Span  # the input and the clause
    scopes: tuple[Scope, ...] = ()  # outermost first


@dataclass(frozen=True)
class Query:
    """A query with its clauses, each after those that it reads from."""

    text: str
    clauses: tuple[Clause, ...]
