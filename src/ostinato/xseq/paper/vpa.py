"""Visibly pushdown automata (XSeq paper, Definition A.1): what a document may look like, read tag by tag.

An open tag pushes, a close tag pops, attributes and texts leave the stack alone. Names on moves are symbolic: a name,
any name, or any name that the automaton does not speak of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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
    def size(self) -> tuple[int, int, int]:
        """How many states, stack symbols and moves."""
        return len(self.states), len(self.symbols), len(self.moves)

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


class VPARun:
    """All runs of an automaton at once. Runs that are in one state at one depth share it, whatever brought them there.

    Each level of the stack maps a state to where it may return to: (state of the level below, symbol pushed). So a
    letter costs no more than the moves times the square of the states, and memory grows with the depth alone.
    """

    def __init__(self, automaton: VPA) -> None:
        self._moves: dict[tuple[State, Mark], list[VPAMove]] = {}
        for move in automaton.moves:
            self._moves.setdefault((move.source, move.mark), []).append(move)
        self._named = automaton.names
        self._final = automaton.final
        self._levels: list[dict[State, set[tuple[State, str]]]] = [{state: set() for state in automaton.initial}]

    @property
    def accepting(self) -> bool:
        return not self._final.isdisjoint(self._levels[-1])

    @property
    def dead(self) -> bool:
        return not self._levels[-1]

    def read(self, letter: Letter) -> None:
        """Take every move that the letter allows."""
        top = self._levels[-1]
        after: dict[State, set[tuple[State, str]]] = {}
        match letter.mark:
            case Mark.OPEN:
                for state in top:
                    for move in self._fitting(state, letter):
                        after.setdefault(move.target, set()).add((state, str(move.stack)))
                self._levels.append(after)
            case Mark.CLOSE if len(self._levels) > 1:
                below = self._levels[-2]
                for state, origins in top.items():
                    for move in self._fitting(state, letter):
                        for origin, symbol in origins:
                            if symbol == move.stack:
                                after.setdefault(move.target, set()).update(below[origin])
                self._levels[-2:] = [after]
            case _:
                for state, origins in top.items():
                    for move in self._fitting(state, letter):
                        if move.stack in (None, BOTTOM):
                            after.setdefault(move.target, set()).update(origins)
                self._levels[-1] = after

    def _fitting(self, state: State, letter: Letter) -> Iterator[VPAMove]:
        other = letter.name not in self._named[letter.mark]
        for move in self._moves.get((state, letter.mark), ()):
            named = move.name is None or move.name == letter.name or (other and move.name == OTHER)
            if named and (move.guard is None or move.guard.holds(letter)):
                yield move


def accepts(automaton: VPA, word: Iterable[Letter]) -> bool:
    """Whether some run over the whole word ends in a final state."""
    run = VPARun(automaton)
    for letter in word:
        run.read(letter)
    return run.accepting


def accepts_prefix(automaton: VPA, word: Iterable[Letter]) -> bool:
    """Whether some run ends in a final state after some beginning of the word; reads no further than needed."""
    run = VPARun(automaton)
    for letter in word:
        if run.accepting:
            return True
        run.read(letter)
    return run.accepting


def with_rest(automaton: VPA) -> VPA:
    """Accepts every word that begins with an accepted one: `rest` reads whatever is left."""
    rest = "rest"
    while rest in automaton.states:
        rest += "'"
    reads = [VPAMove(rest, mark, None, rest) for mark in (Mark.ATTRIBUTE, Mark.TEXT)]
    reads.append(VPAMove(rest, Mark.OPEN, None, rest, rest))
    reads += [VPAMove(rest, Mark.CLOSE, None, rest, symbol) for symbol in sorted({*automaton.symbols, rest})]
    leave = []
    for state in automaton.states:
        if state in automaton.final:
            leave += [VPAMove(state, move.mark, None, rest, move.stack) for move in reads]
    return VPA(
        (*automaton.states, rest), automaton.initial, (*automaton.moves, *leave, *reads), automaton.final | {rest}
    )
