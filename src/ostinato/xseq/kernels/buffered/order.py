"""The order of matches: by their last node, then by the earlier ones; and which matches others continue."""

from __future__ import annotations

from typing import Any

from ostinato.core.jit import kernel
from ostinato.xseq.kernels.buffered.chains import place_of


@kernel()
def squeeze(chains: Any, count: Any, into: Any, number: Any, by_node: Any, by_label: Any, rank: Any) -> Any:
    """Chains as sequences of bindings, without rounds; and, if asked, of nodes only or of variables only.

    number[chain] is the sequence's number among `into`; how many there are is returned. `rank` orders variables.
    """
    made = 1
    number[0] = 0
    for chain in range(1, count):
        parent = number[chains.parent[chain]]
        if chains.node[chain] < 0:
            number[chain] = parent
            continue
        label = rank[chains.label[chain]] if by_label else 0
        node = chains.node[chain] if by_node else 0
        place = place_of(into, parent, label, node)
        if into.table[place] < 0:
            into.table[place] = made
            into.parent[made], into.label[made], into.node[made] = parent, label, node
            made += 1
        number[chain] = into.table[place]
    return made


@kernel()
def preorder(first: Any, order: Any, cursor: Any, path: Any, ranks: Any) -> Any:
    """Number sequences so that a prefix comes first and others go by their first difference.

    order[first[p]:first[p + 1]] are those that continue p by one, in order.
    """
    depth = 0
    path[0] = 0
    ranks[0] = 0
    cursor[0] = first[0]
    rank = 1
    while depth >= 0:
        here = path[depth]
        if cursor[here] == first[here + 1]:
            depth -= 1
            continue
        child = order[cursor[here]]
        cursor[here] += 1
        ranks[child] = rank
        rank += 1
        cursor[child] = first[child]
        depth += 1
        path[depth] = child


@kernel()
def ends(chains: Any, accepted: Any, out: Any) -> Any:
    """For each match the chain of its last binding; 0 where nothing is bound."""
    for row in range(accepted.size):
        chain = accepted[row]
        while chain > 0 and chains.node[chain] < 0:
            chain = chains.parent[chain]
        out[row] = chain


@kernel()
def continued(into: Any, number: Any, accepted: Any, out: Any) -> Any:
    """Mark every sequence that is a proper prefix of a match."""
    for row in range(accepted.size):
        at = number[accepted[row]]
        while at > 0:
            at = into.parent[at]
            if out[at]:
                break
            out[at] = 1


@kernel()
def first_keyed(chains: Any, key: Any, accepted: Any, out: Any) -> Any:
    """The key of the first node of each match that has one (-2: none has)."""
    for row in range(accepted.size):
        chain = accepted[row]
        out[row] = -2
        while chain > 0:
            node = chains.node[chain]
            if node >= 0 and key[node] != -2:
                out[row] = key[node]
            chain = chains.parent[chain]
