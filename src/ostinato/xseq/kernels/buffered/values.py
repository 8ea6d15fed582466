"""Values of the nodes of a tree: attributes, texts, names, all the text of an element; and many as one column."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.core.jit import inlined, kernel
from ostinato.xseq.kernels.buffered.build import advance
from ostinato.xseq.kernels.values import read_number

MOST_STEPS = 32  # of a reference like $X/a/b/text()


class Values(NamedTuple):
    """A file of values (see values.py); `origin` is the node that a value is, where it is one as a whole."""

    kind: NDArray[np.uint8]
    num: NDArray[np.float64]
    start: NDArray[np.int32]
    size: NDArray[np.int32]
    origin: NDArray[np.int32]


class Sources(NamedTuple):
    """What may be asked of a node. leaf: 0 attribute, 1 text, 2 tag, 3 the node itself."""

    leaf: NDArray[np.int32]
    name: NDArray[np.int32]
    read: NDArray[np.uint8]  # whether the text of a node matters, or only which one it is
    steps: NDArray[np.int32]  # where the steps of each begin; one more at the end
    axis: NDArray[np.int32]
    test: NDArray[np.int32]
    names_at: NDArray[np.int32]  # where in what is held the names stand; one more at the end
    cursor: NDArray[np.int32]  # room for a node per step, twice


@kernel()
def reached(tree: Any, sources: Any, source: Any, node: Any) -> Any:
    """The first node in document order that the steps of a source lead to, -1 if there is none."""
    begin, end = sources.steps[source], sources.steps[source + 1]
    if begin == end:
        return node
    cursor = sources.cursor
    best = -1
    depth = 0
    cursor[0] = node
    cursor[32] = -2
    while depth >= 0:
        if depth == end - begin:
            if best < 0 or cursor[depth] < best:
                best = cursor[depth]
            depth -= 1
            continue
        at = advance(tree, sources.axis[begin + depth], cursor[depth], cursor[32 + depth])
        cursor[32 + depth] = at
        if at < 0:
            depth -= 1
        elif tree.kind[at] == 1 and tree.name[at] == sources.test[begin + depth]:
            depth += 1
            cursor[depth] = at
            if depth < 32:
                cursor[32 + depth] = -2
    return best


@kernel()
def load_any(tree: Any, data: Any, sources: Any, source: Any, origin: Any, values: Any, place: Any, free: Any) -> Any:
    """`load` for sources of any kind."""
    node = reached(tree, sources, source, origin)
    values.kind[place] = 1
    values.origin[place] = -1
    leaf = sources.leaf[source]
    if node < 0:
        return True
    token = -1
    if leaf == 0:
        at = advance(tree, 5, node, -2)
        while at >= 0:
            if tree.name[at] == sources.name[source]:
                token = tree.token[at]
                break
            at = advance(tree, 5, node, at)
        if token < 0:
            return True
    elif leaf == 1:
        at = advance(tree, 1, node, -2)
        while at >= 0:
            if tree.kind[at] == 3:
                token = tree.token[at]
                break
            at = advance(tree, 1, node, at)
        if token < 0:
            return True
    elif leaf == 2:
        name = tree.name[node]
        values.kind[place] = 2
        values.start[place] = 0
        values.size[place] = 0
        if name >= 0:
            values.start[place] = -1 - sources.names_at[name]
            values.size[place] = sources.names_at[name + 1] - sources.names_at[name]
    else:
        values.origin[place] = node
        values.kind[place] = 2
        values.start[place] = 0
        values.size[place] = 0
        if sources.read[source] == 0:
            return True
        if tree.kind[node] >= 2:
            token = tree.token[node]
        else:
            texts, size = 0, 0
            for below in range(node + 1, tree.end[node]):
                if tree.kind[below] == 3:
                    texts += 1
                    token = tree.token[below]
                    size += tree.stop[token] - tree.start[token]
            if texts > 1:
                token = -1
                if free[0] + size > data.held.size:
                    return False
                values.start[place] = -1 - free[0]
                values.size[place] = size
                for below in range(node + 1, tree.end[node]):
                    if tree.kind[below] == 3:
                        part = tree.token[below]
                        start, length = tree.start[part], tree.stop[part] - tree.start[part]
                        for byte in range(length):
                            data.held[free[0] + byte] = (
                                data.buffer[start + byte] if start >= 0 else data.held[-1 - start + byte]
                            )
                        free[0] += length
    if token >= 0:
        values.kind[place] = 2
        values.start[place] = tree.start[token]
        values.size[place] = tree.stop[token] - tree.start[token]
    start, size = values.start[place], values.size[place]
    if start >= 0:
        known, number = read_number(data.buffer, start, start + size)
    else:
        known, number = read_number(data.held, -1 - start, -1 - start + size)
    if known:
        values.kind[place] = 3
        values.num[place] = number
    return True


@inlined
def load(tree: Any, data: Any, sources: Any, source: Any, origin: Any, values: Any, place: Any, free: Any) -> Any:
    """Put a value of a node at a place of the file. False when what is held has no room for a joined text.

    free[0] is where what is held has room. The attributes of a node are read here, since they are asked for most and
    passing on this many arrays takes longer than that.
    """
    good = True
    if sources.leaf[source] == 0 and sources.steps[source] == sources.steps[source + 1]:
        values.kind[place] = 1
        values.origin[place] = -1
        if tree.kind[origin] == 1:
            at = origin + 1
            while at < tree.end[origin] and tree.kind[at] == 2:
                if tree.name[at] == sources.name[source]:
                    token = tree.token[at]
                    values.kind[place] = 2
                    values.start[place] = tree.start[token]
                    values.size[place] = tree.stop[token] - tree.start[token]
                    break
                at += 1
            if values.kind[place] == 2:
                start, size = values.start[place], values.size[place]
                if start >= 0:
                    known, number = read_number(data.buffer, start, start + size)
                else:
                    known, number = read_number(data.held, -1 - start, -1 - start + size)
                if known:
                    values.kind[place] = 3
                    values.num[place] = number
    else:
        good = load_any(tree, data, sources, source, origin, values, place, free)
    return good


@kernel()
def total(size: Any) -> Any:
    bytes_ = 0
    for row in range(size.size):
        bytes_ += size[row]
    return bytes_


@kernel()
def gather(buffer: Any, held: Any, start: Any, size: Any, offsets: Any, out: Any) -> Any:
    """The texts one after the other, and where each begins."""
    place = 0
    for row in range(start.size):
        offsets[row] = place
        at = start[row]
        for byte in range(size[row]):
            out[place + byte] = buffer[at + byte] if at >= 0 else held[-1 - at + byte]
        place += size[row]
    offsets[start.size] = place
