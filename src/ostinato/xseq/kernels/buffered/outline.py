"""Where in a stream of tokens the subtrees begin and end that are evaluated on their own.

An outline is a small automaton over names on the way down: bit 0 is the document node, a move leads from one bit to
another, to a child, a descendant or the first child of a name. Subtrees whose top has the bit `top` are wanted, the
outermost ones.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.core.jit import inlined, kernel

DEPTH, INSIDE, REGIONS, ENDED, BEGUN = 0, 1, 2, 3, 4  # places in the state; depth of the wanted subtree, -1: in none


class Outline(NamedTuple):
    axis: NDArray[np.int32]  # as `Axis` is numbered
    source: NDArray[np.int64]  # bits
    target: NDArray[np.int64]
    name: NDArray[np.int32]  # -1: any
    top: int  # a bit


class Stack(NamedTuple):
    """The open elements outside of wanted subtrees: their bits, those of all above them too, and children so far."""

    here: NDArray[np.int64]
    above: NDArray[np.int64]
    children: NDArray[np.int32]


@inlined
def stepped(outline: Any, here: Any, above: Any, first: Any, name: Any) -> Any:
    """The bits of a child."""
    bits = np.int64(0)
    for move in range(outline.axis.size):
        if outline.name[move] == -1 or outline.name[move] == name:
            axis = outline.axis[move]
            held = above if axis == 3 else here
            if held & outline.source[move] and (axis != 8 or first):
                bits |= outline.target[move]
    return bits


@kernel()
def find(kind: Any, name: Any, outline: Any, stack: Any, st: Any, wanted: Any, tops: Any, uppers: Any) -> Any:
    """Mark the tokens of subtrees that begin and end here; tops and uppers get the bits of each and of those above.

    st[ENDED] becomes the number of tokens of a subtree that was begun before and ends here, -1 if none does;
    st[BEGUN] the first token of one that does not end here.
    """
    st[3], st[4] = -1, -1
    begun = -1
    regions = 0
    depth = st[0]
    for token in range(kind.size):
        what = kind[token]
        if what == 3:
            depth -= 1
            if depth == st[1]:
                st[1] = -1
                if begun < 0:
                    st[3] = token + 1
                else:
                    for place in range(begun, token + 1):
                        wanted[place] = 1
                    begun = -1
        elif what == 0:
            if st[1] < 0:
                bits = stepped(
                    outline, stack.here[depth], stack.above[depth], stack.children[depth] == 0, name[token]
                )  # fmt: skip
                stack.children[depth] += 1
                if bits & outline.top:
                    st[1] = depth
                    begun = token
                    tops[regions] = bits
                    uppers[regions] = stack.above[depth]
                    regions += 1
                else:
                    stack.here[depth + 1] = bits
                    stack.above[depth + 1] = stack.above[depth] | bits
                    stack.children[depth + 1] = 0
            depth += 1
    st[0] = depth
    st[2] = regions
    st[4] = begun


@kernel()
def outlined(tree: Any, outline: Any, tops: Any, uppers: Any, here: Any, above: Any) -> Any:
    """The bits of every element of a tree whose tops stand under node 0."""
    region = 0
    for node in range(1, tree.kind.size):
        here[node] = 0
        if tree.kind[node] != 1:
            continue
        parent = tree.parent[node]
        if parent == 0:
            here[node] = tops[region]
            above[node] = uppers[region] | here[node]
            region += 1
        else:
            here[node] = stepped(outline, here[parent], above[parent], tree.prev[node] < 0, tree.name[node])
            above[node] = above[parent] | here[node]
