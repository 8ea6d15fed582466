"""Levels in the one pass over a document: what a node does to all that has bound nothing yet."""

from __future__ import annotations

from ostinato.core.jit import subroutine
from ostinato.core.jit.types import int64
from ostinato.xseq.kernels.one_pass.layout import (
    MISSING_BITS,
    MISSING_CLASS,
    MISSING_LEVEL,
    NODES,
    QUERY,
    WORK,
    Nodes,
    QueryTables,
    Work,
)
from ostinato.xseq.kernels.one_pass.values import load, local_bits


@subroutine(int64(QUERY, NODES, int64))
def class_of(query: QueryTables, nodes: Nodes, place: int) -> int:
    """The class of a node's name."""
    if nodes.kind[place] != 0:
        return 0
    name = nodes.name[place]
    return query.name_class[name] if name < query.name_class.size else 1


@subroutine(int64(QUERY, WORK, NODES, int64, int64, int64))
def tested_entry(query: QueryTables, work: Work, nodes: Nodes, place: int, level: int, name: int) -> int:
    """The entry of a node whose tests decide; -1 for an entry that is still to be made."""
    entry, bits = query.entry_of[level * query.class_count + name], 0
    if entry != -1:
        group = -2 - entry
        load(query, work, nodes, place)
        bits = local_bits(query, work, query.group_mask[group])
        found = query.group_head[group]
        while found >= 0 and query.chain_bits[found] != bits:
            found = query.chain_next[found]
        entry = query.chain_entry[found] if found >= 0 else -1
    if entry < 0:
        work.state[MISSING_LEVEL], work.state[MISSING_CLASS], work.state[MISSING_BITS] = level, name, bits
    return entry
