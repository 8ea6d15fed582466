"""Values of the current node, tests and what moves write, for the one pass over a document."""

from __future__ import annotations

from ostinato.core.jit import subroutine
from ostinato.core.jit.types import boolean, int64, void
from ostinato.xseq.kernels.one_pass.layout import LOADED, NODES, QUERY, WORK, Nodes, QueryTables, Work
from ostinato.xseq.kernels.values import compare, read_number, run_program


@subroutine(void(QUERY, WORK, NODES, int64))
def load(query: QueryTables, work: Work, nodes: Nodes, place: int) -> None:
    """Find the values that the query asks of a node: an element's attributes, an attribute's or text's own."""
    work.state[LOADED] = place
    element = nodes.kind[place] == 0
    if element:
        for attribute in range(work.attribute_token.size):
            work.attribute_token[attribute] = -1
        here = place + 1
        while here < nodes.kind.size and nodes.kind[here] == 1:
            name = nodes.name[here]
            if name < query.attribute_of.size and query.attribute_of[name] >= 0:
                work.attribute_token[query.attribute_of[name]] = here
            here += 1
    for source in range(query.source_count):
        which = query.source_attribute[source]
        at = query.constant_count + source
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
                known, value = read_number(work.buffer, low, high)
                if known:
                    work.kind[at] = 3
                    work.num[at] = value
        elif which == -1 and nodes.name[place] >= 0:
            work.kind[at] = 2
            work.start[at] = -1 - query.name_start[nodes.name[place]]
            work.size[at] = query.name_size[nodes.name[place]]


@subroutine(boolean(QUERY, WORK, int64, int64))
def passes(query: QueryTables, work: Work, test: int, shift: int) -> bool:
    """Whether a test holds for the run whose slots are `shift` after those of run 0."""
    tests, base, row = query.tests, work.base, 8 * test
    for need in range(tests[row + 6], tests[row + 7]):
        if work.kind[base + query.needs[need] + shift] == 0:
            return True
    if tests[row] == 1:
        one, two = tests[row + 2], tests[row + 3]
        return compare(work, tests[row + 1], one if one < base else one + shift, two if two < base else two + shift)
    run_program(work, tests[row + 4], tests[row + 5], shift)
    return work.num[work.stack] != 0.0


@subroutine(boolean(QUERY, WORK, int64, int64, int64))
def all_pass(query: QueryTables, work: Work, begin: int, end: int, run: int) -> bool:
    """Whether a run passes the tests in a range."""
    shift = run * query.width
    while begin < end and passes(query, work, begin, shift):
        begin += 1
    return begin == end


@subroutine(int64(QUERY, WORK, int64))
def local_bits(query: QueryTables, work: Work, mask: int) -> int:
    """Which of the tests in `mask` the loaded node passes."""
    bits = number = 0
    while mask >> number:
        if (mask >> number) & 1 and passes(query, work, query.first_local + number, 0):
            bits |= 1 << number
        number += 1
    return bits


@subroutine(void(WORK, int64, int64))
def copy_value(work: Work, to: int, at: int) -> None:
    """Copy a value from one place of the file to another."""
    work.kind[to] = work.kind[at]
    work.num[to] = work.num[at]
    work.start[to] = work.start[at]
    work.size[to] = work.size[at]


@subroutine(void(WORK, int64, int64, int64, int64, int64))
def _aggregate(work: Work, operation: int, slot: int, begin: int, end: int, shift: int) -> None:
    """Add what a program computes to the aggregate in a slot; without a program, the node itself is counted."""
    kind, num = work.kind, work.num
    value, known = 1.0, True
    if begin < end:
        run_program(work, begin, end, shift)
        value = num[work.stack]
        known = kind[work.stack] >= 3 or (operation == 6 and kind[work.stack] == 2)
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


@subroutine(void(QUERY, WORK, int64, int64))
def write_slots(query: QueryTables, work: Work, move: int, run: int) -> None:
    """What a move writes into the slots of a new run."""
    kind, num = work.kind, work.num
    shift = run * query.width
    for op in range(query.move_ops[move], query.move_ops[move + 1]):
        operation, argument, second = query.ops[4 * op], query.ops[4 * op + 2], query.ops[4 * op + 3]
        slot = work.base + query.ops[4 * op + 1] + shift
        if operation == 0:  # COPY
            copy_value(work, slot, work.base + argument + shift)
        elif operation == 1:  # CLEAR
            kind[slot] = 0
        elif operation == 5:  # INCREASE
            num[slot] = num[slot] + 1.0 if kind[slot] == 4 else 1.0
            kind[slot] = 4
        elif operation <= 4:  # SET, SET_NEW, SET_FIRST_ROUND
            if operation == 2 or (kind[slot] == 0 and (operation == 3 or num[work.base + second + shift] == 1.0)):
                copy_value(work, slot, argument)
        else:
            _aggregate(work, operation, slot, argument, second, shift)
