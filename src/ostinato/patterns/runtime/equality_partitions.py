"""Splits a stream by the attribute on which all events of a match agree, without changing the answer.

The events of each key are read on their own. Where other events lay between two of them, one filler event that meets no
condition is read instead, so that contiguity sees the gap; windows over events count places in the whole stream.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ostinato.core.arrays import Int64
from ostinato.patterns.runtime.batches import Events
from ostinato.patterns.runtime.last_per_key import LastPerKey

Bool = npt.NDArray[np.bool_]
_NONE: Int64 = np.zeros(0, np.int64)


class EqualityPartitions:
    """Remembers how far the stream has been read, and where each key was last seen."""

    def __init__(self) -> None:
        self.read = 0
        self.last_seen = LastPerKey(-1)

    def places(self, count: int) -> Int64:
        """Those of the next events in the whole stream."""
        return np.arange(self.read, self.read + count)

    def split(self, events: Events, comparable: Bool | None, filler: int | None) -> Events:
        """Only events that can equal others (`comparable`; None: all), with `filler` as the code of fillers if any."""
        count = len(events.codes)
        places = self.places(count) if filler is not None else _NONE
        self.read += count
        if comparable is not None:
            kept = np.flatnonzero(comparable)
            events, places = events.pick(kept), places[kept] if filler is not None else places
        if filler is None:
            return events
        before = self.last_seen.before(events.keys, places, events.key_count)
        return _with_fillers(events, (before >= 0) & (places - before > 1), filler)


def _with_fillers(events: Events, wanted: Bool, filler: int) -> Events:
    """A copy of each wanted event before itself, with the code `filler`."""
    twice = np.repeat(np.arange(len(wanted)), 1 + wanted)
    copied = events.pick(twice)
    copied.codes[np.flatnonzero(np.append(twice[1:] == twice[:-1], False))] = filler
    return copied
