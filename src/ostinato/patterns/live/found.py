"""The matches that queries which run together complete, as the kernel writes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ostinato.core.arrays import Int32, Int64
from ostinato.patterns.runtime.batches import Chunk
from ostinato.patterns.runtime.matches import Matches

Chunks = dict[int, list[Matches]]


@dataclass(frozen=True)
class Found:
    """The matches that some events complete, query by query; `chunks` are those that came before."""

    queries: Int32
    counts: Int64
    values: Int64
    ends: Int64
    origins: Int64
    keys: Int64
    chunks: Chunks

    def __len__(self) -> int:
        return len(self.ends) + sum(len(matches) for parts in self.chunks.values() for matches in parts)

    def by_query(self) -> Iterator[tuple[int, Matches]]:
        bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.counts)])
        last = {number: place for place, number in enumerate(self.queries.tolist())}
        for number in sorted({*last, *self.chunks}):
            parts = list(self.chunks.get(number, ()))
            if number in last and self.counts[last[number]]:
                begin, end = int(bounds[last[number]]), int(bounds[last[number] + 1])
                first = int(self.ends[begin - 1]) if begin else 0
                offsets = np.concatenate([np.zeros(1, np.int64), self.ends[begin:end] - first])
                origins = self.origins[begin:end]
                chunk = Chunk(self.values[first : first + int(offsets[-1])], offsets, origins)
                parts.append(Matches.of(chunk, self.keys[begin:end]))
            if parts:
                yield number, Matches.concat(parts)
