"""Where lines end, and how many lines and characters there are: only a line feed ends a line of JSON lines."""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.arrays import UInt8
from ostinato.core.jit import kernel
from ostinato.core.jit.types import int64
from ostinato.documents.kernels.utf8 import BYTES

_PLACES = int64(BYTES, int64, int64)
_BLOCK = 128  # a byte counts so far


@kernel(_PLACES)
def line_start(data: UInt8, low: int, high: int) -> Any:
    """The place after the last line feed in data[low:high]; 0 if there is none."""
    for at in range(high - 1, low - 1, -1):
        if data[np.uint64(at)] == 10:
            return at + 1
    return 0


@kernel(_PLACES)
def line_end(data: UInt8, low: int, high: int) -> Any:
    """The place of the first line feed in data[low:high]; `high` if there is none."""
    for at in range(low, high):
        if data[np.uint64(at)] == 10:
            return at
    return high


@kernel(_PLACES)
def count_lines(data: UInt8, low: int, high: int) -> Any:
    """How many line feeds data[low:high] has, counted in bytes first, of which the processor adds many at once."""
    lines: Any = 0
    for block in range(low, high, _BLOCK):
        some = np.uint8(0)
        for at in range(block, min(block + _BLOCK, high)):
            some += np.uint8(data[np.uint64(at)] == 10)
        lines += np.int64(some)
    return lines


@kernel(_PLACES)
def count_characters(data: UInt8, low: int, high: int) -> Any:
    """How many characters data[low:high] has: the bytes of UTF-8 that do not go on with one."""
    characters: Any = 0
    for block in range(low, high, _BLOCK):
        some = np.uint8(0)
        for at in range(block, min(block + _BLOCK, high)):
            some += np.uint8(data[np.uint64(at)] & np.uint8(0xC0) != np.uint8(0x80))
        characters += np.int64(some)
    return characters
