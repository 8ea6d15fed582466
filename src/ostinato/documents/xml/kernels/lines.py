"""Lines and columns of a document, counted only when a chunk is left behind or something is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from ostinato.core.jit import array, kernel
from ostinato.documents.kernels.utf8 import LINE, RETURN


@kernel(types.void(array(types.uint8), types.int64, types.int64, array(types.int64)))
def _count(buffer: Any, start: int, end: int, result: Any) -> None:
    """A carriage return ends a line unless a line feed follows, which then does."""
    lines = 0
    for at in range(start, end):
        byte = buffer[np.uint64(at)]
        lines += (byte == LINE) | ((byte == RETURN) & (buffer[np.uint64(at + 1)] != LINE))
    at = end
    if lines:
        while not (buffer[at - 1] == LINE or (buffer[at - 1] == RETURN and buffer[at] != LINE)):
            at -= 1
    else:
        at = start
    characters = 0
    for place in range(at, end):
        characters += buffer[np.uint64(place)] & 0xC0 != 0x80
    result[0], result[1] = lines, characters


def count_lines(buffer: Any, start: int, end: int) -> tuple[int, int]:
    """How many lines end in [start, end), and how many characters follow the last of them."""
    result = np.zeros(2, np.int64)
    _count(buffer, start, end, result)
    return int(result[0]), int(result[1])
