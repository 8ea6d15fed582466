"""The part of a document that is in memory: the bytes read so far, and room behind them for values that differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.documents.kernels.utf8 import PAD
from ostinato.documents.readers import ByteReader

LARGEST = (1 << 30) - (1 << 20)  # bytes of text in memory: with as much room behind them, offsets fit 32 bits

# How many lines end in data[start:end], and how many characters follow the last of them.
CountLines = Callable[[NDArray[np.uint8], int, int], tuple[int, int]]


class Place(NamedTuple):
    """A line and a column, both from 1; columns are counted in characters."""

    line: int
    column: int

    def after(self, lines: int, characters: int) -> Place:
        """The place so many ends of lines later, and so many characters after the last of them."""
        return Place(self.line + lines, characters + 1 if lines else self.column + characters)


class TextBuffer:
    """`data[:filled]` is text, then come PAD zeros, then at least as many bytes of room as there is text."""

    reader: ByteReader

    def __init__(self, count_lines: CountLines) -> None:
        self._count_lines = count_lines
        self.data = np.zeros(4 * PAD, np.uint8)
        self.filled = 0
        self.at_end = False
        self.dropped = 0  # bytes before the buffer
        self._place = Place(1, 1)  # of the buffer's first byte

    @property
    def room(self) -> int:
        """Where to put values that are written otherwise in the document, such as those with references."""
        return self.filled + PAD

    def drop(self, count: int) -> None:
        """Forget bytes at the front."""
        if count:
            self._place = self.place(count)
            self.dropped += count
            kept = self.filled - count
            self.data[:kept] = self.data[count : self.filled]
            self._end_at(kept)

    def fill(self, wanted: int, *, waits: bool) -> int:
        """Read `wanted` more bytes, fewer only at the end; unless it `waits`, as much as a pipe has now."""
        if self.at_end:
            return 0
        before, end = self.filled, self.filled + wanted
        if 2 * end + 4 * PAD > self.data.size:
            wider = np.empty(max(2 * end + 4 * PAD, 3 * self.data.size // 2), np.uint8)
            wider[:before] = self.data[:before]
            self.data = wider
        filled = before
        while filled < end:
            got = self.reader.into(self.data[filled:end])
            if not got:
                self.at_end = True
                break
            filled += got
            if not waits and self.reader.size is None:
                break  # more may come much later
        self._end_at(filled)
        return filled - before

    def _end_at(self, filled: int) -> None:
        self.filled = filled
        self.data[filled : filled + PAD] = 0

    def place(self, at: int) -> Place:
        """The line and column of an offset."""
        return self._place.after(*self._count_lines(self.data, 0, at))
