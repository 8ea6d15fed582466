"""Offers: the moves by which a node may take on the runs that wait for it. A move that passes its tests is made."""

from __future__ import annotations

from ostinato.core.jit import subroutine, types
from ostinato.core.jit.types import boolean, int64
from ostinato.xseq.kernels.one_pass.layout import (
    ATTRIBUTE,
    BELOW,
    BESIDE,
    CHILD,
    DESCENDANT_RUNS,
    FIRST,
    LOADED,
    NEXT,
    NODES,
    QUERY,
    ROLE_COUNT,
    SELF,
    STEPS,
    WORK,
    Nodes,
    QueryTables,
    Work,
)
from ostinato.xseq.kernels.one_pass.values import all_pass, load, local_bits

_TWO = types.results(int64, int64)


@subroutine(int64(WORK, int64, int64, int64, int64))
def _put(work: Work, count: int, run: int, move: int, place: int) -> int:
    """Put down an offer behind `count` others; how many there are then."""
    work.offers[3 * count], work.offers[3 * count + 1], work.offers[3 * count + 2] = run, move, place
    return count + 1


@subroutine(int64(QUERY, WORK, int64, int64, int64, int64, int64))
def _offer(query: QueryTables, work: Work, run: int, role: int, place: int, name: int, count: int) -> int:
    """Put down the moves that a run can make along one axis to a node of class `name`; how many there are then."""
    at = work.run_state[run] * ROLE_COUNT + role
    for index in range(query.out_range[at], query.out_range[at + 1]):
        move = query.out_move[index]
        wants = query.wants[move]
        if wants == name or (wants == -1 and name != 0) or wants == -2:
            count = _put(work, count, run, move, place)
    return count


@subroutine(int64(QUERY, WORK, int64, int64, int64, int64, int64))
def _offer_list(query: QueryTables, work: Work, head: int, role: int, place: int, name: int, count: int) -> int:
    steps = 0
    while head >= 0:
        count = _offer(query, work, work.link_run[head], role, place, name, count)
        head = work.link_next[head]
        steps += 1
    work.state[STEPS] -= steps
    return count


@subroutine(int64(QUERY, WORK, NODES, int64, int64, int64, int64))
def _offer_attributes(query: QueryTables, work: Work, nodes: Nodes, run: int, move: int, place: int, count: int) -> int:
    """Put down a move to every attribute of an element that it wants."""
    wants, here = query.wants[move], place + 1
    while here < nodes.kind.size and nodes.kind[here] == 1:
        if wants == -1 or wants == nodes.name[here]:
            count = _put(work, count, run, move, here)
        here += 1
    return count


@subroutine(int64(QUERY, WORK, NODES, int64, int64, int64, int64))
def offer_onwards(query: QueryTables, work: Work, nodes: Nodes, run: int, place: int, name: int, count: int) -> int:
    """Put down the moves of a run that has come to an element to itself and to its attributes."""
    count = _offer(query, work, run, SELF, place, name, count)
    out = work.run_state[run] * ROLE_COUNT + ATTRIBUTE
    for index in range(query.out_range[out], query.out_range[out + 1]):
        count = _offer_attributes(query, work, nodes, run, query.out_move[index], place, count)
    return count


@subroutine(_TWO(QUERY, WORK, NODES, int64, int64, int64, int64, int64))
def offer_node(
    query: QueryTables, work: Work, nodes: Nodes, place: int, name: int, entry: int, depth: int, cell: int
) -> tuple[int, int]:
    """Put down what a node offers to the runs that wait for it, those that begin there first: how many offers there
    are, and from which on they are to runs that waited for the next sibling only."""
    count = 0
    for index in range(query.spawn_range[2 * entry], query.spawn_range[2 * entry + 1]):
        count = _put(work, count, 0, query.move_list[index], place)
    for at in range(work.state[DESCENDANT_RUNS]):
        count = _offer(query, work, work.descendant_runs[at], BELOW, place, name, count)
    frame = depth * ROLE_COUNT
    count = _offer_list(query, work, work.waiting[frame + CHILD], CHILD, place, name, count)
    follows = count
    if nodes.kind[place] == 0:
        beside, following = work.waiting[frame + BESIDE], work.waiting[frame + NEXT]
        if cell >= 0:
            beside, following = work.cell_beside[cell], work.cell_next_run[cell]
        if not work.had_child[depth]:
            count = _offer_list(query, work, work.waiting[frame + FIRST], FIRST, place, name, count)
        count = _offer_list(query, work, beside, BESIDE, place, name, count)
        follows = count
        count = _offer_list(query, work, following, NEXT, place, name, count)
    for index in range(query.attribute_range[2 * entry], query.attribute_range[2 * entry + 1]):
        count = _offer_attributes(query, work, nodes, 0, query.move_list[index], place, count)
    work.state[STEPS] -= work.state[DESCENDANT_RUNS] + 4 * count  # a move that is made costs about so much more
    return count, follows


@subroutine(boolean(QUERY, WORK, NODES, int64, boolean))
def passes_tests(query: QueryTables, work: Work, nodes: Nodes, offer: int, known: bool) -> bool:
    """Whether an offer passes the tests that can be made before its move; it is `known` that the node's own hold."""
    run, move, node = work.offers[3 * offer], work.offers[3 * offer + 1], work.offers[3 * offer + 2]
    if work.state[LOADED] != node:
        load(query, work, nodes, node)
    mask = query.local_mask[move]
    if not known and mask and local_bits(query, work, mask) != mask:
        return False
    return all_pass(query, work, query.tests_before[2 * move], query.tests_before[2 * move + 1], run)
