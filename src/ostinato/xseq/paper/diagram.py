"""A visibly pushdown automaton as a picture: SVG, or Graphviz's dot text. `+X` pushes X, `-X` takes X off the stack."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ostinato.viz.automaton import Drawing, DrawnState, EdgeLabel
from ostinato.viz.picture import AutomatonPicture, quote, write_dot
from ostinato.xseq.paper.fragments import SKIP
from ostinato.xseq.paper.vpa import VPA, VPAMove

_LINES = 5  # moves shown per edge; the tooltip has all
_WIDE = 34  # characters of a move


@dataclass(frozen=True)
class VPADiagram(AutomatonPicture):
    """A drawn automaton; shows itself in a notebook."""

    automaton: VPA
    title: str = "automaton"

    def svg(self) -> str:
        automaton = self.automaton
        shown = [state for state in automaton.states if state != SKIP]
        order = sorted(shown, key=lambda state: state not in automaton.initial)
        number = {state: at for at, state in enumerate(order)}
        between: dict[tuple[int, int], list[tuple[str, VPAMove]]] = {}
        for text, source, target, move in _edges(automaton):
            between.setdefault((number[source], number[target]), []).append((text, move))
        states = []
        for state in order:
            role, _, step = state.partition(" ")
            name, caption = (role, step) if len(role) <= 4 else ("", state)
            states.append(DrawnState(name, caption, state in automaton.final, state in automaton.initial))
        return Drawing(states, {edge: _label(moves) for edge, moves in between.items()}).document(self.title)

    def dot(self) -> str:
        automaton = self.automaton
        shown = [(state, quote(state)) for state in automaton.states]
        edges = ((quote(move.source), quote(move.target), move.label) for move in automaton.moves)
        final = (name for state, name in shown if state in automaton.final)
        return write_dot(final, (name for state, name in shown if state in automaton.initial), edges)


def _edges(automaton: VPA) -> Iterator[tuple[str, str, str, VPAMove]]:
    """The moves as they are drawn. As in the paper, an element that goes by as a whole is one edge: `<*>…</*>`."""
    back = {move.stack: move.target for move in automaton.moves if move.source == SKIP and move.target != SKIP}
    for move in automaton.moves:
        if move.source != SKIP and move.target != SKIP:
            yield move.label, move.source, move.target, move
        elif move.source != SKIP and move.stack in back:
            test = "" if move.guard is None else f" [{move.guard.text}]"
            yield f"<*>…</*>{test}", move.source, back[move.stack], move


def _label(moves: list[tuple[str, VPAMove]]) -> EdgeLabel:
    """One label for all moves between the same two states; what an open or close tag does is marked by its sign."""
    lines = [(_short(text), False) for text, _ in moves]
    if len(lines) > _LINES:
        lines = [*lines[: _LINES - 1], (f"… {len(moves) - _LINES + 1} more", False)]
    return EdgeLabel(tuple(lines), "\n".join(str(move) for _, move in moves))


def _short(text: str) -> str:
    return text if len(text) <= _WIDE else text[: _WIDE - 1] + "…"
