"""Visibly pushdown automata (XSeq paper, Definition A.1): what a document may look like, read tag by tag.

An open tag pushes, a close tag pops, attributes and texts leave the stack alone. Names on moves are symbolic: a name,
any name, or any name that the automaton does not speak of.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ostinato.documents.nested_words import Letter, Mark
from ostinato.errors import QueryError
from ostinato.xseq.plan.local_tests import holds
from ostinato.xseq.syntax.nodes import Predicate

BOTTOM = "⊥"  # under the last symbol of the stack
OTHER = "…"  # stands for every name that no move of the automaton names
State = str


@dataclass(frozen=True)
class Guard:
    """A test of one element that a move makes besides its name (section 4.1). Without predicates it is only told."""

    text: str
    predicates: tuple[Predicate, ...] = ()

    def holds(self, letter: Letter) -> bool:
        if not self.predicates:
            raise QueryError(
                f"the automaton cannot test [{self.text}] by itself",
                fix="detect with the query: the engine keeps the values that such a test needs",
            )
        return all(holds(predicate, letter.name, letter.attributes) for predicate in self.predicates)


def conjoin_guards(left: Guard | None, right: Guard | None) -> Guard | None:
    """What asks for both; if one of them is only told, so is the whole."""
    if left is None or right is None:
        return left or right
    every = left.predicates + right.predicates if left.predicates and right.predicates else ()
    return Guard(f"{left.text} and {right.text}", every)


@dataclass(frozen=True)
class VPAMove:
    """A transition. `stack` is what an open tag pushes, or what a close tag must find on top."""

    source: State
    mark: Mark
    name: str | None  # None: any
    target: State
    stack: str | None = None
    guard: Guard | None = None

    def __str__(self) -> str:
        return f"{self.source} —{self.label}→ {self.target}"

    @property
    def label(self) -> str:
        """What is read and what happens on the stack, such as `<son> +O` or `</son> -O`."""
        match self.mark:
            case Mark.OPEN:
                read = f"<{self.name or '*'}> +{self.stack}"
            case Mark.CLOSE:
                read = f"</{self.name or '*'}> -{self.stack}"
            case Mark.ATTRIBUTE:
                read = f"@{self.name or '*'}"
            case _:
                read = "text()"
        return read if self.guard is None else f"{read} [{self.guard.text}]"


@dataclass(frozen=True)
class VPA:
    """(Q, Q0, Γ, δ, F); Γ is what the moves push, and ⊥."""

    states: tuple[State, ...]
    initial: frozenset[State]
    moves: tuple[VPAMove, ...]
    final: frozenset[State]

    def __post_init__(self) -> None:
        known = set(self.states)
        for move in self.moves:
            assert {move.source, move.target} <= known, f"unknown state in {move}"
            assert (move.stack is None) == move.mark.internal, f"{move}: only tags touch the stack"
            assert move.mark is not Mark.OPEN or move.stack != BOTTOM, f"{move}: {BOTTOM} is never pushed"
        assert self.initial | self.final <= known, "unknown initial or final state"

    @property
    def symbols(self) -> frozenset[str]:
        return frozenset(move.stack for move in self.moves if move.stack is not None) | {BOTTOM}

    @property
    def names(self) -> Mapping[Mark, frozenset[str]]:
        """The names that moves speak of. A tag has one name, whether it opens or closes."""
        named = {mark: {move.name for move in self.moves if move.mark is mark} - {None, OTHER} for mark in Mark}
        tags = frozenset(name for mark in (Mark.OPEN, Mark.CLOSE) for name in named[mark] if name is not None)
        attributes = frozenset(name for name in named[Mark.ATTRIBUTE] if name is not None)
        return {Mark.OPEN: tags, Mark.CLOSE: tags, Mark.ATTRIBUTE: attributes, Mark.TEXT: frozenset()}

    def explain(self) -> str:
        """A table of the moves, one line each."""
        rows = [("from", "reads", "to")]
        rows += [(move.source, move.label, move.target) for move in self.moves]
        wide = [max(len(row[column]) for row in rows) for column in range(2)]
        starts, ends = (
            " ".join(state for state in self.states if state in some) for some in (self.initial, self.final)
        )
        table = [f"  {a:<{wide[0]}}  {b:<{wide[1]}}  {c}" for a, b, c in rows]
        return "\n".join([f"start {starts}; accepts in {ends or 'no state'}", *table]) + "\n"
