"""Partitions in the one pass over a document: keys as small numbers, and the runs that wait per frame and key."""

from __future__ import annotations

import numpy as np

from ostinato.core.jit import subroutine
from ostinato.core.jit.types import int64
from ostinato.xseq.kernels.one_pass.layout import CELLS, KEY_BYTES, KEYS, NODES, QUERY, WORK, Nodes, QueryTables, Work


@subroutine(int64(QUERY, WORK, NODES))
def key_of(query: QueryTables, work: Work, nodes: Nodes) -> int:
    """The number of the loaded element's key; 0 is the key of those that lack the attribute."""
    token = work.attribute_token[query.key_attribute]
    if token < 0:
        return 0
    low, size = nodes.start[token], nodes.end[token] - nodes.start[token]
    value = np.int64(2166136261)
    for at in range(size):
        value = ((value ^ np.int64(work.buffer[low + at])) * 16777619) & 0xFFFFFFFF
    value ^= value >> 15
    mask = work.key_table.size - 1
    slot = value & mask
    key = work.key_table[slot]
    while key >= 0:
        begin = work.key_start[key]
        same = work.key_hash[key] == value and work.key_start[key + 1] - begin == size
        at = 0
        while same and at < size:
            same = work.key_bytes[begin + at] == work.buffer[low + at]
            at += 1
        if same:
            return key
        slot = (slot + 1) & mask
        key = work.key_table[slot]
    key = work.state[KEYS]
    work.state[KEYS] += 1
    work.key_table[slot] = key
    work.key_hash[key] = value
    begin = work.state[KEY_BYTES]
    for at in range(size):
        work.key_bytes[begin + at] = work.buffer[low + at]
    work.state[KEY_BYTES] = begin + size
    work.key_start[key + 1] = begin + size
    return key


@subroutine(int64(WORK, int64, int64))
def cell_of(work: Work, depth: int, key: int) -> int:
    """The cell that has the runs of a key in the frame at `depth`."""
    mask = work.cell_table.size - 1
    slot = (np.int64(key) * 0x9E3779B1 + depth * 0x85EBCA77) & mask
    cell = work.cell_table[slot]
    while cell >= 0 and (work.cell_depth[cell] != depth or work.cell_key[cell] != key):
        slot = (slot + 1) & mask
        cell = work.cell_table[slot]
    if cell < 0:
        cell = work.state[CELLS]
        work.state[CELLS] += 1
        work.cell_table[slot] = cell
        work.cell_depth[cell], work.cell_key[cell] = depth, key
        work.cell_beside[cell], work.cell_next_run[cell], work.cell_next[cell] = -1, -1, -2
    if work.cell_next[cell] == -2:
        work.cell_next[cell] = work.first_cell[depth]
        work.first_cell[depth] = cell
    return cell


@subroutine(int64(WORK, int64))
def release_cell(work: Work, cell: int) -> int:
    """Give back a cell in which no run waits any more; the next cell of its frame, or -1."""
    after = work.cell_next[cell]
    work.cell_beside[cell], work.cell_next_run[cell], work.cell_next[cell] = -1, -1, -2
    return after
