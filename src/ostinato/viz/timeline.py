"""When matches happened: one lane per key, as text for a terminal and as SVG."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, tzinfo

import pyarrow as pa

from ostinato.errors import DataError, did_you_mean
from ostinato.viz import svg
from ostinato.viz.picture import Picture

_BLOCKS = " ▁▂▃▄▅▆▇█"
_EMPTY = "·"
_DAY = 86400.0
# Round steps in seconds, from a millisecond to ten years, and how a tick is written for steps below each length.
_STEPS = (
    *(0.001, 0.01, 0.1, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0),
    *(60.0 * minutes for minutes in (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720)),
    *(_DAY * days for days in (1, 2, 7, 14, 28, 91, 182, 365, 730, 1826, 3652)),
)
_FORMS = (
    (1.0, "%S.%f"),
    (60.0, "%H:%M:%S"),
    (10800.0, "%H:%M"),
    (_DAY, "%b %d %H:%M"),
    (91 * _DAY, "%b %d"),
    (math.inf, "%b %Y"),
)
_LANE = 46.0
_LEFT_PAD = 16.0
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Moment = datetime | date | int | float


@dataclass(frozen=True)
class Lane:
    """One row: its name, the spans of its matches, and optionally a curve (time, value) to draw behind them."""

    name: str
    spans: tuple[tuple[float, float], ...]
    curve: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class Timeline(Picture):
    """Matches over time. Times are seconds (since 1970 when `dated`), so that any time column can be shown."""

    lanes: tuple[Lane, ...]
    begin: float
    end: float
    dated: bool = True
    zone: tzinfo | None = None
    title: str = "matches over time"
    unit: str = field(default="", compare=False)

    @classmethod
    def of(
        cls,
        matches: pa.Table,
        *,
        by: str | Sequence[str] = (),
        names: Iterable[str] = (),
        between: tuple[Moment, Moment] | None = None,
        curves: Mapping[str, Iterable[tuple[Moment, float]]] | None = None,
        title: str = "matches over time",
        unit: str = "",
    ) -> Timeline:
        """The matches of a `SELECT *` query (columns start and end), one lane per value of the columns `by`.

        `names` adds lanes that have no match; `between` widens the picture to the whole stream; `curves` draws a
        measurement (in `unit`) behind each lane.
        """
        keys = (by,) if isinstance(by, str) else tuple(by)
        for column in ("start", "end", *keys):
            if column not in matches.column_names:
                raise DataError(
                    f"the matches have no column `{column}`", fix=did_you_mean(column, matches.column_names)
                )
        starts, ends = _axis(matches.column("start")), _axis(matches.column("end"))
        values = [matches.column(key).to_pylist() for key in keys]
        labels = [" / ".join(map(str, row)) for row in zip(*values, strict=True)] if keys else ["matches"] * len(starts)
        curves = curves or {}
        spans: dict[str, list[tuple[float, float]]] = {str(name): [] for name in (*names, *curves)}
        for name, start, end in zip(labels, starts, ends, strict=True):
            spans.setdefault(name, []).append((start, end))
        drawn = {name: tuple((_seconds(at), float(value)) for at, value in curve) for name, curve in curves.items()}
        edges = [_seconds(moment) for moment in between or ()]
        edges += [edge for lane in spans.values() for span in lane for edge in span]
        edges += [at for curve in drawn.values() for at, _ in curve]
        first, last = min(edges, default=0.0), max(edges, default=1.0)
        kind = matches.schema.field("start").type
        return cls(
            lanes=tuple(Lane(name, tuple(sorted(spans[name])), drawn.get(name, ())) for name in sorted(spans)),
            begin=first,
            end=last if last > first else first + 1.0,
            dated=pa.types.is_temporal(kind),
            zone=pa.lib.string_to_tzinfo(kind.tz) if pa.types.is_timestamp(kind) and kind.tz else None,
            title=title,
            unit=unit,
        )

    def text(self, width: int = 80) -> str:
        """A picture of block characters, `width` columns wide: the taller a block, the more matches were under way."""
        margin = max((len(lane.name) for lane in self.lanes), default=0)
        cells = max(10, width - margin - 10)
        counts = [self._bin_matches(lane, cells) for lane in self.lanes]
        most = max((max(row) for row in counts), default=0)
        lines = []
        for lane, row in zip(self.lanes, counts, strict=True):
            bar = "".join(_BLOCKS[max(1, round(8 * n / most))] if n else _EMPTY for n in row)
            lines.append(f"{lane.name:>{margin}} │{bar}│ {len(lane.spans):>6,}")
        axis, below = ["─"] * cells, [" "] * (cells + 12)
        free = 0
        for tick, label in self._ticks(cells // 9):
            place = self._place(tick, cells)
            axis[place] = "┬"
            start = max(0, place - len(label) // 2)
            if free <= start and start + len(label) <= len(below):
                below[start : start + len(label)] = label
                free = start + len(label) + 1
        return "\n".join([*lines, f"{'':>{margin}} └{''.join(axis)}┘", f"{'':>{margin}}  {''.join(below).rstrip()}"])

    def svg(self, width: float = 960) -> str:
        left = max((len(lane.name) for lane in self.lanes), default=0) * 7.6 + 2 * _LEFT_PAD
        right = width - 64
        scale = (right - left) / (self.end - self.begin)

        def at(moment: float) -> float:
            return left + (moment - self.begin) * scale

        top, bottom = 52.0, 52.0 + _LANE * len(self.lanes)
        values = [value for lane in self.lanes for _, value in lane.curve]
        low, high = min(values, default=0.0), max(values, default=1.0)
        legend = "bars: matches" + (f" · line: {self.unit}, {low:g} to {high:g}" if values else "")
        parts = [svg.text(self.title, _LEFT_PAD, 30, size=15, weight="600")]
        parts.append(svg.text(legend, width - _LEFT_PAD, 30, anchor="end", fill=svg.MUTED))
        for tick, label in self._ticks(int((right - left) // 100)):
            x = at(tick)
            parts.append(svg.element("line", x1=x, y1=top, x2=x, y2=bottom + 5, stroke=svg.FAINT))
            parts.append(svg.text(label, x, bottom + 20, anchor="middle", fill=svg.MUTED))
        for number, lane in enumerate(self.lanes):
            foot = top + _LANE * (number + 1)
            parts.append(svg.element("line", x1=left, y1=foot, x2=right, y2=foot, stroke=svg.FAINT))
            parts.append(svg.text(lane.name, left - _LEFT_PAD, foot - _LANE / 2 + 4, anchor="end"))
            parts.append(svg.text(f"{len(lane.spans):,}", right + 12, foot - _LANE / 2 + 4, fill=svg.MUTED))
            # Thousands of matches fall on the same pixels: one bar each, with their number as its tooltip.
            bars = Counter((round(at(start), 1), round(at(end), 1)) for start, end in lane.spans)
            for (x1, x2), count in sorted(bars.items()):
                tip = svg.element("title", svg.escape_text(f"{count:,} match{'' if count == 1 else 'es'}"))
                wide = max(3.0, x2 - x1)
                parts.append(
                    svg.element(
                        "rect",
                        tip,
                        x=(x1 + x2 - wide) / 2,
                        y=foot - _LANE + 5,
                        width=wide,
                        height=_LANE - 9,
                        rx=1.5,
                        fill=svg.ACCENT,
                        fill_opacity=0.75,
                    )
                )
            if lane.curve:
                drop = (_LANE - 14) / ((high - low) or 1.0)
                line = " ".join(
                    f"{at(moment):.1f},{foot - 5 - (value - low) * drop:.1f}" for moment, value in lane.curve
                )
                parts.append(svg.element("polyline", points=line, fill="none", stroke="#475569", stroke_width=1))
        return svg.document(width, bottom + 34, parts, title=self.title)

    def _place(self, moment: float, cells: int) -> int:
        return min(cells - 1, max(0, int((moment - self.begin) / (self.end - self.begin) * cells)))

    def _bin_matches(self, lane: Lane, cells: int) -> list[int]:
        """How many matches were under way in each cell."""
        changes = [0] * (cells + 1)
        for start, end in lane.spans:
            changes[self._place(start, cells)] += 1
            changes[self._place(end, cells) + 1] -= 1
        counts, running = [], 0
        for change in changes[:cells]:
            running += change
            counts.append(running)
        return counts

    def _ticks(self, most: int) -> list[tuple[float, str]]:
        """At most about `most` round times, with labels as short as the step allows."""
        least = (self.end - self.begin) / max(2, most)
        if not self.dated:
            step = _round_up(least)
            return [(moment, f"{moment:g}") for moment in _multiples(step, self.begin, self.end)]
        step = next((step for step in _STEPS if step >= least), _STEPS[-1])
        form = next(form for longest, form in _FORMS if step < longest)
        # Ticks fall on round times of the stream's own clock.
        zone = self.zone or UTC
        offset = (_moment(self.begin, zone).utcoffset() or timedelta()).total_seconds()
        moments = [moment - offset for moment in _multiples(step, self.begin + offset, self.end + offset)]
        return [(moment, _moment(moment, zone).strftime(form)) for moment in moments]


def _multiples(step: float, first: float, last: float) -> list[float]:
    """Every multiple of `step` from `first` to `last`."""
    return [n * step for n in range(math.ceil(first / step), math.floor(last / step) + 1)]


def _round_up(least: float) -> float:
    """The next of 1, 2, 5, 10, 20, 50, … (or 0.5, 0.2, …)."""
    magnitude = 10.0 ** math.floor(math.log10(least))
    return next(magnitude * factor for factor in (1, 2, 5, 10) if magnitude * factor >= least)


def _moment(seconds: float, zone: tzinfo) -> datetime:
    return (_EPOCH + timedelta(seconds=seconds)).astimezone(zone)


def _axis(column: pa.ChunkedArray) -> list[float]:
    """A time column as seconds, without Python's datetime, which has no nanoseconds."""
    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("s"))
    if not pa.types.is_timestamp(column.type):
        return [float(moment) for moment in column.to_pylist()]
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[column.type.unit]
    return [moment / per_second for moment in column.cast(pa.int64()).to_pylist()]


def _seconds(moment: Moment) -> float:
    """A time as a number on the picture's axis; times without a zone are taken as they read."""
    if isinstance(moment, datetime):
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    if isinstance(moment, date):
        return datetime(moment.year, moment.month, moment.day, tzinfo=UTC).timestamp()
    return float(moment)
