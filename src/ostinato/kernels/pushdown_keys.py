"""Partitions in the one pass over a document: keys as small numbers, and the runs that wait per frame and key."""

from __future__ import annotations

from typing import Any

from numba import types

from ostinato.kernels.jit import kernel
from ostinato.kernels.pushdown_layout import CELLS, KEY, KEY_BYTES, KEYS, NODES_OF_CHUNK, QUERY, WORK, numbers
from ostinato.kernels.pushdown_runs import drop_list
from ostinato.kernels.pushdown_values import load


@kernel(numbers(types.int64, QUERY, WORK, NODES_OF_CHUNK, count=1))
def key_of(query: Any, work: Any, nodes: Any, place: Any) -> Any:
    """The number of an element's key; 0 is the key of those that lack the attribute."""
    load(query, work, nodes, place)
    token = work.attribute_token[query.layout[KEY]]
    if token < 0:
        return 0
    low, high = nodes.start[token], nodes.end[token]
    value = 1469598103934665603
    for at in range(low, high):
        value = ((value ^ nodes.buffer[at]) * 1099511628211) & 0x7FFFFFFFFFFFFFFF
    value ^= value >> 29
    mask = work.key_table.size - 1
    slot = value & mask
    while True:
        found = work.key_table[slot]
        if found < 0:
            break
        if work.key_hash[found] == value:
            begin = work.key_start[found]
            if work.key_start[found + 1] - begin == high - low:
                same = True
                for at in range(high - low):
                    if work.key_bytes[begin + at] != nodes.buffer[low + at]:
                        same = False
                        break
                if same:
                    return found
        slot = (slot + 1) & mask
    key = work.state[KEYS]
    work.state[KEYS] += 1
    work.key_table[slot] = key
    work.key_hash[key] = value
    begin = work.state[KEY_BYTES]
    for at in range(high - low):
        work.key_bytes[begin + at] = nodes.buffer[low + at]
    work.state[KEY_BYTES] = begin + high - low
    work.key_start[key + 1] = begin + high - low
    return key


@kernel(numbers(types.int64, WORK, count=2))
def cell_of(work: Any, depth: Any, key: Any) -> Any:
    """The cell that holds the runs of a key in the frame at `depth`."""
    mask = work.cell_table.size - 1
    slot = (key * 0x9E3779B1 + depth * 0x85EBCA77) & mask
    while True:
        cell = work.cell_table[slot]
        if cell < 0:
            cell = work.state[CELLS]
            work.state[CELLS] += 1
            work.cell_table[slot] = cell
            work.cell_depth[cell], work.cell_key[cell] = depth, key
            work.cell_beside[cell], work.cell_next_run[cell], work.cell_next[cell] = -1, -1, -2
        if work.cell_depth[cell] == depth and work.cell_key[cell] == key:
            if work.cell_next[cell] == -2:
                work.cell_next[cell] = work.cells[depth]
                work.cells[depth] = cell
            return cell
        slot = (slot + 1) & mask


@kernel(numbers(types.void, WORK, count=1))
def drop_cells(work: Any, depth: Any) -> Any:
    """Drop every run that waits per key in the frame at `depth`."""
    cell = work.cells[depth]
    while cell >= 0:
        drop_list(work, work.cell_beside[cell])
        drop_list(work, work.cell_next_run[cell])
        work.cell_beside[cell], work.cell_next_run[cell] = -1, -1
        after = work.cell_next[cell]
        work.cell_next[cell] = -2
        cell = after
    work.cells[depth] = -1
