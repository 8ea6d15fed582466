"""XSeq queries as frozen nodes (XSeq paper, Figure 2).

A path walks over the nodes of a document; a match is what its variables are bound to on the way. The text of a query is
read by xseq/syntax/parse.py, checked by xseq/plan/check.py and written back by xseq/syntax/format.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum

from ostinato.core.expressions import NOWHERE
from ostinato.errors import Span


class Axis(StrEnum):
    """Where a step goes from the node it stands on. Siblings and first children are elements, never text."""

    SELF = "self"
    CHILD = "child"
    PARENT = "parent"
    DESCENDANT = "descendant"
    ANCESTOR = "ancestor"
    ATTRIBUTE = "attribute"
    FOLLOWING_SIBLING = "following_sibling"
    PRECEDING_SIBLING = "preceding_sibling"
    FIRST_CHILD = "first_child"
    IMMEDIATE_FOLLOWING_SIBLING = "immediate_following_sibling"

    @property
    def backward(self) -> bool:
        return self in (Axis.PARENT, Axis.ANCESTOR, Axis.PRECEDING_SIBLING)

    @property
    def sibling(self) -> bool:
        return self in (Axis.FOLLOWING_SIBLING, Axis.PRECEDING_SIBLING, Axis.IMMEDIATE_FOLLOWING_SIBLING)


class Kind(StrEnum):
    """What a step asks of a node."""

    NAME = "name"  # an element (or, on the attribute axis, an attribute) of that name
    ANY = "any"  # `*` or a variable: any element, or any attribute on the attribute axis
    NODE = "node"  # `node()`: any element or text; an attribute on the attribute axis
    TEXT = "text"  # `text()`: a text node


@dataclass(frozen=True)
class NodeTest:
    kind: Kind
    name: str = ""  # of a NAME


# --- paths


@dataclass(frozen=True)
class Step:
    """`axis::test[predicate]…`; a step variable `$X` is a step with test ANY that binds X."""

    axis: Axis
    test: NodeTest
    variable: str | None = None
    predicates: tuple[Predicate, ...] = ()
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Concat:
    """`p1 p2 …`, each from the node where the one before it ended. Two parts or more."""

    parts: tuple[Path, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Star:
    """`(p)*`: any number of rounds, none included."""

    body: Path
    entry: Axis | None = None  # `// ($X $Y)*`: how the first round goes to $X; see `first_round`
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Union:
    """`p1 union p2 …`"""

    parts: tuple[Path, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Intersect:
    """`p1 intersect p2 …`: walks that start at one node and end at one node; the variables of all are bound."""

    parts: tuple[Path, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Define:
    """`($Z: p)`: the path p, under the name Z. At its own end Z may stand again: any number of further rounds."""

    variable: str
    body: Path
    entry: Axis | None = None  # `// ($Z: $X $Y $Z)`: how the first round goes to $X; see `first_round`
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Call:
    """`$Z` where Z is a path variable: its definition once more. Inside its own definition: perhaps a further round."""

    variable: str
    span: Span = field(default=NOWHERE, compare=False)


Path = Step | Concat | Star | Union | Intersect | Define | Call


@dataclass(frozen=True)
class Exists:
    """`[p]`: some walk along p starts at this node. Its variables are bound as well."""

    path: Path
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Holds:
    """`[condition]` on this node."""

    condition: Condition
    span: Span = field(default=NOWHERE, compare=False)


Predicate = Exists | Holds

# --- what is computed of a match


class Alias(StrEnum):
    """Which of the nodes that a variable is bound to."""

    PLAIN = "plain"  # each, one after the other
    PREV = "prev"  # the one before the current one
    FIRST = "first"
    LAST = "last"


class Leaf(StrEnum):
    """What is taken of a node."""

    ATTRIBUTE = "attribute"  # `@name`
    TEXT = "text"  # `/text()`: its first text node
    TAG = "tag"  # `tag($X)`: its name
    NODE = "node"  # the node itself: an attribute's or text's value; an element as it is written (compared: its text)


@dataclass(frozen=True)
class Constant:
    value: str | float | int
    span: Span = field(default=NOWHERE, compare=False)

    @property
    def text(self) -> str:
        """As it compares with texts: a whole number has no point."""
        whole = isinstance(self.value, float) and self.value.is_integer()
        return str(int(self.value) if whole else self.value)


@dataclass(frozen=True)
class Reference:
    """`$X@a`, `last($X)/b/text()`, `tag($X)`, `first($Z) $X@a`; of several nodes that `steps` reach, the first."""

    variable: str
    alias: Alias = Alias.PLAIN
    within: str | None = None  # `first($Z) $X`: the X of the first round of the path variable Z; alias speaks of Z then
    steps: tuple[tuple[Axis, str], ...] = ()  # plain steps to elements of that name
    leaf: Leaf = Leaf.NODE
    name: str = ""  # of an ATTRIBUTE
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Relative:
    """A path from the node a predicate stands on; a comparison holds when some node it reaches makes it hold."""

    path: Path
    leaf: Leaf = Leaf.NODE  # TAG for `tag(.)`; attributes and text() are steps of the path
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Arithmetic:
    """`+ - * div mod` (also `/` and `%` where no path can stand)."""

    operator: str  # one of + - * / %
    left: Operand
    right: Operand
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Negative:
    operand: Operand
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Aggregate:
    """`max min count sum avg`; the operand of `count` may be a variable itself."""

    function: str
    operand: Operand
    span: Span = field(default=NOWHERE, compare=False)


Operand = Constant | Reference | Relative | Arithmetic | Negative | Aggregate


@dataclass(frozen=True)
class Comparison:
    operator: str  # one of = != < <= > >=
    left: Operand
    right: Operand
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class And:
    parts: tuple[Condition, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Or:
    parts: tuple[Condition, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Not:
    part: Condition
    span: Span = field(default=NOWHERE, compare=False)


Condition = Comparison | And | Or | Not


@dataclass(frozen=True)
class Item:
    """One column of the answer."""

    operand: Operand
    name: str  # as given by `as`, else the text of the operand
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Partition:
    """`partition by path@attribute`"""

    path: Path
    attribute: str
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Query:
    """A query as it was written. Without `return`, items is None and the answer is the node each walk ends on, once."""

    path: Path
    items: tuple[Item, ...] | None = None
    where: Condition | None = None
    partition: Partition | None = None


def parts(path: Path) -> tuple[Path, ...]:
    """The paths that `path` is directly made of, without those in predicates."""
    match path:
        case Concat() | Union() | Intersect():
            return path.parts
        case Star() | Define():
            return (path.body,)
        case _:
            return ()


def subpaths(path: Path) -> Iterator[Path]:
    """The path and every path in it, those of `[p]` included, in the order they are written."""
    yield path
    if isinstance(path, Step):
        for predicate in path.predicates:
            if isinstance(predicate, Exists):
                yield from subpaths(predicate.path)
    for part in parts(path):
        yield from subpaths(part)


def first_round(path: Define | Star) -> Path:
    """The body as it is walked where the path stands; further rounds, and calls elsewhere, walk `body`."""
    return path.body if path.entry is None else with_first_axis(path.body, path.entry)


def with_first_axis(path: Path, axis: Axis) -> Path:
    """The path with that axis for the steps it may start with, where they would go to a following sibling."""
    match path:
        case Step(axis=Axis.FOLLOWING_SIBLING):
            return replace(path, axis=axis)
        case Concat():
            return replace(path, parts=(with_first_axis(path.parts[0], axis), *path.parts[1:]))
        case Union() | Intersect():
            return replace(path, parts=tuple(with_first_axis(part, axis) for part in path.parts))
        case Star(entry=None) | Define(entry=None):
            return replace(path, entry=axis)
        case _:
            return path


def steps(path: Path) -> Iterator[Step]:
    """Every step of a path, without those in predicates, in the order they are written."""
    if isinstance(path, Step):
        yield path
    for part in parts(path):
        yield from steps(part)


def conjuncts(condition: Condition | None) -> tuple[Condition, ...]:
    """What must all hold."""
    if condition is None:
        return ()
    if isinstance(condition, And):
        return tuple(inner for part in condition.parts for inner in conjuncts(part))
    return (condition,)


def operands(condition: Condition) -> Iterator[Operand]:
    """Every operand of a condition, nested ones included."""
    match condition:
        case Comparison():
            yield from nested_operands(condition.left)
            yield from nested_operands(condition.right)
        case And() | Or():
            for part in condition.parts:
                yield from operands(part)
        case Not():
            yield from operands(condition.part)


def nested_operands(operand: Operand) -> Iterator[Operand]:
    """The operand and every operand in it."""
    yield operand
    match operand:
        case Arithmetic():
            yield from nested_operands(operand.left)
            yield from nested_operands(operand.right)
        case Negative() | Aggregate():
            yield from nested_operands(operand.operand)
