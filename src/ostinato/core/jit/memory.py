"""Where the data of a numpy array are, for code that is called once per event; and arrays that are where others say."""

from __future__ import annotations

from ctypes import c_byte, c_void_p
from typing import Any

import numpy as np
import numpy.typing as npt

C_CONTIGUOUS, ALIGNED, WRITEABLE = 0x1, 0x100, 0x400  # NPY_ARRAY_C_CONTIGUOUS and so on, in `flags.num`

_HEADER = object.__basicsize__
_pointer_at = c_void_p.from_address


def _read_address(values: npt.NDArray[Any]) -> int:
    """Where the data of an array begin: numpy's binary interface has the address right behind the object's header.

    This takes a tenth of the time of `values.ctypes.data`, which matters when there is one call per event.
    """
    return _pointer_at(id(values) + _HEADER).value or 0


def _ask_address(values: npt.NDArray[Any]) -> int:
    return values.ctypes.data


_probe = np.zeros(1)
address_of = _read_address if _read_address(_probe) == _probe.ctypes.data else _ask_address


# -- memory that is not numpy's: kernels call these, too, and make no object then (numba_types.py)


def int64_at(address: int, length: int) -> npt.NDArray[np.int64]:
    """The numbers that begin at an address, to be read as long as whoever gave it keeps them."""
    return _read_at(address, length, np.int64)


def int32_at(address: int, length: int) -> npt.NDArray[np.int32]:
    """As `int64_at`."""
    return _read_at(address, length, np.int32)


def float64_at(address: int, length: int) -> npt.NDArray[np.float64]:
    """As `int64_at`."""
    return _read_at(address, length, np.float64)


def uint8_at(address: int, length: int) -> npt.NDArray[np.uint8]:
    """As `int64_at`."""
    return _read_at(address, length, np.uint8)


def _read_at(address: int, length: int, dtype: Any) -> npt.NDArray[Any]:
    size = int(length) * np.dtype(dtype).itemsize
    memory = (c_byte * size).from_address(int(address)) if size else b""
    found = np.frombuffer(memory, dtype)
    found.flags.writeable = False
    return found


STACK_WORDS = 256


def stack_words() -> npt.NDArray[np.uint64]:
    """Memory of a kernel's own, which ends with the function that asks for it, and holds anything at first."""
    return np.empty(STACK_WORDS, np.uint64)
