"""Numbers of a live engine and of its queries."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class QueryStatistics:
    """events: those that the query read; matches: given so far; bytes: memory of its partial matches; seconds: time
    spent on it, where queries run together its share by the steps it took; stopped: the error that stopped it."""

    events: int
    matches: int
    bytes: int
    seconds: float
    stopped: str | None = None


@dataclass(frozen=True)
class LiveStatistics:
    """events: rows pushed; late: those that came too late; bytes: memory of kept and waiting rows; queries: by name."""

    events: int
    late: int
    bytes: int
    queries: dict[str, QueryStatistics]
