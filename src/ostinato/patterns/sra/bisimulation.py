"""States that behave alike: the coarsest forward bisimulation, by partition refinement."""

from __future__ import annotations

from collections.abc import Hashable

from ostinato.patterns.sra.automaton import Automaton

Move = tuple[int, int]  # the number of a test with its writes, and a target


def bisimulation_blocks(automaton: Automaton) -> list[int]:
    """The block of each state: states of one block have the same finality, and the same moves to the same blocks.

    Blocks are split until nothing changes. Only states with a move to a block that was split are looked at again, and
    the largest part of a block keeps its number, so that no state is renumbered more than log₂(states) times.
    """
    moves, before = _moves(automaton)
    block = [int(state in automaton.final) for state in range(automaton.states)]
    members = [set(range(automaton.states)) - automaton.final, set(automaton.final)]
    unsure = set(range(automaton.states))
    while unsure:
        touched: dict[int, list[int]] = {}
        for state in sorted(unsure):
            touched.setdefault(block[state], []).append(state)
        parts = {number: _parts(states, members[number], moves, block) for number, states in touched.items()}
        unsure = set()
        for number, smaller in parts.items():
            for part in smaller:
                members[number] -= part
                for state in part:
                    block[state] = len(members)
                    unsure |= before[state]
                members.append(part)
    return block


def _parts(states: list[int], members: set[int], moves: list[list[Move]], block: list[int]) -> list[set[int]]:
    """All parts of a block but the largest.

    The members that are not among `states` form one part: they still behave alike, and unlike `states`, each of which
    has a move to a new block.
    """
    groups: dict[frozenset[tuple[int, int]], set[int]] = {}
    for state in states:
        behaviour = frozenset((label, block[target]) for label, target in moves[state])
        groups.setdefault(behaviour, set()).add(state)
    parts = sorted(groups.values(), key=len)
    others = len(members) - len(states)
    if others >= len(parts[-1]):  # counted, and listed only if they are to move
        return parts
    return [*parts[:-1], members.difference(states)] if others else parts[:-1]


def _moves(automaton: Automaton) -> tuple[list[list[Move]], list[set[int]]]:
    """The moves of each state, and the states that have a move to it."""
    labels: dict[Hashable, int] = {}
    moves: list[list[Move]] = [[] for _ in range(automaton.states)]
    before: list[set[int]] = [set() for _ in range(automaton.states)]
    for rule in automaton.rules:
        label = labels.setdefault((rule.test, rule.writes), len(labels))
        moves[rule.source].append((label, rule.target))
        before[rule.target].add(rule.source)
    return moves, before
