"""What can be done with visibly pushdown automata: ∪, ∩, complement, emptiness, containment (Lemma 6.5)."""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from dataclasses import replace
from itertools import product

from ostinato.documents.nested_words import Letter, Mark
from ostinato.xseq.paper.vpa import BOTTOM, OTHER, VPA, State, VPAMove, conjoin_guards
from support.vpa_determinise import STATES, determinise


def documents() -> VPA:
    """Every well-formed document: one element and all that is in it, attributes directly after their open tag."""
    inside = (
        [VPAMove("attributes", Mark.ATTRIBUTE, None, "attributes")]
        + [VPAMove(state, Mark.TEXT, None, "content") for state in ("attributes", "content")]
        + [VPAMove(state, Mark.OPEN, None, "attributes", "element") for state in ("attributes", "content")]
        + [VPAMove(state, Mark.CLOSE, None, "content", "element") for state in ("attributes", "content")]
        + [VPAMove(state, Mark.CLOSE, None, "end", "root") for state in ("attributes", "content")]
    )
    first = VPAMove("start", Mark.OPEN, None, "attributes", "root")
    states = ("start", "attributes", "content", "end")
    return VPA(states, frozenset({"start"}), (first, *inside), frozenset({"end"}))


def union(left: VPA, right: VPA) -> VPA:
    """Accepts what one of the two accepts: both side by side, their states told apart by 1 and 2."""
    one, two = (_tagged(automaton, tag) for automaton, tag in zip(_same_names(left, right), "12", strict=True))
    return VPA(one.states + two.states, one.initial | two.initial, one.moves + two.moves, one.final | two.final)


def intersection(left: VPA, right: VPA) -> VPA:
    """Accepts what both accept: states and stack symbols are pairs, as far as they can be reached."""
    left, right = _same_names(left, right)
    outgoing: dict[tuple[State, Mark], list[VPAMove]] = {}
    for move in right.moves:
        outgoing.setdefault((move.source, move.mark), []).append(move)
    starts = list(product(sorted(left.initial), sorted(right.initial)))
    seen, todo, moves = dict.fromkeys(starts), deque(starts), []
    while todo:
        pair = todo.popleft()
        for one in (move for move in left.moves if move.source == pair[0]):
            for two in outgoing.get((pair[1], one.mark), ()):
                if (joint := _joint(one, two)) is None:
                    continue
                target = (one.target, two.target)
                if target not in seen:
                    seen[target] = None
                    todo.append(target)
                moves.append(joint)
    return VPA(
        tuple(_pair(*pair) for pair in seen),
        frozenset(_pair(*pair) for pair in starts),
        tuple(moves),
        frozenset(_pair(a, b) for a, b in seen if a in left.final and b in right.final),
    )


def _joint(one: VPAMove, two: VPAMove) -> VPAMove | None:
    if one.name is not None and two.name is not None and one.name != two.name:
        return None
    if one.stack is None or two.stack is None:
        stack = None
    elif (one.stack == BOTTOM) != (two.stack == BOTTOM):
        return None  # the two stacks are equally high
    else:
        stack = BOTTOM if one.stack == BOTTOM else _pair(one.stack, two.stack)
    name = one.name if one.name is not None else two.name
    return VPAMove(
        _pair(one.source, two.source),
        one.mark,
        name,
        _pair(one.target, two.target),
        stack,
        conjoin_guards(one.guard, two.guard),
    )


def _pair(left: str, right: str) -> str:
    return f"{left}&{right}"


def _tagged(automaton: VPA, tag: str) -> VPA:
    def named(state: str) -> str:
        return f"{state}.{tag}"

    def stacked(symbol: str | None) -> str | None:
        return symbol if symbol in (None, BOTTOM) else named(str(symbol))

    moves = (
        replace(move, source=named(move.source), target=named(move.target), stack=stacked(move.stack))
        for move in automaton.moves
    )
    initial, final = (frozenset(map(named, some)) for some in (automaton.initial, automaton.final))
    return VPA(tuple(map(named, automaton.states)), initial, tuple(moves), final)


def _same_names(left: VPA, right: VPA) -> tuple[VPA, VPA]:
    """Both automata with `any other` meaning the same: names that only one knows are spelled out in the other."""
    every = {mark: left.names[mark] | right.names[mark] for mark in Mark}

    def spelled(automaton: VPA) -> VPA:
        moves: list[VPAMove] = []
        for move in automaton.moves:
            moves.append(move)
            if move.name == OTHER:
                new = every[move.mark] - automaton.names[move.mark]
                moves += [replace(move, name=name) for name in sorted(new)]
        return replace(automaton, moves=tuple(moves))

    return spelled(left), spelled(right)


