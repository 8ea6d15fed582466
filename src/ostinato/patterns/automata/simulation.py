"""Which states can do all that another can, step by step: the largest simulation between states of a transducer."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from functools import lru_cache

import numpy as np

from ostinato.core.arrays import Bools, Int64
from ostinato.core.conditions import Condition
from ostinato.patterns.automata.transducer import Transducer, Transition

_MAX_STATES = 4096  # beyond, a bit for each pair of states is too much: then no state is known to replace another

Follows = Callable[[Transition, Transition], bool]


def simulation(
    transitions: Iterable[Transition], related: Bools, label: Callable[[Transition], Hashable], follows: Follows
) -> Bools:
    """Row i of the result: the states j among those `related` at first such that each transition of i is followed by
    one of j, again from related state to related state.

    `follows(t, u)`: whether u may answer t, as far as what `label` gives of the two decides it; only transitions with
    the same condition or, for u, with none are asked for.
    """
    related = related.copy()
    leaving: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)  # per state: label, target
    entering: defaultdict[int, set[int]] = defaultdict(set)
    numbers: dict[Hashable, int] = {}
    samples: list[Transition] = []
    edges: list[list[tuple[int, int]]] = []  # per label: source, target
    for t in transitions:
        number = numbers.setdefault(label(t), len(numbers))
        if number == len(samples):
            samples.append(t)
            edges.append([])
        edges[number].append((t.source, t.target))
        leaving[t.source].append((number, t.target))
        entering[t.target].add(t.source)
    answers = _answers(samples, edges, follows)
    queue = [-state for state in leaving]  # later states first: what they can do decides what earlier ones can
    heapq.heapify(queue)
    waiting = set(leaving)
    while queue:
        state = -heapq.heappop(queue)
        waiting.discard(state)
        row = related[state]
        for number, target in leaving[state]:
            sources, targets = answers[number]
            able = np.zeros_like(row)
            able[sources[related[target][targets]]] = True
            row = row & able
        if not np.array_equal(row, related[state]):
            related[state] = row
            for source in entering[state] - waiting:
                waiting.add(source)
                heapq.heappush(queue, -source)
    return related


def _answers(
    samples: list[Transition], edges: list[list[tuple[int, int]]], follows: Follows
) -> list[tuple[Int64, Int64]]:
    """Per label the sources and targets of all transitions that may answer one of it."""
    alike: defaultdict[Hashable, list[int]] = defaultdict(list)
    for number, sample in enumerate(samples):
        alike[sample.condition].append(number)
    answers = []
    for sample in samples:
        asked = dict.fromkeys((*alike[sample.condition], *alike[None]))
        pairs = [edge for number in asked if follows(sample, samples[number]) for edge in edges[number]]
        found = np.array(pairs, np.int64).reshape(-1, 2)
        answers.append((found[:, 0], found[:, 1]))
    return answers


@lru_cache(maxsize=16)  # both halves of a window call this
def replaceable_states(transducer: Transducer, *, backwards: bool) -> tuple[int, ...]:
    """Per state, as a mask, the states that it can stand in for, whatever is marked: where one of them can complete a
    match, it can, with the same event. `backwards`: whatever events lead to one of them lead to it.

    Of a transducer without registers.
    """
    count = transducer.states
    if count > _MAX_STATES:
        return tuple(1 << state for state in range(count))
    related = np.ones((count, count), np.bool_)
    if backwards:
        related[0, 1:] = False  # nothing but the start state is where no event was read
        turned = (replace(t, source=t.target, target=t.source) for t in transducer.transitions)
        related = simulation(turned, related, lambda t: (t.condition, t.unless), _reads_as_much)
    else:

        def label(t: Transition) -> Hashable:
            return t.condition, t.unless, completes(t)

        def completes(t: Transition) -> bool:
            return t.mark is not None and t.target in transducer.final

        def follows(t: Transition, u: Transition) -> bool:
            return _reads_as_much(t, u) and (completes(u) or not completes(t))

        related = simulation(transducer.transitions, related, label, follows)
    columns = np.packbits(related, axis=0, bitorder="little")
    return tuple(int.from_bytes(columns[:, state].tobytes(), "little") for state in range(count))


def _reads_as_much(t: Transition, u: Transition) -> bool:
    """Whether u reads every event that t reads, where both have the same condition or u has none."""

    def foreign(condition: Condition) -> bool:
        return t.condition is not None and len({condition.relation, t.condition.relation} - {None}) > 1

    return all(condition in t.unless or foreign(condition) for condition in u.unless)
