"""Hands batches to compiled code by Arrow's C data interface: one call for all columns, and no object for each."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pyarrow as pa

from ostinato.core.jit.memory import address_of

ARROW_ARRAY_WORDS, RELEASE = 10, 8
_Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_release_functions: dict[int, Callable[[int], None]] = {}  # by address: Arrow has one


class ExportedBatch:
    """Room for an ArrowArray, which one batch after the other is exported to."""

    def __init__(self) -> None:
        self._words = np.zeros(ARROW_ARRAY_WORDS, np.int64)
        self.address = address_of(self._words)

    @contextmanager
    def of(self, batch: pa.RecordBatch) -> Iterator[int]:
        """Where the batch is described; it must be there for as long as that is read."""
        batch._export_to_c(self.address)
        try:
            yield self.address
        finally:
            release = int(self._words[RELEASE])
            if release not in _release_functions:
                _release_functions[release] = _Release(release)
            _release_functions[release](self.address)
