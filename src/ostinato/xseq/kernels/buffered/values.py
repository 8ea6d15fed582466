"""Values of the nodes of a tree: attributes, texts, names, all the text of an element."""

from __future__ import annotations

from ostinato.core.jit import subroutine
from ostinato.core.jit.types import boolean, int64, void
from ostinato.xseq.kernels.buffered.build import advance
from ostinato.xseq.kernels.buffered.layout import MOST_STEPS, SOURCES, TREE, TREE_VALUES, Sources, Tree, TreeValues
from ostinato.xseq.kernels.values import read_number


@subroutine(int64(SOURCES, int64, int64))
def _reach(sources: Sources, source: int, node: int) -> int:
    """The first node in document order that the steps of a source lead to, -1 if there is none."""
    tree, cursor = sources.tree, sources.cursor
    begin, end = sources.steps[source], sources.steps[source + 1]
    best, depth = -1, 0
    cursor[0] = node
    cursor[MOST_STEPS] = -2
    while depth >= 0:
        if depth == end - begin:
            if best < 0 or cursor[depth] < best:
                best = cursor[depth]
            depth -= 1
            continue
        at = advance(tree, sources.axis[begin + depth], cursor[depth], cursor[MOST_STEPS + depth])
        cursor[MOST_STEPS + depth] = at
        if at < 0:
            depth -= 1
        elif tree.kind[at] == 1 and tree.name[at] == sources.test[begin + depth]:
            depth += 1
            cursor[depth] = at
            if depth < MOST_STEPS:
                cursor[MOST_STEPS + depth] = -2
    return best


@subroutine(int64(TREE, int64, int64))
def _find_attribute(tree: Tree, node: int, name: int) -> int:
    """The token of an element's attribute, or -1."""
    at = node + 1
    while at < tree.end[node] and tree.kind[at] == 2:
        if tree.name[at] == name:
            return tree.token[at]
        at += 1
    return -1


@subroutine(int64(TREE, int64))
def _find_text(tree: Tree, node: int) -> int:
    """The token of a node's first text, or -1."""
    at = advance(tree, 1, node, -2)
    while at >= 0 and tree.kind[at] != 3:
        at = advance(tree, 1, node, at)
    return tree.token[at] if at >= 0 else -1


@subroutine(void(TREE_VALUES, int64, int64, int64))
def _put_text(values: TreeValues, place: int, start: int, size: int) -> None:
    """Put a text at a place of the file, and the number if it reads as one."""
    values.kind[place] = 2
    values.start[place] = start
    values.size[place] = size
    data, low = values.buffer, start
    if start < 0:
        data, low = values.text_pool, -1 - start
    known, number = read_number(data, low, low + size)
    if known:
        values.kind[place] = 3
        values.num[place] = number


@subroutine(boolean(TREE, TREE_VALUES, int64, int64))
def _put_whole_text(tree: Tree, values: TreeValues, node: int, place: int) -> bool:
    """Put all the text of an element at a place of the file. False when the pool has no room for a joined one."""
    texts = size = 0
    token = -1
    for below in range(node + 1, tree.end[node]):
        if tree.kind[below] == 3:
            texts += 1
            token = tree.token[below]
            size += tree.stop[token] - tree.start[token]
    if texts <= 1:
        _put_text(values, place, tree.start[token] if texts else 0, size)
        return True
    pool, free = values.text_pool, values.free[0]
    if free + size > pool.size:
        return False
    values.free[0] = free + size
    first = free
    for below in range(node + 1, tree.end[node]):
        if tree.kind[below] == 3:
            start, stop = tree.start[tree.token[below]], tree.stop[tree.token[below]]
            for byte in range(stop - start):
                pool[free + byte] = values.buffer[start + byte] if start >= 0 else pool[-1 - start + byte]
            free += stop - start
    _put_text(values, place, -1 - first, size)
    return True


@subroutine(boolean(SOURCES, TREE_VALUES, int64, int64, int64))
def load(sources: Sources, values: TreeValues, source: int, node: int, place: int) -> bool:
    """Put a value of a node at a place of the file. False when the pool of texts has no room for a joined text."""
    tree, leaf = sources.tree, sources.leaf[source]
    values.kind[place] = 1
    values.origin[place] = -1
    if sources.steps[source] < sources.steps[source + 1]:
        node = _reach(sources, source, node)
    if node < 0:
        return True
    token = -1
    if leaf == 0:
        token = _find_attribute(tree, node, sources.name[source])
    elif leaf == 1:
        token = _find_text(tree, node)
    elif leaf == 2:
        name, start, size = tree.name[node], 0, 0
        if name >= 0:
            start, size = sources.names_at[name], sources.names_at[name + 1] - sources.names_at[name]
        _put_text(values, place, -1 - start, size)
    else:
        values.origin[place] = node
        values.kind[place] = 2
        values.start[place] = 0
        values.size[place] = 0
        if sources.read[source]:
            if tree.kind[node] < 2:
                return _put_whole_text(tree, values, node, place)
            token = tree.token[node]
    if token >= 0:
        _put_text(values, place, tree.start[token], tree.stop[token] - tree.start[token])
    return True
