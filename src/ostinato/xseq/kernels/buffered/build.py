"""A tree in flat arrays out of tokens, and ways through it."""

from __future__ import annotations

from ostinato.core.arrays import Int32, UInt8
from ostinato.core.jit import array, kernel, subroutine, types, view
from ostinato.core.jit.types import boolean, int32, int64, uint8, void
from ostinato.xseq.kernels.buffered.layout import TREE, Tree

_TWO = types.results(int64, int64)


@kernel(_TWO(view(uint8)))
def count_nodes(kind: UInt8) -> tuple[int, int]:
    """(nodes with the one above, greatest depth)."""
    nodes, depth, deepest = 1, 0, 0
    for token in range(kind.size):
        if kind[token] == 3:
            depth -= 1
        else:
            nodes += 1
            if kind[token] == 0:
                depth += 1
                if depth > deepest:
                    deepest = depth
    return nodes, deepest


@kernel(void(view(uint8), view(int32), TREE, array(int32), array(int32)))
def build(kind: UInt8, name: Int32, tree: Tree, path: Int32, latest: Int32) -> None:
    """Fill the tree; `path` and `latest` have room for the open elements and the last child element of each."""
    depth = 0
    path[0] = 0
    latest[0] = -1
    tree.kind[0] = 0
    tree.name[0] = -1
    tree.parent[0] = -1
    tree.next[0] = -1
    tree.prev[0] = -1
    tree.token[0] = -1
    tree.close[0] = -1
    node = 1
    for token in range(kind.size):
        what = kind[token]
        if what == 3:
            opened = path[depth]
            tree.end[opened] = node
            tree.close[opened] = token
            depth -= 1
            continue
        tree.name[node] = name[token]
        tree.parent[node] = path[depth]
        tree.token[node] = token
        tree.close[node] = token
        tree.next[node] = -1
        tree.prev[node] = -1
        tree.end[node] = node + 1
        if what == 0:
            tree.kind[node] = 1
            before = latest[depth]
            tree.prev[node] = before
            if before >= 0:
                tree.next[before] = node
            latest[depth] = node
            depth += 1
            path[depth] = node
            latest[depth] = -1
        else:
            tree.kind[node] = 2 if what == 1 else 3
        node += 1
    tree.end[0] = node


@subroutine(int64(TREE, int64, int64, int64))
def _first_of_kind(tree: Tree, at: int, end: int, element: int) -> int:
    """The first node from `at` on that is no attribute, or that is an element; -1 if there is none before `end`."""
    while at < end and (tree.kind[at] == 2 or (element and tree.kind[at] == 3)):
        at += 1
    return at if at < end else -1


@subroutine(int64(TREE, int64, int64, int64))
def advance(tree: Tree, axis: int, node: int, at: int) -> int:
    """The next node along an axis after `at` (-2: the first one), -1 at the end. Axes are numbered as in `Axis`."""
    here = node if at < 0 else at
    if axis == 1:  # child
        if at < 0:
            return _first_of_kind(tree, node + 1, tree.end[node], 0)
        return tree.end[at] if tree.end[at] < tree.end[node] else -1
    if axis == 3:  # descendant
        return _first_of_kind(tree, here + 1, tree.end[node], 0)
    if axis == 5:  # attribute
        found = here + 1
        return found if tree.kind[node] == 1 and found < tree.end[node] and tree.kind[found] == 2 else -1
    if axis == 4:  # ancestor
        return tree.parent[here]
    if axis == 6:  # following sibling
        return tree.next[here]
    if axis == 7:  # preceding sibling
        return tree.prev[here]
    if at != -2:
        return -1
    if axis == 0:  # self
        return node
    if axis == 2:  # parent
        return tree.parent[node]
    if axis == 9:  # immediate following sibling
        return tree.next[node]
    return _first_of_kind(tree, node + 1, tree.end[node], 1)  # first child


@subroutine(boolean(TREE, int64, int64, int64, int64))
def passes(tree: Tree, axis: int, test: int, name: int, node: int) -> bool:
    """Whether a node passes the test of a step. Tests: 0 name, 1 any, 2 node(), 3 text()."""
    kind = tree.kind[node]
    if axis == 5:
        return test == 1 or test == 2 or (test == 0 and tree.name[node] == name)
    if test == 0:
        return kind == 1 and tree.name[node] == name
    if test == 1:
        return kind == 1
    if test == 2:
        return axis == 0 or kind == 1 or kind == 3
    return kind == 3
