"""The events of different keys on several cores, each with a matcher of its own, over one batch.

Where a window counts the events of each key, each core reads a range of the batch, after the last events of each key
before it. Otherwise each first reads the events of its own keys, and then puts the matches of its own range of events
in order, from all groups of keys. It also makes answers of what it finds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TypeVar

import numpy as np

from ostinato.core.arrays import Int64
from ostinato.core.threads import cuts, run_pieces
from ostinato.patterns.kernels import protocol
from ostinato.patterns.kernels.key_groups import last_of_keys
from ostinato.patterns.runtime.batches import Chunk, Events
from ostinato.patterns.runtime.chunks import between, concatenate, merge
from ostinato.patterns.runtime.event_shards import deal
from ostinato.patterns.runtime.matcher import Matcher

T = TypeVar("T")

AGAIN = 4  # of so many events, fewer than one may be read a second time: more would cost what other cores save


class GroupedMatcher:
    """Reads one batch, and no other after it."""

    def __init__(
        self,
        matchers: Sequence[Matcher],
        look_ahead: Callable[[int, Events, Matcher], None],
        reach: int | None,
    ) -> None:
        """`look_ahead` raises where there will be too many matches. `reach` is how many earlier events of its key can
        matter to an event, None for any number."""
        self.matchers, self.look_ahead, self.reach = matchers, look_ahead, reach
        self.limits = matchers[0].scope.limits
        self.matches, self.bytes = [0] * len(matchers), [0] * len(matchers)  # found by each

    def map_matches(self, events: Events, use: Callable[[Chunk], T]) -> list[T]:
        """`use` of all matches, chunk by chunk, in the order of the events that complete them."""
        if self.reach is not None:
            again = (len(self.matchers) - 1) * self.reach * events.key_count
            if AGAIN * again < len(events.codes):
                return self._by_ranges(events, use, self.reach)
        return self._by_groups(events, use)

    def _by_ranges(self, events: Events, use: Callable[[Chunk], T], reach: int) -> list[T]:
        ends = cuts(len(events.codes), len(self.matchers))

        def run_range(number: int) -> list[T]:
            begin, end = ends[number], ends[number + 1]
            for _ in self.matchers[number].run(events.pick(_last_of_keys(events, begin, reach)), protocol.NOTICE):
                raise AssertionError("nothing is written")
            return [
                use(replace(chunk, origins=chunk.origins + begin if begin else chunk.origins))
                for chunk in self._chunks(number, events.part(begin, end))
            ]

        return [each for found in run_pieces(run_range, len(self.matchers)) for each in found]

    def _by_groups(self, events: Events, use: Callable[[Chunk], T]) -> list[T]:
        groups = len(self.matchers)
        dealt = deal(events, groups)

        def run_group(number: int) -> Chunk:
            places, own = dealt.group(number)
            return concatenate([replace(chunk, origins=places[chunk.origins]) for chunk in self._chunks(number, own)])

        found = run_pieces(run_group, groups)
        largest = max(found, key=len).origins
        inner = [int(largest[cut]) for cut in cuts(len(largest), groups)[1:-1]] if len(largest) else []
        bounds = [(low, high) for low, high in pairwise([0, *inner, len(events.codes)]) if low < high]

        def use_range(number: int) -> T:
            return use(merge([between(chunk, *bounds[number]) for chunk in found]))

        return run_pieces(use_range, len(bounds))

    def _chunks(self, number: int, events: Events) -> Iterator[Chunk]:
        """What a matcher finds, within the limits for all of them."""
        matcher = self.matchers[number]
        for count, chunk in enumerate(matcher.run(events), start=1):
            self.look_ahead(count, events, matcher)
            self.matches[number] += len(chunk)
            self.limits.check_matches(sum(self.matches))
            self.bytes[number] += chunk.values.nbytes
            self.limits.check_answer(sum(self.bytes))
            yield chunk


def _last_of_keys(events: Events, before: int, reach: int) -> Int64:
    """The places of the last events of each key before a place, at most `reach` of each."""
    places = np.empty(min(before, reach * events.key_count), np.int64)
    found = last_of_keys(events.keys, before, reach, np.zeros(events.key_count, np.int64), places)
    return places[len(places) - found :]
