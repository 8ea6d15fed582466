"""Layered graph layout (Sugiyama's method): layers by longest path, few crossings, straight-ish edges.

Every edge carries a label, and a label is a box that must not lie on another one. So labels are laid out as nodes
too: states live in the even layers, labels in the odd layers between them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

Point = tuple[float, float]
_SWEEPS = 24


@dataclass(frozen=True)
class Box:
    """The room a node or label takes around its centre; a node with a loop on top needs more above than below."""

    width: float
    above: float
    below: float


_BEND = Box(0.0, 3.0, 3.0)


@dataclass(frozen=True)
class Layout:
    """Where everything went: centres of nodes and labels, and for each edge the points it passes, source first."""

    width: float
    height: float
    nodes: tuple[Point, ...]
    labels: Mapping[tuple[int, int], Point]
    routes: Mapping[tuple[int, int], tuple[Point, ...]]


def layered_layout(nodes: Sequence[Box], edges: Mapping[tuple[int, int], Box], *, gap_x: float, gap_y: float) -> Layout:
    """Lay out `nodes` from left to right, node 0 first; `edges` maps (source, target) to the box of its label.

    Edges from a node to itself are not laid out: they belong to the node's own box.
    """
    edges = {edge: box for edge, box in edges.items() if edge[0] != edge[1]}
    rank = _ranks(len(nodes), list(edges))
    cells = [_Cell(2 * rank[node], box) for node, box in enumerate(nodes)]
    links: list[tuple[int, int]] = []
    chains: dict[tuple[int, int], list[int]] = {}
    labels: dict[tuple[int, int], int] = {}
    for (source, target), box in edges.items():
        # Edges that go back are laid out as if they went forward, and turned again when drawn.
        left, right = (source, target) if rank[source] < rank[target] else (target, source)
        first, last = 2 * rank[left], 2 * rank[right]
        middle = first + (last - first) // 4 * 2 + 1
        chain = [left]
        for layer in range(first + 1, last):
            if layer == middle:
                labels[source, target] = len(cells)
            cells.append(_Cell(layer, box if layer == middle else _BEND))
            chain.append(len(cells) - 1)
        chain.append(right)
        links += pairwise(chain)
        chains[source, target] = chain if left == source else chain[::-1]

    layers: list[list[int]] = [[] for _ in range(max(cell.layer for cell in cells) + 1)]
    for index, cell in enumerate(cells):
        layers[cell.layer].append(index)
    before: list[list[int]] = [[] for _ in cells]
    after: list[list[int]] = [[] for _ in cells]
    for left, right in links:
        after[left].append(right)
        before[right].append(left)

    layers = _with_few_crossings(layers, before, after)
    boxes = [cell.box for cell in cells]
    ys = _heights(layers, before, after, boxes, gap_y)
    xs, width = _columns(layers, boxes, gap_x)
    top = min(y - box.above for y, box in zip(ys, boxes, strict=True))
    bottom = max(y + box.below for y, box in zip(ys, boxes, strict=True))

    def at(index: int) -> Point:
        return xs[cells[index].layer], ys[index] - top

    return Layout(
        width=width,
        height=bottom - top,
        nodes=tuple(at(node) for node in range(len(nodes))),
        labels={edge: at(index) for edge, index in labels.items()},
        routes={edge: tuple(at(index) for index in chain) for edge, chain in chains.items()},
    )


@dataclass(frozen=True)
class _Cell:
    """A node, a label, or a bend of a long edge."""

    layer: int
    box: Box


def _ranks(nodes: int, edges: list[tuple[int, int]]) -> list[int]:
    """Longest path from node 0, after leaving out the edges that close a cycle."""
    targets: list[list[int]] = [[] for _ in range(nodes)]
    for source, target in edges:
        targets[source].append(target)
    finished: list[int] = []
    state = [0] * nodes  # 0 new, 1 on the current path, 2 finished
    forward: list[list[int]] = [[] for _ in range(nodes)]
    for root in range(nodes):
        if state[root]:
            continue
        state[root] = 1
        path = [(root, iter(targets[root]))]
        while path:
            node, rest = path[-1]
            for target in rest:
                if state[target] != 1:
                    forward[node].append(target)
                if state[target] == 0:
                    state[target] = 1
                    path.append((target, iter(targets[target])))
                    break
            else:
                state[node] = 2
                finished.append(node)
                path.pop()
    rank = [0] * nodes
    for node in reversed(finished):
        for target in forward[node]:
            rank[target] = max(rank[target], rank[node] + 1)
    return rank


def _with_few_crossings(layers: list[list[int]], before: list[list[int]], after: list[list[int]]) -> list[list[int]]:
    """Order each layer by the mean place of its neighbours, left to right and back, and keep the best order seen."""
    best, least = [list(layer) for layer in layers], _crossings(layers, after)
    current = [list(layer) for layer in layers]
    for sweep in range(_SWEEPS):
        if least == 0:
            break
        forward = sweep % 2 == 0
        neighbours = before if forward else after
        for number in range(len(current)) if forward else reversed(range(len(current))):
            place = {cell: index for layer in current for index, cell in enumerate(layer)}
            current[number].sort(key=_mean_place(neighbours, place))
        crossings = _crossings(current, after)
        if crossings < least:
            best, least = [list(layer) for layer in current], crossings
    return best


def _mean_place(neighbours: list[list[int]], place: Mapping[int, int]) -> Callable[[int], float]:
    def key(cell: int) -> float:
        near = neighbours[cell]
        return sum(place[other] for other in near) / len(near) if near else float(place[cell])

    return key


def _crossings(layers: list[list[int]], after: list[list[int]]) -> int:
    count = 0
    for number, layer in enumerate(layers[:-1]):
        place = {cell: index for index, cell in enumerate(layers[number + 1])}
        ends = [place[target] for cell in layer for target in sorted(after[cell], key=place.__getitem__)]
        count += sum(left > right for index, left in enumerate(ends) for right in ends[index + 1 :])
    return count


def _heights(
    layers: list[list[int]], before: list[list[int]], after: list[list[int]], boxes: list[Box], gap: float
) -> list[float]:
    """Vertical centres: each cell is drawn to the mean of its neighbours, then overlaps in a layer are pushed apart."""
    ys = [0.0] * len(boxes)
    for sweep in range(_SWEEPS):
        forward = sweep % 2 == 0
        for layer in layers if forward else reversed(layers):
            wanted = []
            for cell in layer:
                # One side first, so that the picture unfolds; then both, so that it settles.
                near = before[cell] + after[cell] if sweep > 3 else before[cell] if forward else after[cell]
                wanted.append(sum(ys[other] for other in near) / len(near) if near else ys[cell])
            for cell, y in zip(layer, _apart(wanted, [boxes[cell] for cell in layer], gap), strict=True):
                ys[cell] = y
    return ys


def _apart(wanted: list[float], boxes: list[Box], gap: float) -> list[float]:
    """The places nearest to `wanted` (least squares) that keep the order and do not overlap.

    Neighbours that would overlap are merged into a block that moves as one: isotonic regression on the wanted
    places less the room taken by the cells above.
    """
    room = [0.0]
    for upper, lower in pairwise(boxes):
        room.append(room[-1] + upper.below + gap + lower.above)
    blocks: list[tuple[float, int]] = []  # mean shifted place, number of cells
    for place, taken in zip(wanted, room, strict=True):
        mean, cells = place - taken, 1
        while blocks and blocks[-1][0] > mean:
            other, count = blocks.pop()
            mean, cells = (mean * cells + other * count) / (cells + count), cells + count
        blocks.append((mean, cells))
    shifted = [mean for mean, cells in blocks for _ in range(cells)]
    return [mean + taken for mean, taken in zip(shifted, room, strict=True)]


def _columns(layers: list[list[int]], boxes: list[Box], gap: float) -> tuple[list[float], float]:
    """Horizontal centre of each layer, and the whole width."""
    centres, x = [], 0.0
    for layer in layers:
        wide = max((boxes[cell].width for cell in layer), default=0.0)
        centres.append(x + wide / 2)
        x += wide + gap
    return centres, x - gap
