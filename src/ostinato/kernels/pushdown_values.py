"""Values of the current node, tests and what moves write, for the one pass over a document."""

from __future__ import annotations

from typing import Any

from numba import types

from ostinato.kernels.jit import kernel
from ostinato.kernels.pushdown_layout import (
    ATTRIBUTES_OF,
    BASE,
    CONSTANTS,
    LOCAL,
    NODES_OF_CHUNK,
    QUERY,
    SOURCES,
    STACK,
    WIDTH,
    WORK,
    numbers,
)
from ostinato.kernels.values import compare, read_number, run_program


@kernel(numbers(types.void, QUERY, WORK, NODES_OF_CHUNK, count=1))
def load(query: Any, work: Any, nodes: Any, place: Any) -> Any:
    """Find the wanted attributes of an element and the values that the query asks of it, once per element."""
    if work.state[ATTRIBUTES_OF] == place:
        return
    work.state[ATTRIBUTES_OF] = place
    work.attribute_token[:] = -1
    here = place + 1
    while here < nodes.kind.size and nodes.kind[here] == 1:
        name = nodes.name[here]
        if name < query.attribute_of.size and query.attribute_of[name] >= 0:
            work.attribute_token[query.attribute_of[name]] = here
        here += 1
    first = query.layout[CONSTANTS]
    for source in range(query.layout[SOURCES]):
        which = query.source_attribute[source]
        at = first + source
        low, high = 0, 0
        work.kind[at] = 1
        if which == -1:
            work.kind[at] = 2
            work.start[at] = -1 - query.name_start[nodes.name[place]]
            work.size[at] = query.name_size[nodes.name[place]]
        elif which >= 0 and work.attribute_token[which] >= 0:
            token = work.attribute_token[which]
            low, high = nodes.start[token], nodes.end[token]
            work.kind[at] = 2
            work.start[at] = low
            work.size[at] = high - low
        if high > low and query.source_numeric[source]:
            known, value = read_number(nodes.buffer, low, high)
            if known:
                work.kind[at] = 3
                work.num[at] = value


@kernel(numbers(types.void, QUERY, WORK, NODES_OF_CHUNK, count=1))
def load_own(query: Any, work: Any, nodes: Any, place: Any) -> Any:
    """The values that the query asks of an attribute or a text: its own, and its name."""
    first = query.layout[CONSTANTS]
    work.state[ATTRIBUTES_OF] = -1
    for source in range(query.layout[SOURCES]):
        at = first + source
        work.kind[at] = 1
        if query.source_attribute[source] == -1 and nodes.name[place] >= 0:
            work.kind[at] = 2
            work.start[at] = -1 - query.name_start[nodes.name[place]]
            work.size[at] = query.name_size[nodes.name[place]]
        elif query.source_attribute[source] == -2:
            low, high = nodes.start[place], nodes.end[place]
            work.kind[at] = 2
            work.start[at] = low
            work.size[at] = high - low
            if query.source_numeric[source]:
                known, value = read_number(nodes.buffer, low, high)
                if known:
                    work.kind[at] = 3
                    work.num[at] = value


@kernel(numbers(types.boolean, QUERY, WORK, NODES_OF_CHUNK, count=2))
def passes(query: Any, work: Any, nodes: Any, test: Any, shift: Any) -> Any:
    """Whether a test holds for the run whose slots are `shift` after those of run 0."""
    tests, base = query.tests, query.layout[BASE]
    for need in range(tests[test, 6], tests[test, 7]):
        if work.kind[base + query.needs[need] + shift] == 0:
            return True
    if tests[test, 0] == 1:
        one, two = tests[test, 2], tests[test, 3]
        one = one if one < base else one + shift
        two = two if two < base else two + shift
        return compare(
            tests[test, 1], one, two, work.kind, work.num, work.start, work.size, nodes.buffer, work.held
        )  # fmt: skip
    stack = query.layout[STACK]
    run_program(
        query.code, tests[test, 4], tests[test, 5], shift, base, stack,
        work.kind, work.num, work.start, work.size, nodes.buffer, work.held,
    )  # fmt: skip
    return work.num[stack] != 0.0


@kernel(numbers(types.int64, QUERY, WORK, NODES_OF_CHUNK, count=2))
def local_bits(query: Any, work: Any, nodes: Any, place: Any, mask: Any) -> Any:
    """Which of the tests in `mask` the element passes."""
    load(query, work, nodes, place)
    bits = 0
    number = 0
    while mask >> number:
        if (mask >> number) & 1 and passes(query, work, nodes, query.layout[LOCAL] + number, 0):
            bits |= 1 << number
        number += 1
    return bits


@kernel(numbers(types.void, QUERY, WORK, NODES_OF_CHUNK, count=2))
def write_slots(query: Any, work: Any, nodes: Any, move: Any, run: Any) -> Any:
    """What a move writes into the slots of a new run."""
    kind, num, start, size = work.kind, work.num, work.start, work.size
    base, stack = query.layout[BASE], query.layout[STACK]
    shift = run * query.layout[WIDTH]
    for op in range(query.move_ops[move], query.move_ops[move + 1]):
        operation, argument, second = query.ops[op, 0], query.ops[op, 2], query.ops[op, 3]
        slot = base + query.ops[op, 1] + shift
        if operation == 0:  # COPY
            other = base + argument + shift
            kind[slot], num[slot], start[slot], size[slot] = kind[other], num[other], start[other], size[other]
        elif operation == 1:  # CLEAR
            kind[slot] = 0
        elif operation == 5:  # INCREASE
            num[slot] = num[slot] + 1.0 if kind[slot] == 4 else 1.0
            kind[slot] = 4
        elif operation <= 4:  # SET, SET_NEW, SET_FIRST_ROUND
            if operation == 2 or (kind[slot] == 0 and (operation == 3 or num[base + second + shift] == 1.0)):
                kind[slot], num[slot] = kind[argument], num[argument]
                start[slot], size[slot] = start[argument], size[argument]
        else:
            value, known = 1.0, True
            if argument < second:
                run_program(query.code, argument, second, shift, base, stack, kind, num, start, size,
                            nodes.buffer, work.held)  # fmt: skip
                value = num[stack]
                known = kind[stack] >= 3 or (operation == 6 and kind[stack] == 2)
            if kind[slot] == 0:  # bound, but nothing to aggregate yet
                kind[slot] = 4 if operation == 6 else 1
                num[slot] = 0.0
            if known:
                if operation == 6:  # COUNT
                    num[slot] += 1.0
                elif kind[slot] == 1:
                    num[slot] = value
                elif operation == 7:  # SUM
                    num[slot] += value
                elif operation == 8:  # LEAST
                    num[slot] = min(num[slot], value)
                else:  # MOST
                    num[slot] = max(num[slot], value)
                kind[slot] = 4
