"""Partitions in the one pass over a document: keys as small numbers, and the runs that wait per frame and key."""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.jit import inlined
from ostinato.xseq.kernels.one_pass.layout import CELLS, KEY, KEY_BYTES, KEYS
from ostinato.xseq.kernels.one_pass.runs import drop_list


@inlined
def key_of(query: Any, work: Any, nodes: Any) -> Any:
    """The number of the loaded element's key; 0 is the key of those that lack the attribute."""
    token = work.attribute_token[query.layout[KEY]]
    key = 0
    if token >= 0:
        low, high = nodes.start[token], nodes.end[token]
        value = np.int64(2166136261)
        for at in range(low, high):
            value = ((value ^ np.int64(nodes.buffer[at])) * 16777619) & 0xFFFFFFFF
        value ^= value >> 15
        mask = work.key_table.size - 1
        slot = value & mask
        key = work.key_table[slot]
        while key >= 0:
            begin = work.key_start[key]
            same = work.key_hash[key] == value and work.key_start[key + 1] - begin == high - low
            at = 0
            while same and at < high - low:
                same = work.key_bytes[begin + at] == nodes.buffer[low + at]
                at += 1
            if same:
                break
            slot = (slot + 1) & mask
            key = work.key_table[slot]
        if key < 0:
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


@inlined
def cell_of(work: Any, depth: Any, key: Any) -> Any:
    """The cell that holds the runs of a key in the frame at `depth`."""
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
        work.cell_next[cell] = work.cells[depth]
        work.cells[depth] = cell
    return cell


@inlined
def drop_cells(work: Any, depth: Any) -> None:
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