def witness(automaton: VPA) -> list[Letter] | None:
    """A shortest accepted word, or None if there is none. Open and close tags in it agree; guards are taken to hold."""
    well = _well_nested(automaton)
    todo: list[tuple[int, int, State, bool, tuple[Letter, ...]]] = []
    for number, state in enumerate(sorted(automaton.initial)):
        heapq.heappush(todo, (0, number, state, False, ()))
    done: set[tuple[State, bool]] = set()
    count = len(todo)
    while todo:
        length, _, state, pending, word = heapq.heappop(todo)
        if state in automaton.final:
            return list(word)
        if (state, pending) in done:
            continue
        done.add((state, pending))
        nexts = [(target, pending, inner) for target, inner in well.get(state, {}).items()]
        for move in automaton.moves:
            if move.source == state and move.mark is Mark.OPEN:
                nexts.append((move.target, True, (_letter(move),)))
            if move.source == state and move.mark is Mark.CLOSE and move.stack == BOTTOM and not pending:
                nexts.append((move.target, False, (_letter(move),)))
        for target, open_, inner in nexts:
            count += 1
            heapq.heappush(todo, (length + len(inner), count, target, open_, word + inner))
    return None


def is_empty(automaton: VPA) -> bool:
    return witness(automaton) is None


def _letter(move: VPAMove, name: str | None = None) -> Letter:
    chosen = name or move.name or "any"
    return Letter(move.mark, "" if move.mark is Mark.TEXT else "other" if chosen == OTHER else chosen)


def _well_nested(automaton: VPA) -> dict[State, dict[State, tuple[Letter, ...]]]:
    """For each two states that a well-nested word joins: a shortest such word (Knuth's form of Dijkstra's search)."""
    internals: dict[State, list[VPAMove]] = {}
    calls: dict[State, list[VPAMove]] = {}  # by target
    returns: dict[State, list[VPAMove]] = {}
    for move in automaton.moves:
        if move.mark.internal:
            internals.setdefault(move.source, []).append(move)
        elif move.mark is Mark.OPEN:
            calls.setdefault(move.target, []).append(move)
        else:
            returns.setdefault(move.source, []).append(move)
    found: dict[State, dict[State, tuple[Letter, ...]]] = {}
    into: dict[State, list[State]] = {}
    atoms: dict[State, dict[State, tuple[Letter, ...]]] = {}
    todo: list[tuple[int, int, State, State, tuple[Letter, ...]]] = []

    numbers = itertools.count()  # words of one length leave the heap in the order they came

    def push(source: State, target: State, word: tuple[Letter, ...]) -> None:
        heapq.heappush(todo, (len(word), next(numbers), source, target, word))

    for state in automaton.states:
        push(state, state, ())
    while todo:
        _, _, source, target, word = heapq.heappop(todo)
        if target in found.setdefault(source, {}):
            continue
        found[source][target] = word
        into.setdefault(target, []).append(source)
        for move in internals.get(target, ()):
            push(source, move.target, (*word, _letter(move)))
        for end, atom in atoms.get(target, {}).items():
            push(source, end, word + atom)
        for call, back in product(calls.get(source, ()), returns.get(target, ())):
            if call.stack != back.stack or (None not in (call.name, back.name) and call.name != back.name):
                continue
            name = call.name or back.name
            whole = (_letter(call, name), *word, _letter(back, name))
            if back.target in atoms.setdefault(call.source, {}):
                continue
            atoms[call.source][back.target] = whole
            for start in into.get(call.source, ()):
                push(start, back.target, found[start][call.source] + whole)
    return found


def complement(automaton: VPA, *, limit: int = STATES) -> VPA:
    """Accepts exactly the words that the automaton does not accept."""
    whole = determinise(automaton, limit=limit)
    return replace(whole, final=frozenset(whole.states) - whole.final)


def counterexample(left: VPA, right: VPA, *, limit: int = STATES) -> list[Letter] | None:
    """A document that `left` accepts and `right` does not; None where there is none (containment, Lemma 6.5)."""
    return witness(intersection(intersection(documents(), left), complement(right, limit=limit)))
