"""What an entry (entry.py) relies on: the layout of tuples and arrays in memory, and the objects that it is given."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ostinato.core.jit.memory import ALIGNED, C_CONTIGUOUS, WRITEABLE
from ostinato.core.jit.types import Signature, Struct

# --- where things are, in bytes from the beginning of the object: CPython's tuples, numpy's arrays and dtypes
TUPLE_ITEMS = tuple.__basicsize__
_HEADER = object.__basicsize__
ARRAY_DATA, ARRAY_RANK, ARRAY_SHAPE, ARRAY_STRIDES = _HEADER, _HEADER + 8, _HEADER + 16, _HEADER + 24
ARRAY_DTYPE, ARRAY_FLAGS = _HEADER + 40, _HEADER + 48
DTYPE_ORDER, DTYPE_NUMBER = _HEADER + 10, _HEADER + 12

# --- flags of arrays
CONSTANT_FLAGS = C_CONTIGUOUS | ALIGNED
WRITABLE_FLAGS = CONSTANT_FLAGS | WRITEABLE

# --- the places of the objects that an entry is given as its `self`; then classes and messages, one per parameter
NONE, TYPE_ERROR, RUNTIME_ERROR, NDARRAY, ADDRESS, WRONG_COUNT, FAILED = range(7)
FIRST_CLASS = 7
FIRST_MESSAGE = 7  # after the classes


def entry_constants(name: str, signature: Signature) -> tuple[Any, ...]:
    """The objects that the entry of a kernel is given."""
    parameters = signature.parameters
    classes = (parameter.struct if isinstance(parameter, Struct) else None for parameter in parameters)
    messages = (f"{name}: parameter {place} is not a {parameter}" for place, parameter in enumerate(parameters))
    return (
        None, TypeError, RuntimeError, np.ndarray, "address",
        f"{name}: takes {len(parameters)} parameters", f"the kernel {name} failed", *classes, *messages,
    )  # fmt: skip


def check_layout() -> None:
    """Raise an ImportError if this Python or this numpy has another layout."""
    probe = np.arange(6, dtype=np.int32).reshape(2, 3)
    pair = (probe, probe)

    def word(owner: int, offset: int) -> int:
        return ctypes.c_int64.from_address(owner + offset).value

    def half(owner: int, offset: int) -> int:
        return ctypes.c_int32.from_address(owner + offset).value

    array, dtype = id(probe), id(probe.dtype)
    found = (
        word(id(pair), TUPLE_ITEMS), word(array, ARRAY_DATA), half(array, ARRAY_RANK), word(array, ARRAY_DTYPE),
        half(array, ARRAY_FLAGS) & WRITABLE_FLAGS,
        word(word(array, ARRAY_SHAPE), 8), word(word(array, ARRAY_STRIDES), 0),
        half(dtype, DTYPE_NUMBER), ctypes.c_char.from_address(dtype + DTYPE_ORDER).value,
    )  # fmt: skip
    expected = (
        array, probe.ctypes.data, 2, dtype, WRITABLE_FLAGS, 3, 12, probe.dtype.num, probe.dtype.byteorder.encode(),
    )  # fmt: skip
    if found != expected:
        raise ImportError(
            "kernels cannot be called: this Python or this numpy lays out objects in memory in another way"
        )
