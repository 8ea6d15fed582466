"""Shrinking transducers: trimming, merging of states that behave alike, and the STRICT restriction."""

from __future__ import annotations

from dataclasses import replace

from ostinato.core.reachability import reachable_states
from ostinato.patterns.automata.transducer import START_LOOP, Transducer, Transition


def make_contiguous(transducer: Transducer) -> Transducer:
    """STRICT (appendix C.3.1): once an event is marked, nothing may be skipped."""
    kept = tuple(t for t in transducer.transitions if t.mark is not None or t == START_LOOP)
    return replace(transducer, transitions=kept)


def trim(transducer: Transducer) -> Transducer:
    """Only states on a path from the start to a final state, renumbered in order of discovery."""
    forward: dict[int, list[int]] = {}
    backward: dict[int, list[int]] = {}
    for transition in transducer.transitions:
        forward.setdefault(transition.source, []).append(transition.target)
        backward.setdefault(transition.target, []).append(transition.source)
    useful = reachable_states([0], forward) & (reachable_states(sorted(transducer.final), backward) | {0})
    order = [state for state in _breadth_first(forward) if state in useful]
    return _renumber(transducer, {state: number for number, state in enumerate(order)})


def merge_alike(transducer: Transducer) -> Transducer:
    """Merge states with the same finality and the same moves (forward bisimulation).

    A state that is only ever entered by skipping accepts nothing itself, so its finality is free: it takes that of a
    state that leads to it, which lets the gap after an event merge with the event's own state.
    """
    marked = {t.target for t in transducer.transitions if t.mark is not None}
    final = set(transducer.final)
    for transition in transducer.transitions:
        if transition.target not in marked and transition.source in marked:
            (final.add if transition.source in transducer.final else final.discard)(transition.target)
    block = _refine(transducer, [0 if state == 0 else 1 + (state in final) for state in range(transducer.states)])
    merged = replace(transducer, final=frozenset(final))
    return _renumber(merged, dict(enumerate(block)))


def _refine(transducer: Transducer, block: list[int]) -> list[int]:
    """The coarsest partition below `block` whose members have the same moves into the same blocks.

    Only states with a move into a block that was split are looked at again, so that long chains cost no more than their
    length.
    """
    labels: dict[Transition, int] = {}
    moves: list[set[tuple[int, int]]] = [set() for _ in range(transducer.states)]
    before: list[set[int]] = [set() for _ in range(transducer.states)]
    for t in transducer.transitions:
        moves[t.source].add((labels.setdefault(replace(t, source=0, target=0), len(labels)), t.target))
        before[t.target].add(t.source)
    members: dict[int, set[int]] = {}
    for state, number in enumerate(block):
        members.setdefault(number, set()).add(state)

    def signature(state: int) -> frozenset[tuple[int, int]]:
        return frozenset((label, block[target]) for label, target in moves[state])

    pending = set(range(transducer.states))
    while pending:
        touched: dict[int, set[int]] = {}
        for state in pending:
            touched.setdefault(block[state], set()).add(state)
        pending = set()
        splits: list[set[int]] = []
        for number, changed in touched.items():
            alike: dict[frozenset[tuple[int, int]], set[int]] = {}
            same = members[number] - changed
            if same:  # none of their moves changed, so they still have one signature
                alike[signature(next(iter(same)))] = same
            for state in changed:
                alike.setdefault(signature(state), set()).add(state)
            largest, *others = sorted(alike.values(), key=len, reverse=True)
            members[number] = largest
            splits += others
        for states in splits:
            number = len(members)
            while number in members:
                number += 1
            members[number] = states
            for state in states:
                block[state] = number
                pending |= before[state]
    return block


def optimise(transducer: Transducer, *, contiguous: bool) -> Transducer:
    """The whole sequence; `contiguous` applies STRICT."""
    return trim(merge_alike(trim(make_contiguous(transducer) if contiguous else transducer)))


def _breadth_first(edges: dict[int, list[int]]) -> list[int]:
    order, seen = [0], {0}
    for state in order:
        for target in edges.get(state, ()):
            if target not in seen:
                seen.add(target)
                order.append(target)
    return order


def _renumber(transducer: Transducer, number: dict[int, int]) -> Transducer:
    transitions: dict[Transition, None] = {}
    for t in transducer.transitions:
        if t.source in number and t.target in number:
            transitions.setdefault(replace(t, source=number[t.source], target=number[t.target]))
    final = frozenset(number[state] for state in transducer.final if state in number)
    return Transducer(max(number.values()) + 1, tuple(transitions), final)
