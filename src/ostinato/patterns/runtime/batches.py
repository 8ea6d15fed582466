"""A batch of events as the kernels see it, and the matches that they write."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ostinato.core.arrays import Bools, Int32, Int64

_NO_TERMS: Int64 = np.zeros((1, 0), np.int64)
_NONE_PRESENT: Bools = np.zeros((1, 0), np.bool_)


@dataclass(slots=True)
class Events:
    """One batch as the kernels see it. Empty arrays mean: one key, rows as they come, no ticks needed."""

    codes: Int32
    keys: Int32
    key_count: int
    positions: Int64
    first_position: int
    ticks: Int64
    lows: Int64
    # Only where a pattern compares events with each other: a row of values per term, and where there is one.
    terms: Int64 = field(default_factory=lambda: _NO_TERMS)
    present: Bools = field(default_factory=lambda: _NONE_PRESENT)

    def keys_at(self, places: Int64) -> Int64:
        """The keys of the events at these places."""
        return self.keys[places].astype(np.int64) if len(self.keys) else np.zeros(len(places), np.int64)

    def positions_at(self, places: Int64) -> Int64:
        """The positions of the events at these places."""
        return self.positions[places] if len(self.positions) else places + self.first_position

    def part(self, begin: int, end: int) -> Events:
        """The events from one place up to another, not copied."""
        names = ("codes", "keys", "positions", "ticks", "lows")
        given = {name: getattr(self, name)[begin:end] for name in names if len(getattr(self, name))}
        if self.terms.shape[1]:
            own = (slice(None), slice(begin, end))
            given |= {name: np.ascontiguousarray(getattr(self, name)[own]) for name in ("terms", "present")}
        return replace(self, **given, first_position=self.first_position + begin)

    def pick(self, places: Int64) -> Events:
        """The events at these places."""
        given = {
            name: getattr(self, name)[places]
            for name in ("codes", "keys", "positions", "ticks", "lows")
            if len(getattr(self, name))
        }
        if not len(self.positions):
            given["positions"] = places + self.first_position if self.first_position else places
        if self.terms.shape[1]:
            given |= {"terms": self.terms[:, places], "present": self.present[:, places]}
        return replace(self, **given)


@dataclass(frozen=True)
class Chunk:
    """Complete matches: `offsets` cut `values` (position << 8 | symbol); `origins` index the completing events."""

    values: Int64
    offsets: Int64
    origins: Int64

    def __len__(self) -> int:
        return len(self.origins)
