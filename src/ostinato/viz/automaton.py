"""Draws an automaton as SVG: circles for states, labelled curves between them, laid out in layers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ostinato.viz import svg
from ostinato.viz.layout import Box, Layout, Point, layered_layout

_RADIUS = 20.0
_MARGIN = 28.0
_FONT = 12.0
_LINE = 16.0
_LOOP = 30.0  # height of a self-loop above its state
_START = 34.0  # length of the arrow into the start state


@dataclass(frozen=True)
class DrawnState:
    """What is shown of a state: a word in its circle and perhaps one below it."""

    name: str
    caption: str = ""
    final: bool = False
    initial: bool = False


@dataclass(frozen=True)
class EdgeLabel:
    """The lines beside an edge; each is (text, is a mark)."""

    lines: tuple[tuple[str, bool], ...]
    tip: str

    @property
    def width(self) -> float:
        return max(len(text) for text, _ in self.lines) * _FONT * svg.MONO_ADVANCE + 8

    @property
    def height(self) -> float:
        return len(self.lines) * _LINE + 2

    def draw(self, x: float, y: float) -> str:
        back = svg.element(
            "rect",
            x=x - self.width / 2,
            y=y - self.height / 2,
            width=self.width,
            height=self.height,
            rx=4,
            fill=svg.PAPER,
        )
        first = y - (len(self.lines) - 1) * _LINE / 2 + _FONT * 0.35
        texts = [
            svg.element(
                "text",
                svg.escape_text(text),
                x=x,
                y=first + number * _LINE,
                text_anchor="middle",
                font_family=svg.MONO,
                font_size=_FONT,
                fill=svg.ACCENT if marked else svg.INK,
                **({"font_weight": "bold"} if marked else {}),
            )
            for number, (text, marked) in enumerate(self.lines)
        ]
        return svg.element("g", svg.element("title", svg.escape_text(self.tip)), back, *texts)


class Drawing:
    """One automaton, laid out; its first state is a start."""

    def __init__(self, states: Sequence[DrawnState], labels: Mapping[tuple[int, int], EdgeLabel]) -> None:
        self.states = states
        self.labels = labels
        self.placed: Layout = layered_layout(
            [self._box(state) for state in range(len(states))],
            {edge: Box(text.width, text.height / 2, text.height / 2) for edge, text in self.labels.items()},
            gap_x=30,
            gap_y=12,
        )
        self.ports = self._spread()

    def _box(self, state: int) -> Box:
        loop = self.labels.get((state, state))
        caption = self.states[state].caption
        width = max(2 * _RADIUS, len(caption) * _FONT * svg.MONO_ADVANCE)
        below = _RADIUS + (_LINE if caption else 0)
        if loop is None:
            return Box(width, _RADIUS, below)
        return Box(max(width, loop.width), _RADIUS + _LOOP + loop.height, below)

    def document(self, title: str) -> str:
        states = [self._state(state) for state in range(len(self.placed.nodes))]
        edges = [self._edge(edge) for edge in self.placed.routes]
        loops = [self._loop(source) for source, target in self.labels if source == target]
        texts = [self.labels[edge].draw(*at) for edge, at in self.placed.labels.items()]
        width = self.placed.width + 2 * _MARGIN + _START
        shift = f"translate({_MARGIN + _START:g} {_MARGIN:g})"
        starts = [self._start(state) for state, shown in enumerate(self.states) if state == 0 or shown.initial]
        drawn = svg.element("g", *edges, *loops, *starts, *states, *texts, transform=shift)
        return svg.document(width, self.placed.height + 2 * _MARGIN, [drawn], title=title)

    def _state(self, state: int) -> str:
        x, y = self.placed.nodes[state]
        shown = self.states[state]
        line = {"fill": "#fff7ed" if shown.final else "#f9fafb", "stroke": svg.INK, "stroke_width": 1.5}
        rings = [svg.element("circle", cx=x, cy=y, r=_RADIUS, **line)]
        if shown.final:
            rings.append(svg.element("circle", cx=x, cy=y, r=_RADIUS - 4, **line))
        name = svg.element(
            "text",
            svg.escape_text(shown.name),
            x=x,
            y=y + 4.5,
            text_anchor="middle",
            font_family=svg.SANS,
            font_size=13,
            fill=svg.INK,
        )
        if not shown.caption:
            return svg.element("g", *rings, name)
        caption = svg.element(
            "text",
            svg.escape_text(shown.caption),
            x=x,
            y=y + _RADIUS + _FONT,
            text_anchor="middle",
            font_family=svg.MONO,
            font_size=_FONT,
            fill=svg.MUTED,
        )
        return svg.element("g", *rings, name, caption)

    def _start(self, state: int) -> str:
        x, y = self.placed.nodes[state]
        return _arrow([(x - _RADIUS - _START, y), (x - _RADIUS, y)], [(1.0, 0.0), (1.0, 0.0)])

    def _loop(self, state: int) -> str:
        x, y = self.placed.nodes[state]
        text = self.labels[state, state]
        angle = math.radians(32)
        dx, dy = _RADIUS * math.sin(angle), _RADIUS * math.cos(angle)
        top = y - _RADIUS - _LOOP
        bend = f"{x - 30:.1f} {top - 6:.1f} {x + 30:.1f} {top - 6:.1f}"
        path = f"M {x - dx:.1f} {y - dy:.1f} C {bend} {x + dx:.1f} {y - dy:.1f}"
        head = _head((x + dx, y - dy), (-0.42, 0.91))
        return svg.element("g", _line(path), head, text.draw(x, top - text.height / 2 + 1))

    def _spread(self) -> dict[tuple[tuple[int, int], int], float]:
        """The angle at which each edge meets each of its states, so that edges do not all end on one point."""
        sides: dict[tuple[int, bool], list[tuple[float, tuple[int, int]]]] = {}
        for edge, route in self.placed.routes.items():
            for state, here, there in ((edge[0], route[0], route[1]), (edge[1], route[-1], route[-2])):
                sides.setdefault((state, there[0] > here[0]), []).append((there[1], edge))
        angles: dict[tuple[tuple[int, int], int], float] = {}
        for (state, right), ends in sides.items():
            step = min(28.0, 100.0 / max(1, len(ends) - 1))
            for number, (_, edge) in enumerate(sorted(ends)):
                angle = math.radians((number - (len(ends) - 1) / 2) * step)
                angles[edge, state] = angle if right else math.pi - angle
        return angles

    def _edge(self, edge: tuple[int, int]) -> str:
        """A curve that leaves and enters states radially and passes labels and bends horizontally."""
        source, target = edge
        route = self.placed.routes[edge]
        forward = 1.0 if route[-1][0] > route[0][0] else -1.0
        points: list[Point] = []
        tangents: list[Point] = []
        for number, (x, y) in enumerate(route):
            if number in (0, len(route) - 1):
                angle = self.ports[edge, source if number == 0 else target]
                out = (math.cos(angle), math.sin(angle))
                points.append((x + _RADIUS * out[0], y + _RADIUS * out[1]))
                tangents.append(out if number == 0 else (-out[0], -out[1]))
            elif (x, y) == self.placed.labels[edge]:
                half = forward * self.labels[edge].width / 2
                points += [(x - half, y), (x + half, y)]
                tangents += [(forward, 0.0), (forward, 0.0)]
            else:
                points.append((x, y))
                tangents.append((forward, 0.0))
        return _arrow(points, tangents)


def _arrow(points: list[Point], tangents: list[Point]) -> str:
    """A smooth line through the points, with a head at the last."""
    path = f"M {points[0][0]:.1f} {points[0][1]:.1f}"
    for here, there, out, into in zip(points, points[1:], tangents, tangents[1:], strict=False):
        reach = math.dist(here, there) * 0.4
        path += f" C {here[0] + out[0] * reach:.1f} {here[1] + out[1] * reach:.1f}"
        path += f" {there[0] - into[0] * reach:.1f} {there[1] - into[1] * reach:.1f} {there[0]:.1f} {there[1]:.1f}"
    return svg.element("g", _line(path), _head(points[-1], tangents[-1]))


def _line(path: str) -> str:
    return svg.element("path", d=path, fill="none", stroke=svg.MUTED, stroke_width=1.4)


def _head(tip: Point, direction: Point) -> str:
    (x, y), (dx, dy) = tip, direction
    corners = [(x, y), (x - 8 * dx - 3.5 * dy, y - 8 * dy + 3.5 * dx), (x - 8 * dx + 3.5 * dy, y - 8 * dy - 3.5 * dx)]
    return svg.element("polygon", points=" ".join(f"{a:.1f},{b:.1f}" for a, b in corners), fill=svg.MUTED)
