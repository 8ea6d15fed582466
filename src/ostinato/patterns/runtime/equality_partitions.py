"""Splits a stream by the attribute on which all events of a match agree, without changing the answer.

The events of each key are read on their own. Where other events lay between two of them, one filler event that meets no
condition is read instead, so that contiguity sees the gap; windows over events count places in the whole stream.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ostinato.core.arrays import Int64
from ostinato.patterns.runtime.batches import Events
from ostinato.patterns.runtime.last_per_key import LastPerKey

Bool = npt.NDArray[np.bool_]


class EqualityPartitions:
    """Remembers how far the stream has been read, and where each key was last seen."""

    def __init__(self) -> None:
        self.read = 0
        self.last_seen = LastPerKey(-1)

    def split(self, events: Events, comparable: Bool, positions: Int64, *, filler: int | None, width: int) -> Events:
        """Only events that can equal others (`comparable`), with fillers of code `filler` where one is needed.

        A `width` above 0 is a window over events: ticks are then places in the whole stream.
        """
        places = self.read + np.flatnonzero(comparable)
        self.read += len(comparable)
        events = replace(events, positions=positions).pick(np.flatnonzero(comparable))
        if width:
            events = replace(events, ticks=places, lows=places - width + 1)
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
