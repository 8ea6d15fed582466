"""The reliability diagram: how often a match completed, against the probability that was forecast."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from ostinato.core.arrays import Float64
from ostinato.viz import svg
from ostinato.viz.picture import Picture

_SIDE = 320.0
_COUNTS = 56.0  # height of the panel that shows how many events had each probability
_LEFT, _TOP = 64.0, 56.0
_LINES = (svg.ACCENT, "#1d4ed8", "#0f766e", "#7c3aed", "#a16207", "#be185d")
_MOST_LINES = len(_LINES)


class ReliabilityCurve(Protocol):
    """Per bin of probabilities: their mean, the share of events after which it happened, and the number of events."""

    @property
    def predicted(self) -> Float64: ...

    @property
    def observed(self) -> Float64: ...

    @property
    def events(self) -> Float64: ...

    @property
    def error(self) -> float: ...


@dataclass(frozen=True)
class ReliabilityLine:
    """One model: points (said, happened, events) and the expected calibration error."""

    name: str
    points: tuple[tuple[float, float, float], ...]
    error: float


@dataclass(frozen=True)
class ReliabilityDiagram(Picture):
    """One line per model: on the diagonal, what was said is what happened. Shows itself in a notebook."""

    lines: tuple[ReliabilityLine, ...]
    title: str

    @classmethod
    def of(cls, curves: Mapping[str, ReliabilityCurve], *, title: str = "reliability") -> ReliabilityDiagram:
        lines = []
        for name, curve in curves.items():
            bins = zip(curve.predicted, curve.observed, curve.events, strict=True)
            points = tuple((float(x), float(y), float(n)) for x, y, n in bins)
            lines.append(ReliabilityLine(name, points, float(curve.error)))
        return cls(tuple(lines), title)

    def svg(self) -> str:
        """The diagram, and below it how many events had each probability by the first model."""
        shown = self.lines[:_MOST_LINES]
        bottom = _TOP + _SIDE
        floor = bottom + 14 + _COUNTS
        key = max((len(_legend(line)) for line in shown), default=0) * 7.0 + 44
        parts = [svg.text(self.title, 16, 30, size=15, weight="600")]
        for tick in range(6):
            share = tick / 5
            x, y = _at(share, share)
            parts.append(svg.element("line", x1=x, y1=_TOP, x2=x, y2=bottom, stroke=svg.FAINT))
            parts.append(svg.element("line", x1=_LEFT, y1=y, x2=_LEFT + _SIDE, y2=y, stroke=svg.FAINT))
            parts.append(svg.text(f"{share:.1f}", x, floor + 18, anchor="middle", fill=svg.MUTED))
            parts.append(svg.text(f"{share:.1f}", _LEFT - 8, y + 4, anchor="end", fill=svg.MUTED))
        (x1, y1), (x2, y2) = _at(0, 0), _at(1, 1)
        parts.append(svg.element("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=svg.MUTED, stroke_dasharray="4 4"))
        # The first model, which the others are compared with, is drawn last: on top.
        for line, colour in reversed(list(zip(shown, _LINES, strict=False))):
            parts.append(_curve(line, colour, first=line is shown[0]))
        if shown:
            parts.append(_histogram(shown[0], floor))
        parts.append(svg.element("line", x1=_LEFT, y1=floor, x2=_LEFT + _SIDE, y2=floor, stroke=svg.FAINT))
        parts.append(svg.text("events", _LEFT - 8, floor - _COUNTS / 2 + 4, anchor="end", fill=svg.MUTED))
        for number, (line, colour) in enumerate(zip(shown, _LINES, strict=False)):
            y = _TOP + 12 + 20 * number
            x = _LEFT + _SIDE + 20
            parts.append(svg.element("line", x1=x, y1=y - 4, x2=x + 16, y2=y - 4, stroke=colour, stroke_width=2.5))
            parts.append(svg.text(_legend(line), x + 24, y))
        parts.append(svg.text("probability that was forecast", _LEFT + _SIDE / 2, floor + 38, anchor="middle"))
        turn = f"rotate(-90 20 {_TOP + _SIDE / 2:g})"
        across = svg.text("share that happened", 20, _TOP + _SIDE / 2, anchor="middle")
        parts.append(svg.element("g", across, transform=turn))
        return svg.document(_LEFT + _SIDE + key + 16, floor + 54, parts, title=self.title)


def _legend(line: ReliabilityLine) -> str:
    return f"{line.name}: off by {line.error:.3f}" if line.points else f"{line.name}: no events"


def _at(said: float, happened: float) -> tuple[float, float]:
    return _LEFT + said * _SIDE, _TOP + (1 - happened) * _SIDE


def _curve(line: ReliabilityLine, colour: str, *, first: bool) -> str:
    places = [_at(said, happened) for said, happened, _ in line.points]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    drawn = [svg.element("polyline", points=path, fill="none", stroke=colour, stroke_width=2 if first else 1.2)]
    for (x, y), (said, happened, events) in zip(places, line.points, strict=True):
        tip = f"{line.name}: said {said:.3f}, happened {happened:.3f}, {events:,.0f} events"
        title = svg.element("title", svg.escape_text(tip))
        drawn.append(svg.element("circle", title, cx=x, cy=y, r=3.5 if first else 2.5, fill=colour))
    return svg.element("g", *drawn)


def _histogram(line: ReliabilityLine, floor: float) -> str:
    most = max((events for _, _, events in line.points), default=1.0)
    bars = []
    for said, _, events in line.points:
        tall = _COUNTS * events / most
        tip = svg.element("title", svg.escape_text(f"{events:,.0f} events near {said:.3f}"))
        x, _ = _at(said, 0)
        bars.append(
            svg.element("rect", tip, x=x - 3, y=floor - tall, width=6, height=tall, fill=svg.MUTED, fill_opacity=0.6)
        )
    return svg.element("g", *bars)
