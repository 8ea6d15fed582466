"""The order of matches: by their last node, then by the earlier ones; and which matches others continue."""

from __future__ import annotations

from ostinato.core.arrays import Int32, UInt8
from ostinato.core.jit import array, kernel, view
from ostinato.core.jit.types import boolean, int32, int64, uint8, void
from ostinato.xseq.kernels.buffered.chains import enter, place_of
from ostinato.xseq.kernels.buffered.layout import CHAINS, Chains


@kernel(int64(CHAINS, int64, CHAINS, array(int32), boolean, boolean, view(int32)))
def squeeze(chains: Chains, count: int, into: Chains, number: Int32, by_node: bool, by_label: bool, rank: Int32) -> int:
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
            enter(into, place, made, parent, label, node)
            made += 1
        number[chain] = into.table[place]
    return made


@kernel(void(view(int32), view(int32), array(int32), array(int32), array(int32)))
def preorder(first: Int32, order: Int32, cursor: Int32, path: Int32, ranks: Int32) -> None:
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


@kernel(void(CHAINS, view(int32), array(int32)))
def ends(chains: Chains, accepted: Int32, out: Int32) -> None:
    """For each match the chain of its last binding; 0 where nothing is bound."""
    for row in range(accepted.size):
        chain = accepted[row]
        while chain > 0 and chains.node[chain] < 0:
            chain = chains.parent[chain]
        out[row] = chain


@kernel(void(CHAINS, view(int32), view(int32), array(uint8)))
def mark_prefixes(into: Chains, number: Int32, accepted: Int32, out: UInt8) -> None:
    """Mark every sequence that is a proper prefix of a match."""
    for row in range(accepted.size):
        at = number[accepted[row]]
        while at > 0:
            at = into.parent[at]
            if out[at]:
                break
            out[at] = 1


@kernel(void(CHAINS, view(int32), view(int32), array(int32)))
def first_keyed(chains: Chains, key: Int32, accepted: Int32, out: Int32) -> None:
    """The key of the first node of each match that has one (-2: none has)."""
    for row in range(accepted.size):
        chain = accepted[row]
        out[row] = -2
        while chain > 0:
            node = chains.node[chain]
            if node >= 0 and key[node] != -2:
                out[row] = key[node]
            chain = chains.parent[chain]
