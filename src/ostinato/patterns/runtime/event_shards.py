"""The events of a batch dealt out to groups of keys, on several cores."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ostinato.core.arrays import Int32, Int64, UInt8
from ostinato.core.threads import cuts, run_pieces
from ostinato.patterns.kernels.key_groups import count_keys, deal_events
from ostinato.patterns.runtime.batches import Events

_NO_CODES: Int32 = np.empty(0, np.int32)
_LARGE = 64  # keys with more than one in so many of the events of a group are dealt out by size


@dataclass(frozen=True)
class DealtEvents:
    """Events by groups: those of a group in a row, and in their order."""

    events: Events
    ends: Int64  # of the groups
    codes: Int32
    keys: Int32
    places: Int64

    def group(self, number: int) -> tuple[Int64, Events]:
        """The places of the events of a group, and those events."""
        own = slice(self.ends[number], self.ends[number + 1])
        places = self.places[own]
        rest = replace(self.events, codes=_NO_CODES, keys=_NO_CODES).pick(places)
        return places, replace(rest, codes=self.codes[own], keys=self.keys[own])


def deal(events: Events, groups: int) -> DealtEvents:
    """A piece of the events per core, each dealt out to all groups."""
    piece_ends = cuts(len(events.keys), groups)

    def count_piece(number: int) -> Int64:
        counts = np.zeros(events.key_count, np.int64)
        count_keys(events.keys[piece_ends[number] : piece_ends[number + 1]], counts)
        return counts

    counts = run_pieces(count_piece, groups)
    group = groups_of(np.sum(counts, axis=0), groups)
    counts_of = np.array([np.bincount(group, weights=each, minlength=groups) for each in counts]).astype(np.int64)
    ends = np.concatenate([[0], np.cumsum(counts_of.sum(axis=0))])
    starts = ends[:-1] + np.cumsum(counts_of, axis=0) - counts_of  # per piece and group
    count = len(events.keys)
    dealt = DealtEvents(events, ends, np.empty(count, np.int32), np.empty(count, np.int32), np.empty(count, np.int64))

    def deal_piece(number: int) -> None:
        begin, end = piece_ends[number], piece_ends[number + 1]
        own = (events.codes[begin:end], events.keys[begin:end], begin)
        deal_events(*own, group, starts[number], dealt.codes, dealt.keys, dealt.places)

    run_pieces(deal_piece, groups)
    return dealt


def groups_of(sizes: Int64, groups: int) -> UInt8:
    """The group of each key: large keys go to different groups, the others as they come."""
    group = (np.arange(len(sizes)) % groups).astype(np.uint8)
    large = np.flatnonzero(sizes > sizes.sum() // (_LARGE * groups))
    group[large[np.argsort(-sizes[large], kind="stable")]] = np.arange(len(large)) % groups
    return group
