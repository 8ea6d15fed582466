"""Hands batches to compiled code by Arrow's C data interface: one call for all columns, and no object for each."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from ostinato.core.jit.memory import address_of

# An ArrowArray, in words of 64 bits: https://arrow.apache.org/docs/format/CDataInterface.html
LENGTH, NULL_COUNT, OFFSET, CHILD_COUNT, BUFFERS, CHILDREN, RELEASE, WORDS = 0, 1, 2, 4, 5, 6, 8, 10

_Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_release_functions: dict[int, Callable[[int], None]] = {}  # by address: Arrow has one


class ExportedBatch:
    """Room for an ArrowArray, which one batch after the other is exported to."""

    def __init__(self) -> None:
        self._words = np.zeros(WORDS, np.int64)
        self.address = address_of(self._words)

    def show(self, batch: pa.RecordBatch) -> int:
        """Where the batch is described from now on, until `release`."""
        batch._export_to_c(self.address)
        return self.address

    def release(self) -> None:
        """The batch is not read any more."""
        release = int(self._words[RELEASE])
        if release not in _release_functions:
            _release_functions[release] = _Release(release)
        _release_functions[release](self.address)
