"""What a visibly pushdown automaton accepts (XSeq paper, Appendix A), and which documents a query's automata accept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ostinato.documents.nested_words import Letter, Mark
from ostinato.errors import QueryError
from ostinato.xseq.paper.from_query import construct
from ostinato.xseq.paper.recognise import STATES, Recogniser, to_basic_or_none
from ostinato.xseq.paper.vpa import BOTTOM, OTHER, VPA, State, VPAMove
from ostinato.xseq.syntax import nodes as n


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


def recognises(query: n.Query | n.Path, word: Iterable[Letter], *, limit: int = STATES) -> bool:
    """Whether a walk along the query's path exists in the document; conditions must be tests of single elements."""
    if isinstance(query, n.Query) and (query.where is not None or query.partition is not None):
        raise QueryError("`where` and `partition by` are no part of the navigation that an automaton decides")
    path = query.path if isinstance(query, n.Query) else query
    basic = to_basic_or_none(path)
    if basic is None:
        return accepts_prefix(construct(path), word)
    return Recogniser(basic, limit=limit).run(word)
