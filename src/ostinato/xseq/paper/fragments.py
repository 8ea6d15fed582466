"""Parts of the automaton of a query, and how they are put together: concatenation needs no copy, intersection does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product

from ostinato.documents.nested_words import Mark
from ostinato.errors import LimitError
from ostinato.xseq.paper.vpa import State, VPAMove, conjoin_guards

HERE = "here"  # as a stack symbol: whatever was pushed for the node that the fragment starts on
SKIP = "skip"  # inside an element that goes by as a whole
STATES = 20_000  # of a product
INTERNAL = (Mark.ATTRIBUTE, Mark.TEXT)


@dataclass(frozen=True)
class Fragment:
    """A part of the automaton. `ends`: the states on the last element, each with what was pushed for that element."""

    states: tuple[State, ...]
    start: State
    moves: tuple[VPAMove, ...]
    ends: Mapping[State, frozenset[str]]
    leaves: frozenset[State] = frozenset()  # states on a last node that is an attribute or text: nothing leads on
    again: frozenset[State] = frozenset()  # where a path variable stands inside its own definition
    nullable: bool = False  # may the walk stay where it starts?


def place_on_stack(fragment: Fragment, on_stack: frozenset[str]) -> Fragment:
    """The fragment where the node it starts on is known: what was pushed for that node takes the place of `here`."""
    moves: list[VPAMove] = []
    for move in fragment.moves:
        found = sorted(on_stack) if move.stack == HERE else [move.stack]
        moves += [replace(move, stack=symbol) for symbol in found]
    ends = {
        state: (symbols - {HERE}) | on_stack if HERE in symbols else symbols for state, symbols in fragment.ends.items()
    }
    return replace(fragment, moves=tuple(moves), ends=ends)


def remove_silent_moves(fragment: Fragment, silents: Mapping[State, list[State]]) -> Fragment:
    """The fragment with ε-moves put in front of the moves that they lead to."""
    own = {*fragment.states, SKIP}
    outgoing: dict[State, list[VPAMove]] = {}
    skipping = [VPAMove(SKIP, mark, None, SKIP) for mark in INTERNAL]
    skipping += [VPAMove(SKIP, mark, None, SKIP, SKIP) for mark in (Mark.OPEN, Mark.CLOSE)]
    for move in (*fragment.moves, *skipping):
        outgoing.setdefault(move.source, []).append(move)
    moves: dict[VPAMove, None] = {}
    ends = dict(fragment.ends)
    leaves = set(fragment.leaves)
    for state in (*fragment.states, SKIP):
        near, todo = {state: None}, [state]
        while todo:
            for target in silents.get(todo.pop(), ()):
                if target in own and target not in near:
                    near[target] = None
                    todo.append(target)
        for other in near:
            moves.update((replace(move, source=state), None) for move in outgoing.get(other, ()))
            if other in fragment.ends:
                ends[state] = ends.get(state, frozenset()) | fragment.ends[other]
            if other in fragment.leaves:
                leaves.add(state)
    states = tuple(dict.fromkeys((*fragment.states, SKIP)))
    return Fragment(states, fragment.start, tuple(moves), ends, frozenset(leaves), nullable=fragment.nullable)


def intersect_fragments(left: Fragment, right: Fragment) -> Fragment:
    if len(left.states) * len(right.states) > STATES:
        raise LimitError(
            "states",
            STATES,
            reason="the automaton of an intersection grows too large",
            fix="intersect fewer or shorter paths",
        )
    moves: list[VPAMove] = []
    by_mark: dict[Mark, list[VPAMove]] = {}
    for move in right.moves:
        by_mark.setdefault(move.mark, []).append(move)
    for one in left.moves:
        for two in by_mark.get(one.mark, ()):
            if one.name is not None and two.name is not None and one.name != two.name:
                continue
            if (one.stack == HERE) != (two.stack == HERE):
                continue  # one side leaves the node that both started on, the other a node inside it
            stack = one.stack if one.stack in (None, HERE) else f"{one.stack}&{two.stack}"
            moves.append(
                VPAMove(
                    f"{one.source}&{two.source}",
                    one.mark,
                    one.name if one.name is not None else two.name,
                    f"{one.target}&{two.target}",
                    stack,
                    conjoin_guards(one.guard, two.guard),
                )
            )
    ends = {
        f"{a}&{b}": frozenset(
            HERE if HERE in (one, two) else f"{one}&{two}"
            for one, two in product(left.ends[a], right.ends[b])
            if (one == HERE) == (two == HERE)
        )
        for a, b in product(left.ends, right.ends)
    }
    return Fragment(
        tuple(f"{a}&{b}" for a, b in product(left.states, right.states)),
        f"{left.start}&{right.start}",
        tuple(moves),
        {state: symbols for state, symbols in ends.items() if symbols},
        frozenset(f"{a}&{b}" for a, b in product(left.leaves, right.leaves)),
        nullable=left.nullable and right.nullable,
    )
