"""A column of texts that still stand in the document: they are copied once it is known which of them are wanted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.core.arrow import read_only
from ostinato.documents.kernels.gather import copy_texts


@dataclass(frozen=True)
class TextSlices:
    """Where the text of each row stands; good until the next chunk of the document is read.

    A text within a text costs nothing before it is copied: elements in one another, shown as they are written, can be
    thousands of times the document.
    """

    start: NDArray[np.int64]  # into `buffer`; below zero, -1 - start is a place in `text_pool`
    size: NDArray[np.int64]  # 0 where there is no text
    valid: NDArray[np.bool_]
    buffer: NDArray[np.uint8]
    text_pool: NDArray[np.uint8]

    @property
    def nbytes(self) -> int:
        return int(self.size.sum())

    def take(self, places: NDArray[np.int64] | slice) -> TextSlices:
        return TextSlices(self.start[places], self.size[places], self.valid[places], self.buffer, self.text_pool)

    def without_contents(self) -> TextSlices:
        """The same rows with empty texts, for when they are only counted."""
        return TextSlices(self.start, np.zeros_like(self.size), self.valid, self.buffer, self.text_pool)

    def array(self) -> pa.StringArray:
        """The texts, copied; together they must be less than 2 GiB."""
        offsets = np.zeros(self.size.size + 1, np.int32)
        np.cumsum(self.size, out=offsets[1:])
        data = np.empty(int(offsets[-1]), np.uint8)
        copy_texts(
            read_only(np.ascontiguousarray(self.start)), read_only(offsets), read_only(self.buffer),
            read_only(self.text_pool), data,
        )  # fmt: skip
        mask = None if self.valid.all() else pa.py_buffer(np.packbits(self.valid, bitorder="little"))
        return pa.StringArray.from_buffers(self.size.size, pa.py_buffer(offsets), pa.py_buffer(data), mask)
