"""An automaton without the moves that no document of a schema can take (section 4.2: less nondeterminism)."""

from __future__ import annotations

from collections import deque

from ostinato.documents.nested_words import Mark
from ostinato.documents.schema.model import DOCUMENT, Schema
from ostinato.xseq.paper.vpa import OTHER, VPA, State, VPAMove

_Place = tuple[State, str, bool]  # a state, the element it is in, and whether that element's attributes may still come


def restrict_to_schema(automaton: VPA, schema: Schema) -> VPA:
    """The automaton that accepts the same documents among those that fit the schema.

    States and elements are followed together; what is never reached goes. So E loses its loop in elements without
    children, and A goes where an element has no attributes (those of namespaces must be declared to be read here).
    """
    return _Fitting(automaton, schema).automaton()


class _Fitting:
    def __init__(self, automaton: VPA, schema: Schema) -> None:
        self._whole, self._schema = automaton, schema
        self._outgoing: dict[State, list[VPAMove]] = {}
        for move in automaton.moves:
            self._outgoing.setdefault(move.source, []).append(move)
        self._names = automaton.names
        self._seen: dict[_Place, None] = {}
        self._todo: deque[_Place] = deque()
        self._used: set[VPAMove] = set()
        self._opened: dict[tuple[str, str], dict[str, None]] = {}  # (symbol, element): in which elements it was opened
        self._closing: dict[tuple[str, str], dict[VPAMove, None]] = {}  # (symbol, element): the moves that close it

    def automaton(self) -> VPA:
        for state in sorted(self._whole.initial):
            self._reach(state, DOCUMENT, False)
        while self._todo:
            self._from(*self._todo.popleft())
        reached = {state for state, _, _ in self._seen}
        return VPA(
            tuple(state for state in self._whole.states if state in reached),
            self._whole.initial,
            tuple(move for move in self._whole.moves if move in self._used),
            self._whole.final & reached,
        )

    def _reach(self, state: State, inside: str, attributes: bool) -> None:
        place = (state, inside, attributes)
        if place not in self._seen:
            self._seen[place] = None
            self._todo.append(place)

    def _from(self, state: State, inside: str, attributes: bool) -> None:
        kind = self._schema.of(inside)
        for move in self._outgoing.get(state, ()):
            match move.mark:
                case Mark.TEXT if kind.text:
                    self._take(move, inside, False)
                case Mark.ATTRIBUTE if attributes and any(self._reads(move, name) for name in kind.attributes):
                    self._take(move, inside, True)
                case Mark.OPEN:
                    for child in kind.children:
                        if self._reads(move, child):
                            self._open(move, inside, child)
                case Mark.CLOSE if inside != DOCUMENT and self._reads(move, inside):
                    self._close(move, inside)

    def _reads(self, move: VPAMove, name: str) -> bool:
        other = move.name == OTHER and name not in self._names[move.mark]
        return move.name is None or move.name == name or other

    def _take(self, move: VPAMove, inside: str, attributes: bool) -> None:
        self._used.add(move)
        self._reach(move.target, inside, attributes)

    def _open(self, move: VPAMove, inside: str, child: str) -> None:
        self._take(move, child, True)
        known = (str(move.stack), child)
        self._opened.setdefault(known, {})[inside] = None
        for back in self._closing.get(known, ()):
            self._take(back, inside, False)

    def _close(self, move: VPAMove, inside: str) -> None:
        known = (str(move.stack), inside)
        self._closing.setdefault(known, {})[move] = None
        for parent in self._opened.get(known, ()):
            self._take(move, parent, False)
