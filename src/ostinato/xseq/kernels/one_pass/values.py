"""Values of the current node, tests and what moves write, for the one pass over a document. All of it is inlined."""

from __future__ import annotations

from typing import Any

from numba import types

from ostinato.core.jit import inlined, kernel
from ostinato.xseq.kernels.one_pass.layout import (
    BASE,
    CONSTANTS,
    LOADED,
    LOCAL,
    NODES_OF_CHUNK,
    QUERY,
    SOURCES,
    STACK,
    WIDTH,
    WORK,
)
from ostinato.xseq.kernels.values import compare, read_number, run_program


@inlined
def load(query: Any, work: Any, nodes: Any, place: Any) -> None:
    """Find the values that the query asks of a node: an element's attributes, an attribute's or text's own."""
    work.state[LOADED] = place
    element = nodes.kind[place] == 0
    if element:
        work.attribute_token[:] = -1
        here = place + 1
        while here < nodes.kind.size and nodes.kind[here] == 1:
            name = nodes.name[here]
            if name < query.attribute_of.size and query.attribute_of[name] >= 0:
                work.attribute_token[query.attribute_of[name]] = here
            here += 1
    for source in range(query.layout[SOURCES]):
        which = query.source_attribute[source]
        at = query.layout[CONSTANTS] + source
        token = -1
        if which == -2:
            token = -1 if element else place
        elif which >= 0 and element:
            token = work.attribute_token[which]
        work.kind[at] = 1
        if token >= 0:
            low, high = nodes.start[token], nodes.end[token]
            work.kind[at] = 2
            work.start[at] = low
            work.size[at] = high - low
            if query.source_numeric[source]:
                known, value = read_number(nodes.buffer, low, high)
                if known:
                    work.kind[at] = 3
                    work.num[at] = value
        elif which == -1 and nodes.name[place] >= 0:
            work.kind[at] = 2
            work.start[at] = -1 - query.name_start[nodes.name[place]]
            work.size[at] = query.name_size[nodes.name[place]]


@kernel(types.void(QUERY, WORK, NODES_OF_CHUNK, types.int64))
def load_again(query: Any, work: Any, nodes: Any, place: Any) -> None:
    """The same for attributes that are offered to runs, which is rare enough for a call."""
    load(query, work, nodes, place)


@inlined
def passes(query: Any, work: Any, nodes: Any, test: Any, shift: Any) -> Any:
    """Whether a test holds for the run whose slots are `shift` after those of run 0."""
    tests, base, test = query.tests, query.layout[BASE], 8 * test
    result = False
    for need in range(tests[test + 6], tests[test + 7]):
        if work.kind[base + query.needs[need] + shift] == 0:
            result = True
    if not result:
        if tests[test] == 1:
            one, two = tests[test + 2], tests[test + 3]
            one = one if one < base else one + shift
            two = two if two < base else two + shift
            result = compare(
                tests[test + 1], one, two, work.kind, work.num, work.start, work.size, nodes.buffer, work.held
            )
        else:
            stack = query.layout[STACK]
            run_program(
                query.code, tests[test + 4], tests[test + 5], shift, base, stack,
                work.kind, work.num, work.start, work.size, nodes.buffer, work.held,
            )  # fmt: skip
            result = work.num[stack] != 0.0
    return result


@inlined
def local_bits(query: Any, work: Any, nodes: Any, mask: Any) -> Any:
    """Which of the tests in `mask` the loaded node passes."""
    bits = 0
    number = 0
    while mask >> number:
        if (mask >> number) & 1 and passes(query, work, nodes, query.layout[LOCAL] + number, 0):
            bits |= 1 << number
        number += 1
    return bits


@inlined
def write_slots(query: Any, work: Any, nodes: Any, move: Any, run: Any) -> None:
    """What a move writes into the slots of a new run."""
    kind, num, start, size = work.kind, work.num, work.start, work.size
    base, stack = query.layout[BASE], query.layout[STACK]
    shift = run * query.layout[WIDTH]
    for op in range(query.move_ops[move], query.move_ops[move + 1]):
        operation, argument, second = query.ops[4 * op], query.ops[4 * op + 2], query.ops[4 * op + 3]
        slot = base + query.ops[4 * op + 1] + shift
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
