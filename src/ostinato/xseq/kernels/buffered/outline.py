"""Where in a stream of tokens the subtrees begin and end that are evaluated on their own.

An outline is a small automaton over names on the way down: bit 0 is the document node, a move leads from one bit to
another, to a child, a descendant or the first child of a name. Subtrees whose top has the bit `top` are wanted, the
outermost ones.
"""

from __future__ import annotations

import numpy as np

from ostinato.core.arrays import Int32, Int64, UInt8
from ostinato.core.jit import array, kernel, subroutine, view
from ostinato.core.jit.array_struct import ArrayStruct, Field
from ostinato.core.jit.types import boolean, int32, int64, struct_type, uint8, void
from ostinato.xseq.kernels.buffered.layout import TREE, Tree

DEPTH, INSIDE, REGIONS, ENDED, STARTED = 0, 1, 2, 3, 4  # places in the state; depth of the wanted subtree, -1: in none


class Outline(ArrayStruct):
    """The moves, and the open elements outside of wanted subtrees."""

    axis = Field[Int32](np.int32, 1, "per move: its axis, as `Axis` is numbered", constant=True)
    source = Field[Int64](np.int64, 1, "per move: the bit it leads from", constant=True)
    target = Field[Int64](np.int64, 1, "per move: the bit it leads to", constant=True)
    name = Field[Int32](np.int32, 1, "per move: the name of the element, -1: any", constant=True)
    top = Field[int](np.int64, 0, "the bit of wanted subtrees")
    state = Field[Int64](np.int64, 1, "numbers by their places")
    here = Field[Int64](np.int64, 1, "per open element: its bits")
    above = Field[Int64](np.int64, 1, "per open element: its bits and those of all above it")
    children = Field[Int32](np.int32, 1, "per open element: how many children it has had")


OUTLINE = struct_type(Outline)


@subroutine(int64(OUTLINE, int64, int64, boolean, int64))
def _step(outline: Outline, here: int, above: int, first: bool, name: int) -> int:
    """The bits of a child."""
    bits = 0
    for move in range(outline.axis.size):
        if outline.name[move] == -1 or outline.name[move] == name:
            axis = outline.axis[move]
            from_bits = above if axis == 3 else here
            if from_bits & outline.source[move] and (axis != 8 or first):
                bits |= outline.target[move]
    return bits


@kernel(void(OUTLINE, view(uint8), view(int32), array(uint8), array(int64), array(int64)))
def find(outline: Outline, kind: UInt8, name: Int32, wanted: UInt8, tops: Int64, uppers: Int64) -> None:
    """Mark the tokens of subtrees that begin and end here; tops and uppers get the bits of each and of those above.

    state[ENDED] becomes the number of tokens of a subtree that was started before and ends here, -1 if none does;
    state[STARTED] the first token of one that does not end here.
    """
    state, here, above, children = outline.state, outline.here, outline.above, outline.children
    state[ENDED] = -1
    started, regions, depth = -1, 0, state[DEPTH]
    for token in range(kind.size):
        what = kind[token]
        if what == 3:
            depth -= 1
            if depth == state[INSIDE]:
                state[INSIDE] = -1
                if started < 0:
                    state[ENDED] = token + 1
                else:
                    for place in range(started, token + 1):
                        wanted[place] = 1
                    started = -1
        elif what == 0:
            if state[INSIDE] < 0:
                bits = _step(outline, here[depth], above[depth], children[depth] == 0, name[token])
                children[depth] += 1
                if bits & outline.top:
                    state[INSIDE] = depth
                    started = token
                    tops[regions] = bits
                    uppers[regions] = above[depth]
                    regions += 1
                else:
                    here[depth + 1] = bits
                    above[depth + 1] = above[depth] | bits
                    children[depth + 1] = 0
            depth += 1
    state[DEPTH] = depth
    state[REGIONS] = regions
    state[STARTED] = started


@kernel(void(TREE, OUTLINE, view(int64), view(int64), array(int64), array(int64)))
def outline_tree(tree: Tree, outline: Outline, tops: Int64, uppers: Int64, here: Int64, above: Int64) -> None:
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
            here[node] = _step(outline, here[parent], above[parent], tree.prev[node] < 0, tree.name[node])
            above[node] = above[parent] | here[node]
