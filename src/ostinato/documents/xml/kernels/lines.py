"""Lines and columns of a document, counted only when a chunk is left behind or something is wrong."""

from __future__ import annotations

from typing import Any

from ostinato.core.arrays import UInt8
from ostinato.core.jit import kernel
from ostinato.core.jit.types import int64
from ostinato.documents.kernels.utf8 import BYTES, LINE, PAIR, RETURN, byte


@kernel(PAIR(BYTES, int64, int64))
def count_lines(buffer: UInt8, start: int, end: int) -> Any:
    """How many lines end in [start, end), and how many characters follow the last of them.

    A carriage return ends a line unless a line feed follows, which then does.
    """
    lines, characters, last = 0, 0, start
    for at in range(start, end):
        found = byte(buffer, at)
        lines += (found == LINE) | ((found == RETURN) & (byte(buffer, at + 1) != LINE))
    if lines:
        last = end
        while not (byte(buffer, last - 1) == LINE or (byte(buffer, last - 1) == RETURN and byte(buffer, last) != LINE)):
            last -= 1
    for at in range(last, end):
        characters += byte(buffer, at) & 0xC0 != 0x80
    return lines, characters
