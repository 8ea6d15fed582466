"""Chunks of matches as one, in the order of the events that complete them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ostinato.patterns.kernels.key_groups import merge_chunks
from ostinato.patterns.runtime.batches import Chunk


def concatenate(chunks: Sequence[Chunk]) -> Chunk:
    """One after the other."""
    if len(chunks) == 1:
        return chunks[0]
    starts = np.cumsum([0, *(len(chunk.values) for chunk in chunks)])
    offsets = [chunk.offsets[1:] + start for chunk, start in zip(chunks, starts, strict=False)]
    return Chunk(
        np.concatenate([np.empty(0, np.int64), *(chunk.values for chunk in chunks)]),
        np.concatenate([np.zeros(1, np.int64), *offsets]),
        np.concatenate([np.empty(0, np.int64), *(chunk.origins for chunk in chunks)]),
    )


def between(chunk: Chunk, low: int, high: int) -> Chunk:
    """The matches that events from one place up to another complete; their values are not copied."""
    begin, end = np.searchsorted(chunk.origins, [low, high])
    first, last = chunk.offsets[[begin, end]]
    return Chunk(chunk.values[first:last], chunk.offsets[begin : end + 1] - first, chunk.origins[begin:end])


def merge(chunks: Sequence[Chunk]) -> Chunk:
    """All matches in the order of the completing events."""
    if len(chunks) == 1:
        return chunks[0]
    half = len(chunks) // 2
    one, other = merge(chunks[:half]), merge(chunks[half:])
    count = len(one) + len(other)
    values = np.empty(len(one.values) + len(other.values), np.int64)
    both = Chunk(values, np.empty(count + 1, np.int64), np.empty(count, np.int64))
    halves = (one.values, one.offsets, one.origins, other.values, other.offsets, other.origins)
    merge_chunks(*halves, both.values, both.offsets, both.origins)
    return both
