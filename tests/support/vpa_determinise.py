"""Visibly pushdown automata with one run per word (Alur and Madhusudan 2004), as far as words can reach."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from ostinato.documents.nested_words import Mark
from ostinato.errors import LimitError, QueryError
from ostinato.xseq.paper.vpa import BOTTOM, OTHER, VPA, State, VPAMove

STATES = 2_000

_Pairs = frozenset[tuple[State, State]]


def determinise(automaton: VPA, *, limit: int = STATES) -> VPA:
    """An automaton with exactly one run per word that accepts the same (Alur and Madhusudan 2004)."""
    if any(move.guard is not None for move in automaton.moves):
        raise QueryError("an automaton with tests on its moves is not determinised", fix="leave the predicates out")
    return _Determiniser(automaton, limit).automaton()


class _Determiniser:
    """A state is which states are joined by what was read since the last open tag that is not closed.

    An open tag pushes the state it was read in and starts afresh; the close tag puts the two together. Which states
    can lie above which is followed as well, so that no move is made for a stack that cannot be.
    """

    def __init__(self, automaton: VPA, limit: int) -> None:
        self._limit = limit
        self._states = len(automaton.states)
        self._final = automaton.final
        self._names = {mark: (*sorted(automaton.names[mark]), OTHER) for mark in Mark}
        self._by: dict[tuple[Mark, str], list[VPAMove]] = {
            (mark, name): [move for move in automaton.moves if move.mark is mark and move.name in (None, name)]
            for mark in Mark
            for name in self._names[mark]
        }
        self._number: dict[_Pairs, int] = {}
        self._order: list[_Pairs] = []
        self._moves: dict[VPAMove, None] = {}
        self._levels: dict[int, dict[int, None]] = {}  # by the state an open tag led to: the states at that depth
        self._callers: dict[int, dict[tuple[int, int, str], None]] = {}  # (its own level, state, name of the tag)
        self._todo: deque[tuple[int, int]] = deque()
        self._start = self._of(frozenset((state, state) for state in automaton.initial))

    def automaton(self) -> VPA:
        self._reach(self._start, self._start)
        while self._todo:
            self._from(*self._todo.popleft())
        final = frozenset(
            _called(number)
            for number, pairs in enumerate(self._order)
            if any(target in self._final for _, target in pairs)
        )
        states = tuple(map(_called, range(len(self._order))))
        return VPA(states, frozenset({_called(self._start)}), tuple(self._moves), final)

    def _of(self, pairs: _Pairs) -> int:
        if pairs not in self._number:
            if len(self._number) >= self._limit:
                raise LimitError(
                    "states",
                    self._limit,
                    reason=f"the deterministic automaton of one with {self._states} states grows too large",
                    fix="compare smaller queries, or raise the limit",
                )
            self._number[pairs] = len(self._order)
            self._order.append(pairs)
        return self._number[pairs]

    def _reach(self, entry: int, state: int) -> None:
        level = self._levels.setdefault(entry, {})
        if state not in level:
            level[state] = None
            self._todo.append((entry, state))

    def _from(self, entry: int, state: int) -> None:
        pairs = self._order[state]
        for mark in (Mark.ATTRIBUTE, Mark.TEXT):
            for name in self._names[mark]:
                target = self._of(_then(pairs, _steps(self._by[mark, name])))
                self._moves[VPAMove(_called(state), mark, name, _called(target))] = None
                self._reach(entry, target)
        if entry == self._start:
            for name in self._names[Mark.CLOSE]:
                steps = _steps(move for move in self._by[Mark.CLOSE, name] if move.stack == BOTTOM)
                target = self._of(_then(pairs, steps))
                self._moves[VPAMove(_called(state), Mark.CLOSE, name, _called(target), BOTTOM)] = None
                self._reach(entry, target)
        ends = {target for _, target in pairs}
        for name in self._names[Mark.OPEN]:
            entered = {move.target for move in self._by[Mark.OPEN, name] if move.source in ends}
            inner = self._of(frozenset((target, target) for target in entered))
            self._moves[VPAMove(_called(state), Mark.OPEN, name, _called(inner), f"{_called(state)}<{name}>")] = None
            self._callers.setdefault(inner, {})[entry, state, name] = None
            self._reach(inner, inner)
            for last in list(self._levels[inner]):
                self._return(entry, state, name, last)
        for caller in list(self._callers.get(entry, ())):
            self._return(*caller, state)

    def _return(self, entry: int, state: int, name: str, last: int) -> None:
        """From `last`, a close tag that belongs to the open tag `name` read in `state`."""
        for closing in self._names[Mark.CLOSE]:
            steps = _through(self._by[Mark.OPEN, name], self._order[last], self._by[Mark.CLOSE, closing])
            target = self._of(_then(self._order[state], steps))
            stack = f"{_called(state)}<{name}>"
            self._moves[VPAMove(_called(last), Mark.CLOSE, closing, _called(target), stack)] = None
            self._reach(entry, target)


def _called(number: int) -> State:
    return f"q{number}"


_Steps = dict[State, set[State]]


def _steps(moves: Iterable[VPAMove]) -> _Steps:
    steps: _Steps = {}
    for move in moves:
        steps.setdefault(move.source, set()).add(move.target)
    return steps


def _through(calls: list[VPAMove], inside: _Pairs, returns: list[VPAMove]) -> _Steps:
    steps: _Steps = {}
    joined = _steps_of_pairs(inside)
    for call in calls:
        for state in joined.get(call.target, ()):
            for back in returns:
                if back.source == state and back.stack == call.stack:
                    steps.setdefault(call.source, set()).add(back.target)
    return steps


def _steps_of_pairs(pairs: _Pairs) -> _Steps:
    steps: _Steps = {}
    for source, target in pairs:
        steps.setdefault(source, set()).add(target)
    return steps


def _then(pairs: _Pairs, steps: _Steps) -> _Pairs:
    return frozenset((source, end) for source, middle in pairs for end in steps.get(middle, ()))
