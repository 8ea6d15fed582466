"""Forecasts ahead of detections, over the events of one key: as SVG, and as text for a terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from ostinato.errors import DataError, did_you_mean
from ostinato.viz import svg
from ostinato.viz.picture import Picture

_BLOCKS = " ▁▂▃▄▅▆▇█"
_LEFT, _TOP = 96.0, 56.0
_CURVE = 110.0  # height of the panel of probabilities
_ROW = 9.0  # height of an interval
_ROWS = 36  # the most intervals drawn
_TEXT_ROWS = 12
_COLOURS = {"held": "#0f766e", "missed": "#9ca3af", "open": "#bfdbfe"}
_MEANING = {"held": "held", "missed": "missed", "open": "not known yet"}


@dataclass(frozen=True)
class ForecastInterval:
    """Made at one event, of a completion from one event to another; all by their number."""

    made: int
    earliest: int
    latest: int
    outcome: str  # a key of _COLOURS


@dataclass(frozen=True)
class ForecastTimeline(Picture):
    """The probability as a line, intervals as bars, detections as marks. Shows itself in a notebook."""

    probability: tuple[float, ...]
    intervals: tuple[ForecastInterval, ...]
    detections: tuple[int, ...]
    title: str
    first: int = 1  # the number of the first event

    @classmethod
    def of(cls, rows: pa.Table, *, title: str = "forecasts ahead of detections", first: int = 1) -> ForecastTimeline:
        """From the forecast table of one key's events: columns probability, earliest, latest, completes."""
        for name in ("probability", "earliest", "latest", "completes"):
            if name not in rows.column_names:
                raise DataError(f"the forecasts have no column `{name}`", fix=did_you_mean(name, rows.column_names))
        count = rows.num_rows
        completes = rows["completes"].to_pylist()
        following: list[int | None] = [None] * count  # the next detection after each event
        for event in range(count - 2, -1, -1):
            following[event] = event + 1 if completes[event + 1] else following[event + 1]
        made = []
        bounds = zip(rows["earliest"].to_pylist(), rows["latest"].to_pylist(), strict=True)
        for event, (earliest, latest) in enumerate(bounds):
            if earliest is None or latest is None:
                continue
            begin, end = event + int(earliest), event + int(latest)
            made.append(ForecastInterval(event, begin, end, _outcome(begin, end, following[event], count)))
        return cls(
            tuple(0.0 if value is None else float(value) for value in rows["probability"].to_pylist()),
            tuple(made),
            tuple(event for event, completed in enumerate(completes) if completed),
            title,
            first,
        )

    def text(self, width: int = 80) -> str:
        """A picture of characters, `width` columns wide."""
        cells = max(10, width - 14)
        count = max(1, len(self.probability))
        cells = min(cells, count)

        def cell(event: int) -> int:
            return min(cells - 1, event * cells // count)

        highest = [0.0] * cells
        for event, value in enumerate(self.probability):
            highest[cell(event)] = max(highest[cell(event)], value)
        marks = [" "] * cells
        for event in self.detections:
            marks[cell(event)] = "▲"
        lines = [f"probability │{''.join(_BLOCKS[max(1, math.ceil(8 * value))] for value in highest)}"]
        for number, interval in enumerate(self._some(_TEXT_ROWS)):
            row = ["│" if mark == "▲" else " " for mark in marks]
            for place in range(cell(interval.earliest), cell(interval.latest) + 1):
                bar, crossed = ("━", "┿") if interval.outcome == "held" else ("─", "┼")
                row[place] = bar if row[place] == " " else crossed
            row[cell(interval.made)] = "•"
            lines.append(f"{'intervals' if number == 0 else '':>11} │{''.join(row).rstrip()}")
        lines.append(f"{'detections':>11} │{''.join(marks).rstrip()}")
        last = f"{self.first + count - 1:,}"
        lines.append(f"{'event':>11}  {f'{self.first:,}'.ljust(max(1, cells - len(last)))}{last}")
        return "\n".join(lines)

    def svg(self, width: float = 960) -> str:
        right = width - 28
        count = max(2, len(self.probability))
        some = self._some(_ROWS)
        below = _TOP + _CURVE + 24
        bottom = below + _ROW * max(1, len(some)) + 6

        def at(event: float) -> float:
            return _LEFT + event * (right - _LEFT) / (count - 1)

        parts = [svg.text(self.title, 16, 30, size=15, weight="600"), *_key(right)]
        for share in (0.0, 0.5, 1.0):
            y = _TOP + _CURVE * (1 - share)
            parts.append(svg.element("line", x1=_LEFT, y1=y, x2=right, y2=y, stroke=svg.FAINT))
            parts.append(svg.text(f"{share:g}", _LEFT - 8, y + 4, anchor="end", fill=svg.MUTED))
        for event in self.detections:
            x = at(event)
            tip = svg.element("title", svg.escape_text(f"detected at event {self.first + event:,}"))
            parts.append(
                svg.element("line", tip, x1=x, y1=_TOP - 6, x2=x, y2=bottom, stroke=svg.ACCENT, stroke_width=1.2)
            )
            parts.append(svg.element("path", d=f"M {x - 5:.1f} {_TOP - 14} h 10 l -5 8 z", fill=svg.ACCENT))
        points = " ".join(f"{at(e):.1f},{_TOP + _CURVE * (1 - p):.1f}" for e, p in enumerate(self.probability))
        parts.append(svg.element("polyline", points=points, fill="none", stroke=svg.INK, stroke_width=1.5))
        parts += [self._bar(interval, below + _ROW * number, at, right) for number, interval in enumerate(some)]
        parts.append(svg.text("probability", 16, _TOP + _CURVE / 4 + 4, fill=svg.MUTED))
        parts.append(svg.text("intervals", 16, below + 8, fill=svg.MUTED))
        for event in _ticks(self.first, count):
            x = at(event - self.first)
            parts.append(svg.element("line", x1=x, y1=bottom, x2=x, y2=bottom + 5, stroke=svg.MUTED))
            parts.append(svg.text(f"{event:,}", x, bottom + 19, anchor="middle", fill=svg.MUTED))
        parts.append(svg.text("event", 16, bottom + 19, fill=svg.MUTED))
        return svg.document(width, bottom + 34, parts, title=self.title)

    def _other_formats(self) -> dict[str, Callable[[], str]]:
        return {".txt": self.text}

    def _some(self, most: int) -> Sequence[ForecastInterval]:
        """At most so many intervals, evenly chosen."""
        return self.intervals[:: max(1, math.ceil(len(self.intervals) / most))]

    def _bar(self, interval: ForecastInterval, y: float, at: Callable[[float], float], right: float) -> str:
        """A dot where the forecast was made, and a bar where it said the match would complete."""
        made, number = at(interval.made), self.first
        begin, end = min(at(interval.earliest - 0.5), right), min(at(interval.latest + 0.5), right)
        tip = (
            f"at event {number + interval.made:,}: between {number + interval.earliest:,} and "
            f"{number + interval.latest:,}, {_MEANING[interval.outcome]}"
        )
        colour, middle = _COLOURS[interval.outcome], y + _ROW / 2
        return svg.element(
            "g",
            svg.element("title", svg.escape_text(tip)),
            svg.element("line", x1=made, y1=middle, x2=begin, y2=middle, stroke=svg.FAINT),
            svg.element("circle", cx=made, cy=middle, r=1.8, fill=svg.MUTED),
            svg.element(
                "rect",
                x=begin,
                y=y + 1.5,
                width=max(1.0, end - begin),
                height=_ROW - 3,
                rx=1.5,
                fill=colour,
                fill_opacity=0.8,
            ),
        )


def _outcome(begin: int, end: int, detected: int | None, count: int) -> str:
    if detected is not None:
        return "held" if begin <= detected <= end else "missed"
    return "missed" if end < count else "open"


def _key(right: float) -> list[str]:
    """What the colours mean, from the right."""
    parts, x = [], right
    for name, colour in (("detection", svg.ACCENT), *((_MEANING[each], _COLOURS[each]) for each in reversed(_COLOURS))):
        x -= len(name) * 6.6
        parts.append(svg.text(name, x, 30, fill=svg.MUTED))
        x -= 14
        parts.append(svg.element("rect", x=x, y=21, width=9, height=9, rx=1.5, fill=colour))
        x -= 16
    return parts


def _ticks(first: int, count: int) -> list[int]:
    """Round numbers of events, about ten."""
    least = max(1.0, count / 10)
    magnitude = 10 ** math.floor(math.log10(least))
    step = next(magnitude * factor for factor in (1, 2, 5, 10) if magnitude * factor >= least)
    return list(range(math.ceil(first / step) * step, first + count, step))
