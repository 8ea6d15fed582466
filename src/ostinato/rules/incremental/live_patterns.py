"""The engines of the patterns of a live program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int64
from ostinato.rules.algebra.nodes import CelStream
from ostinato.rules.incremental.codes import encode_column
from ostinato.rules.incremental.interned import Interned
from ostinato.rules.kernels.layout import LOWEST
from ostinato.rules.runtime.pattern_stream import PatternStream


@dataclass(eq=False)
class LivePatterns:
    """The engines of patterns, which go on from step to step.

    A step may begin again, with events that an engine has read: it is not given them twice, and what it found is kept
    until the step is done. `done` is the tick up to which steps are.
    """

    streams: Mapping[CelStream, PatternStream]
    interned: Interned
    done: int = LOWEST
    engines: dict[CelStream, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.engines = {stream: pattern.engine() for stream, pattern in self.streams.items()}
        self._found: dict[CelStream, tuple[int, pa.Table]] = {}  # the end up to which it has read, and its last matches

    @property
    def over_all(self) -> list[CelStream]:
        """Those that read whatever comes in."""
        return [stream for stream in self.engines if not stream.labels]

    def read(self, stream: CelStream, events: pa.Table, now: int) -> pa.Table:
        """The matches that end up to `now`, where `events` end up to then too."""
        return self.streams[stream].matches(self.engines[stream], events, now)

    def read_in_step(self, stream: CelStream, events: pa.Table) -> pa.Table:
        """The matches of a step that reads these events."""
        ends, parts = events["end"].to_numpy(), []
        now = int(ends.max())
        if stream in self._found and self._found[stream][0] > self.done:
            before, found = self._found[stream]
            events, now = events.filter(pa.array(ends > before)), max(before, now)
            parts = [found.filter(pa.array(found["end"].to_numpy() > self.done))]
        if len(events):
            parts.append(self.read(stream, events, now))
        self._found[stream] = now, pa.concat_tables(parts)
        return self._found[stream][1]

    def encode(self, stream: CelStream, found: pa.Table) -> Int64:
        """Matches as tuples: begin, end and attributes."""
        attributes = self.streams[stream].attributes
        times = [self.interned.check_codes(found[side].to_numpy()) for side in ("begin", "end")]
        columns = [
            encode_column(found[attributes.columns[name]], kind, self.interned)
            for name, kind in attributes.types.items()
        ]
        return np.stack([*times, *columns], axis=1)
