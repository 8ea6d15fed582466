"""A tree in flat arrays out of tokens: one row per element, attribute and text, in document order.

Node 0 stands above the first element. The nodes of a subtree are node … end[node] - 1; an element's attributes come
directly after it, then its children, so that no list of children is needed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.core.jit import inlined, kernel

DOCUMENT, ELEMENT, ATTRIBUTE, TEXT = 0, 1, 2, 3  # kinds of nodes


class Tree(NamedTuple):
    kind: NDArray[np.uint8]
    name: NDArray[np.int32]
    parent: NDArray[np.int32]
    end: NDArray[np.int32]  # just after the last node of the subtree
    next: NDArray[np.int32]  # the next sibling element (of the same key), -1: none
    prev: NDArray[np.int32]
    token: NDArray[np.int32]
    close: NDArray[np.int32]  # the token that ends an element
    start: NDArray[np.int32]  # of the tokens: where they stand in the buffer, below zero in what is held
    stop: NDArray[np.int32]  # of the tokens: start and their size


class Bytes(NamedTuple):
    buffer: NDArray[np.uint8]
    held: NDArray[np.uint8]


@kernel()
def count_nodes(kind: Any) -> Any:
    """(nodes with the one above, greatest depth)."""
    nodes, depth, deepest = 1, 0, 0
    for token in range(kind.size):
        if kind[token] == 3:
            depth -= 1
        else:
            nodes += 1
            if kind[token] == 0:
                depth += 1
                deepest = max(deepest, depth)
    return nodes, deepest


@kernel()
def build(kind: Any, name: Any, tree: Any, path: Any, latest: Any) -> Any:
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


@inlined
def advance(tree: Any, axis: Any, node: Any, at: Any) -> Any:
    """The next node along an axis after `at` (-2: the first one), -1 at the end. Axes are numbered as in `Axis`."""
    found = -1
    if axis == 1:  # child
        found = node + 1 if at < 0 else tree.end[at]
        if at < 0:
            while found < tree.end[node] and tree.kind[found] == 2 and tree.parent[found] == node:
                found += 1
        if found >= tree.end[node]:
            found = -1
    elif axis == 3:  # descendant
        found = node + 1 if at < 0 else at + 1
        while found < tree.end[node] and tree.kind[found] == 2:
            found += 1
        if found >= tree.end[node]:
            found = -1
    elif axis == 5:  # attribute
        if tree.kind[node] == 1:
            found = node + 1 if at < 0 else at + 1
            if found >= tree.end[node] or tree.kind[found] != 2:
                found = -1
    elif axis == 4:  # ancestor
        found = tree.parent[node] if at < 0 else tree.parent[at]
    elif axis == 6:  # following sibling
        found = tree.next[node] if at < 0 else tree.next[at]
    elif axis == 7:  # preceding sibling
        found = tree.prev[node] if at < 0 else tree.prev[at]
    elif at == -2:
        if axis == 0:  # self
            found = node
        elif axis == 2:  # parent
            found = tree.parent[node]
        elif axis == 9:  # immediate following sibling
            found = tree.next[node]
        elif axis == 8:  # first child
            found = node + 1
            while found < tree.end[node] and tree.kind[found] != 1:
                found += 1
            if found >= tree.end[node]:
                found = -1
    return found


@inlined
def passes(tree: Any, axis: Any, test: Any, name: Any, node: Any) -> Any:
    """Whether a node passes the test of a step. Tests: 0 name, 1 any, 2 node(), 3 text()."""
    kind = tree.kind[node]
    result = False
    if axis == 5:
        result = test == 1 or test == 2 or (test == 0 and tree.name[node] == name)
    elif test == 0:
        result = kind == 1 and tree.name[node] == name
    elif test == 1:
        result = kind == 1
    elif test == 2:
        result = axis == 0 or kind == 1 or kind == 3
    else:
        result = kind == 3
    return result
