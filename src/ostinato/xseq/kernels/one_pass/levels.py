"""Levels in the one pass over a document: what a node does to all that has bound nothing yet."""

from __future__ import annotations

from typing import Any

from ostinato.core.jit import inlined
from ostinato.xseq.kernels.one_pass.layout import MISSING_BITS, MISSING_CLASS, MISSING_LEVEL
from ostinato.xseq.kernels.one_pass.values import load, local_bits


@inlined
def entry_at(query: Any, work: Any, nodes: Any, place: Any, level: Any) -> Any:
    """The class of a node's name and its entry on a level; -1 for an entry that is still to be made."""
    name = 0
    if nodes.kind[place] == 0:
        name = query.name_class[nodes.name[place]] if nodes.name[place] < query.name_class.size else 1
    entry = query.entry_of[level * query.classes[0] + name]
    if entry < 0:
        bits = 0
        if entry != -1:
            group = -2 - entry
            load(query, work, nodes, place)
            bits = local_bits(query, work, nodes, query.group_mask[group])
            found = query.group_head[group]
            while found >= 0 and query.chain_bits[found] != bits:
                found = query.chain_next[found]
            entry = query.chain_entry[found] if found >= 0 else -1
        if entry < 0:
            work.state[MISSING_LEVEL], work.state[MISSING_CLASS], work.state[MISSING_BITS] = level, name, bits
    return name, entry
