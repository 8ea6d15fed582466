"""The types in the signatures of kernels. They say how Python values are passed to compiled code, and know no numba.

`int64(array(float64), int64)` is the signature of a kernel that takes an array of float64 and an integer, and returns
an integer. Arrays are C-contiguous. A struct of arrays (array_struct.py) is passed as a pointer.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np


class Type:
    """Of a parameter or a result. As in numba, calling the type of a result with those of parameters is a signature."""

    def __call__(self, *parameters: Type) -> Signature:
        return Signature(self, parameters)


@dataclass(frozen=True)
class Scalar(Type):
    """A number or a truth value, under the name that numpy has for it."""

    name: str
    ctype: Any

    def __str__(self) -> str:
        return self.name


int8 = Scalar("int8", ctypes.c_int8)
int16 = Scalar("int16", ctypes.c_int16)
int32 = Scalar("int32", ctypes.c_int32)
int64 = Scalar("int64", ctypes.c_int64)
uint8 = Scalar("uint8", ctypes.c_uint8)
uint16 = Scalar("uint16", ctypes.c_uint16)
uint32 = Scalar("uint32", ctypes.c_uint32)
uint64 = Scalar("uint64", ctypes.c_uint64)
float32 = Scalar("float32", ctypes.c_float)
float64 = Scalar("float64", ctypes.c_double)
boolean = Scalar("bool", ctypes.c_uint8)
void = Scalar("void", ctypes.c_void_p)  # a result only; compiled code writes a null pointer


_SCALARS = {
    kind.name: kind for kind in (int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64, boolean)
}


def scalar(dtype: np.dtype[Any]) -> Scalar:
    """The type of the items of an array."""
    return _SCALARS[dtype.name]


@dataclass(frozen=True)
class Array(Type):
    """A C-contiguous array. A kernel only reads one that is constant; Arrow's buffers are read-only."""

    item: Scalar
    dimensions: int
    constant: bool = False

    def __str__(self) -> str:
        return f"{'const ' if self.constant else ''}{self.item}[{','.join(':' * self.dimensions)}]"

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.item.name)


@dataclass(frozen=True)
class Struct(Type):
    """A class of array_struct.py. Its layout is part of its name, so that no stored kernel outlives it."""

    struct: Any

    def __str__(self) -> str:
        return str(self.struct.layout())


@dataclass(frozen=True)
class Structs(Type):
    """Several structs of one class, by number."""

    struct: Any

    def __str__(self) -> str:
        return f"[{self.struct.layout()}]"


@dataclass(frozen=True)
class Tuple(Type):
    """Several results."""

    items: tuple[Scalar, ...]

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.items))})"


@dataclass(frozen=True)
class Signature:
    result: Type
    parameters: tuple[Type, ...]

    def __str__(self) -> str:
        return f"{self.result}({', '.join(map(str, self.parameters))})"


def array(item: Scalar) -> Array:
    """A flat array that the kernel writes to."""
    return Array(item, 1)


def view(item: Scalar) -> Array:
    """A flat array that the kernel only reads."""
    return Array(item, 1, constant=True)


def table(item: Scalar, *, constant: bool = False) -> Array:
    """An array of rows and columns; one that is constant is only read."""
    return Array(item, 2, constant)


def results(*items: Scalar) -> Tuple:
    """A tuple of results."""
    return Tuple(items)


def struct_type(struct: Any) -> Struct:
    """A struct class, in signatures."""
    return Struct(struct)
