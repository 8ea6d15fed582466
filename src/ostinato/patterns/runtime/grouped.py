"""The events of different keys on several cores: a matcher for each group of keys, over one batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ostinato.core.arrays import Int32, Int64, UInt8
from ostinato.core.threads import run_pieces
from ostinato.patterns.kernels.key_groups import pick_group
from ostinato.patterns.runtime.matcher import Chunk, Events, Matcher

_NO_CODES: Int32 = np.empty(0, np.int32)


@dataclass(frozen=True)
class GroupedMatcher:
    """Reads one batch, and no other after it."""

    matchers: Sequence[Matcher]

    def run(self, events: Events) -> Iterator[Chunk]:
        """All matches, in the order of the events that complete them."""
        sizes = np.bincount(events.keys, minlength=1)
        group = np.empty(len(sizes), np.uint8)
        # Large keys go to different groups.
        group[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes)) % len(self.matchers)

        def run_group(number: int) -> Chunk:
            places, own = _pick(events, group, number, int(sizes[group == number].sum()))
            return _joined([_placed(each, places) for each in self.matchers[number].run(own)])

        found = _joined(run_pieces(run_group, len(self.matchers)))
        if len(found):
            yield _in_order(found)


def _pick(events: Events, group: UInt8, number: int, count: int) -> tuple[Int64, Events]:
    """The places of the events of a group, and those events."""
    room = count + 1  # the kernel writes one further before it knows that it is not wanted
    codes, keys, places = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int64)
    pick_group(events.codes, events.keys, group, number, codes, keys, places)
    places = places[:count]
    rest = replace(events, codes=_NO_CODES, keys=_NO_CODES).pick(places)
    positions = rest.positions if len(events.positions) else events.first_position + places
    return places, replace(rest, codes=codes[:count], keys=keys[:count], positions=positions)


def _placed(chunk: Chunk, places: Int64) -> Chunk:
    return replace(chunk, origins=places[chunk.origins])


def _joined(chunks: Sequence[Chunk]) -> Chunk:
    if len(chunks) == 1:
        return chunks[0]
    starts = np.cumsum([0, *(len(chunk.values) for chunk in chunks)])
    offsets = [chunk.offsets[1:] + start for chunk, start in zip(chunks, starts, strict=False)]
    return Chunk(
        np.concatenate([np.empty(0, np.int64), *(chunk.values for chunk in chunks)]),
        np.concatenate([np.zeros(1, np.int64), *offsets]),
        np.concatenate([np.empty(0, np.int64), *(chunk.origins for chunk in chunks)]),
    )


def _in_order(chunk: Chunk) -> Chunk:
    order = np.argsort(chunk.origins, kind="stable")
    lengths = np.diff(chunk.offsets)[order]
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    inner = np.arange(offsets[-1]) + np.repeat(chunk.offsets[:-1][order] - offsets[:-1], lengths)
    return Chunk(chunk.values[inner], offsets, chunk.origins[order])
