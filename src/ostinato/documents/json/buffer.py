"""The part of a JSON text that is in memory: bytes read so far, padding, and room for what strings with escapes say."""

from __future__ import annotations

import numpy as np

from ostinato.documents.json.kernels.lines import count_characters, count_lines, line_start
from ostinato.documents.kernels.utf8 import PAD
from ostinato.documents.read import ByteReader
from ostinato.documents.xml.messages import Place
from ostinato.errors import LimitError

_LARGEST = 2**30 - (1 << 20)  # bytes of text in memory: with as much again behind them, offsets fit 32 bits


class JsonBuffer:
    """`data[:filled]` is text, then come PAD zeros, then as many bytes of room as there is text."""

    def __init__(self, reader: ByteReader) -> None:
        self._reader = reader
        self.data = np.zeros(4 * PAD, np.uint8)
        self.filled = 0
        self.at_end = False
        self.dropped = 0  # bytes before the buffer
        self._place = Place(1, 1)  # of the buffer's first byte

    @property
    def room(self) -> int:
        """Where to put what strings say."""
        return self.filled + PAD

    def drop(self, keep_from: int) -> None:
        """Move what stands from there on to the front."""
        if keep_from:
            self._place = self.place(keep_from)
            self.dropped += keep_from
            kept = self.filled - keep_from
            self.data[:kept] = self.data[keep_from : self.filled]
            self.data[kept : kept + PAD] = 0
            self.filled = kept

    def fill(self, wanted: int, *, waits: bool) -> None:
        """Read so many more bytes, if there are as many; unless it `waits`, of a pipe what there is."""
        end = self.filled + wanted
        if end > _LARGEST:
            raise LimitError(
                "buffer",
                _LARGEST,
                reason="more of the document would have to be kept than fits",
                fix="split the document",
            )
        if 2 * end + 4 * PAD > self.data.size:
            wider = np.empty(max(2 * end + 4 * PAD, 3 * self.data.size // 2), np.uint8)
            wider[: self.filled] = self.data[: self.filled]
            self.data = wider
        while self.filled < end:
            got = self._reader.into(self.data[self.filled : end])
            if not got:
                self.at_end = True
                break
            self.filled += got
            if not waits and self._reader.size is None:
                break
        self.data[self.filled : self.filled + PAD] = 0

    def place(self, at: int) -> Place:
        begin = line_start(self.data, 0, at)
        return self._place.after(count_lines(self.data, 0, begin), count_characters(self.data, begin, at))
